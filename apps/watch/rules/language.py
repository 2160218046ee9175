"""What can be said in a rule. The published JSON Schema is made of these classes."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from apps.events import catalog
from apps.events.errors import UnknownEventType

from .errors import RuleRefused, refusal

MOST_CONDITIONS = 100
DEEPEST = 8
LONGEST_WINDOW_HOURS = 24 * 90

Operator = Literal[">", "<", ">=", "<=", "==", "!="]

Path = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"^@?[^.\s@]+(\.[^.\s@]+)*$",
        description=noop(
            "Where the value is in the payload: names and positions joined by dots, * for each "
            "element. With @ in front, a field of the envelope."
        ),
        examples=["amount", "result.score", "bottlenecks.*.severity", "@actor"],
    ),
]
Hours = Annotated[
    float,
    Field(
        gt=0,
        le=LONGEST_WINDOW_HOURS,
        allow_inf_nan=False,
        description=noop("How long, in hours. It ends with the event and begins just after that."),
    ),
]


class Part(BaseModel):
    """A part of a rule: nothing but what is named here."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Always(Part):
    """Every event matches."""

    type: Literal["always"]


class Field_(Part):
    """Another value of the same event."""

    model_config = ConfigDict(title="Field")

    field: Path


Number = StrictInt | StrictFloat
Value = Number | StrictStr | StrictBool | None | Field_


class Threshold(Part):
    """A value of the event, compared with a fixed value or with another one of the event.

    Numbers are compared with numbers, text with text; a value that is missing or of another kind
    does not match, nor does its opposite.
    """

    type: Literal["threshold"]
    field: Path
    operator: Operator = ">"
    threshold: Value


class Deadline(Part):
    """At most so many days are left, or the deadline has passed.

    Days are those of the calendar in the tenant's time zone, counted from the event.
    """

    type: Literal["deadline"]
    days_before: Annotated[StrictInt, Field(ge=0, le=3650)] = 7
    field: Path = "deadline"


class All(Part):
    """Every condition holds."""

    type: Literal["all"]
    conditions: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=MOST_CONDITIONS)]


class Any_(Part):
    """At least one condition holds."""

    model_config = ConfigDict(title="Any")

    type: Literal["any"]
    conditions: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=MOST_CONDITIONS)]


class Not(Part):
    """The condition can be told, and does not hold."""

    type: Literal["not"]
    condition: "Condition"


Condition = Annotated[Always | Threshold | Deadline | All | Any_ | Not, Field(discriminator="type")]


class Windowed(Part):
    """What rules over several events have in common."""

    group_by: Path | None = Field(
        None, description=noop("Count for each value of this field by itself.")
    )
    where: Condition | None = Field(None, description=noop("Which events count; all by default."))


class Pattern(Windowed):
    """At least so many events within a time. It fires when the number is reached, once."""

    type: Literal["pattern"]
    min_count: Annotated[StrictInt, Field(ge=1, le=10_000)] = 3
    window_hours: Hours = 1


class Aggregate(Windowed):
    """The sum, average, least, greatest or number of different values within a time, compared.

    It fires when the comparison begins to hold, once.
    """

    type: Literal["aggregate"]
    function: Literal["sum", "avg", "min", "max", "distinct"]
    field: Path
    operator: Operator = ">"
    threshold: Number
    window_hours: Hours = 1


def _known(event_type: str) -> str:
    try:
        return catalog.canonical(event_type)
    except UnknownEventType as error:
        raise ValueError(error.message) from error


class Step(Part):
    """One event of a sequence."""

    event_type: Annotated[str, AfterValidator(_known)] = Field(
        description=noop("Its type; aliases are accepted.")
    )
    where: Condition | None = None

    def takes(self, event_type: str) -> bool:
        return self.event_type == event_type


class TwoSteps(Part):
    """What sequence and absence have in common."""

    first: Step
    then: Step
    within_hours: Hours
    group_by: Path | None = Field(
        None, description=noop("What the two have in common; by default the aggregate.")
    )


class Sequence(TwoSteps):
    """One event, and then another within a time. It fires when the second one happens."""

    type: Literal["sequence"]


class Absence(TwoSteps):
    """One event, and no other within a time. It fires when the time is over."""

    type: Literal["absence"]


Rule = Annotated[
    Always | Threshold | Deadline | All | Any_ | Not | Pattern | Aggregate | Sequence | Absence,
    Field(discriminator="type"),
]
AnyRule = (
    Always | Threshold | Deadline | All | Any_ | Not | Pattern | Aggregate | Sequence | Absence
)

_rules: TypeAdapter[AnyRule] = TypeAdapter(Rule)
_of_several_events = (Pattern, Aggregate, Sequence, Absence)


def parse(rule: Any) -> AnyRule:
    """The rule that this JSON means; anything else is refused with the path and the reason."""
    _refuse_too_deep(rule)
    try:
        parsed = _rules.validate_python(rule)
    except ValidationError as error:
        raise refusal(error, rule) from error
    if sum(1 for _ in conditions_in(parsed)) > MOST_CONDITIONS:
        raise _refused("too_many", _("There are more than %d conditions.") % MOST_CONDITIONS)
    return parsed


def _refuse_too_deep(rule: Any) -> None:
    """Checked before anything descends into it: nesting may exhaust the stack."""
    level = [rule]
    for _depth in range(DEEPEST * 2 + 2):
        level = [inner for node in level for inner in _children(node)]
        if not level:
            return
    raise _refused("too_deep", _("Its conditions are nested too deeply."))


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _refused(code: str, detail: str) -> RuleRefused:
    return RuleRefused(detail, errors=[{"pointer": "#/rule", "code": code, "detail": detail}])


def is_windowed(rule: AnyRule) -> bool:
    """Whether several events make a match, so that something has to be remembered."""
    return isinstance(rule, _of_several_events)


def event_types_of(rule: AnyRule) -> set[str]:
    """The event types a rule names by itself."""
    if isinstance(rule, TwoSteps):
        return {rule.first.event_type, rule.then.event_type}
    return set()


def conditions_in(rule: Any) -> Iterator[Any]:
    """The rule and everything inside it."""
    yield rule
    for name in ("conditions", "condition", "where", "first", "then"):
        inner = getattr(rule, name, None) or ()
        for part in inner if isinstance(inner, tuple) else (inner,):
            yield from conditions_in(part)


def rule_schema() -> dict[str, Any]:
    """The JSON Schema of a rule."""
    schema = _rules.json_schema()
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rule",
        "description": "When a subscription of Axiom matches.",
    }
    return {**about, **schema}
