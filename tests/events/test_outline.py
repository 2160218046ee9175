"""A schema as rows: every field with its path, in words of JSON Schema."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from apps.events.outline import Row, outline


class Part(BaseModel):
    size: int = Field(ge=0, le=9)


class Parcel(BaseModel):
    parcel_id: UUID = Field(description="Which one.")
    speed: Literal["slow", "fast"] = "slow"
    parts: list[Part] = Field(max_length=3)
    by_name: dict[str, Part]
    best: Part | None = None
    note: str | None
    anything: Any


def test_every_field_has_a_row_with_its_path():
    assert outline(Parcel.model_json_schema(mode="serialization")) == [
        Row("parcel_id", "string (uuid)", True, "Which one."),
        Row("speed", '"slow" | "fast"', False, ""),
        Row("parts", "array of object, length ≤ 3", True, ""),
        Row("parts[].size", "integer, ≥ 0, ≤ 9", True, ""),
        Row("by_name", "object", True, ""),
        Row("by_name.*.size", "integer, ≥ 0, ≤ 9", True, ""),
        Row("best", "object | null", False, ""),
        Row("best.size", "integer, ≥ 0, ≤ 9", True, ""),
        Row("note", "string | null", True, ""),
        Row("anything", "any", True, ""),
    ]
