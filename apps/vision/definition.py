"""What a cube is made of. Stored as JSON, checked here, and asked which columns it uses."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as Misfit

from axiom.references import LONGEST, Use

# A zero byte is a text in JSON and none in PostgreSQL.
Name = Field(min_length=1, max_length=LONGEST, pattern=r"^[^\x00]*$")
Maybe = Field("", max_length=LONGEST, pattern=r"^[^\x00]*$")


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Part):
    """A table, by schema and name."""

    schema_name: str = Name
    table_name: str = Name

    def column(self, name: str) -> Use:
        return Use(self.schema_name, self.table_name, name)


class Level(Part):
    """One step of a dimension, such as the month. Its table is the dimension's, unless named."""

    name: str = Name
    column: str = Name
    more_columns: tuple[Annotated[str, Name], ...] = Field((), max_length=100)
    source: Source | None = None


class Join(Part):
    """How a dimension's tables hang together (a snowflake)."""

    left: Source
    left_key: str = Name
    right: Source
    right_key: str = Name


class Dimension(Part):
    """What the facts are grouped by. Without a table of its own its levels are in the fact table."""

    name: str = Name
    source: Source | None = None
    foreign_key: str = Maybe
    primary_key: str = Maybe
    levels: tuple[Level, ...] = Field(min_length=1, max_length=50)
    joins: tuple[Join, ...] = Field((), max_length=20)


class Measure(Part):
    """What is added up. Without a column, rows are counted."""

    name: str = Name
    column: str = Maybe
    aggregator: Literal["sum", "count", "min", "max", "avg", "distinct-count"] = "sum"


class Definition(Part):
    """Everything a cube says about tables."""

    fact: Source
    dimensions: tuple[Dimension, ...] = Field((), max_length=200)
    measures: tuple[Measure, ...] = Field(min_length=1, max_length=500)

    def uses(self) -> Iterator[Use]:
        """Every table and column without which the cube cannot be asked."""
        yield self.fact.column("")
        yield from (self.fact.column(measure.column) for measure in self.measures)
        for dimension in self.dimensions:
            yield from self._uses_of(dimension)

    def _uses_of(self, dimension: Dimension) -> Iterator[Use]:
        own = dimension.source or self.fact
        yield self.fact.column(dimension.foreign_key)
        yield own.column(dimension.primary_key)
        for join in dimension.joins:
            yield from (join.left.column(join.left_key), join.right.column(join.right_key))
        for level in dimension.levels:
            source = level.source or own
            yield from (source.column(name) for name in (level.column, *level.more_columns))


def parsed(raw: Any) -> Definition:
    """The definition, or what is wrong with it and where."""
    try:
        return Definition.model_validate(raw)
    except Misfit as misfit:
        faults = [
            f"{'.'.join(str(step) for step in error['loc'])}: {error['msg']}"
            for error in misfit.errors(include_url=False)[:20]
        ]
        raise ValidationError({"definition": faults}) from None
