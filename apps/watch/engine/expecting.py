"""What should follow an event: due rows, which outlive restarts and fire on time."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import connection

from . import telling

if TYPE_CHECKING:
    from .windows import Counted

# It may have come before the event that asks for it: streams are not in the order of event time.
_EXPECT = """
INSERT INTO watch_expectation (subscription_id, revision, group_value, event_id, occurred_at,
                               due_at, about, state, settled_at)
SELECT s, r, g, e, o, d, b::jsonb,
       CASE WHEN came THEN 'answered' ELSE 'open' END, CASE WHEN came THEN now() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::uuid[], %s::timestamptz[], %s::timestamptz[],
            %s::text[]) AS x(s, r, g, e, o, d, b),
LATERAL (SELECT EXISTS (
  SELECT FROM watch_windowentry w
  WHERE w.subscription_id = s AND w.revision = r AND w.group_value = g AND w.part = 0
    AND w.occurred_at BETWEEN o AND d AND w.event_id <> e) AS came) AS c
ON CONFLICT DO NOTHING
"""
_ANSWER = """
UPDATE watch_expectation w SET state = 'answered', settled_at = now()
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::uuid[], %s::timestamptz[]) AS x(s, r, g, e, o)
WHERE w.subscription_id = s AND w.revision = r AND w.group_value = g AND w.state = 'open'
  AND o BETWEEN w.occurred_at AND w.due_at AND w.event_id <> e
"""


def expect(opened: "Sequence[Counted]") -> None:
    """From now on something has to follow these events."""
    rows = [
        (
            w.id, w.revision, made.group, event.event_id, event.occurred_at,
            event.occurred_at + w.compiled.span, json.dumps(telling.about(event)),  # type: ignore[union-attr]
        )
        for w, event, made in opened
        if event.occurred_at >= w.since
    ]  # fmt: skip
    _execute(_EXPECT, rows)


def answer(answers: "Sequence[Counted]") -> None:
    """What was expected has happened."""
    rows = [
        (w.id, w.revision, made.group, event.event_id, event.occurred_at)
        for w, event, made in answers
    ]
    _execute(_ANSWER, rows)


def _execute(statement: str, rows: list[Any]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(statement, [list(column) for column in zip(*rows, strict=True)])
