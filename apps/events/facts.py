"""Kinds of facts that payloads share.

People are UUIDs of users; who did it is the envelope's actor and is not repeated. Amounts and
shares are JSON numbers, so that rules can compare them. Moments know their time zone.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer

# Fifteen digits survive a JSON number (a double) unchanged; a sixteenth would not.
Amount = Annotated[
    Decimal,
    Field(max_digits=15, decimal_places=2),
    PlainSerializer(float, return_type=float, when_used="json"),
]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Moment = AwareDatetime
Severity = Literal["LOW", "MEDIUM", "HIGH", "CRITICAL"]
SEVERITIES = [(level, level) for level in get_args(Severity)]
"""As choices of a model's field, the lowest first."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Facts = dict[str, Any]
"""A JSON object whose fields others decide, such as the result of a work item."""


class Fact(BaseModel):
    """A group of values inside a payload."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
