"""What must hold whatever happened: nothing lost, nothing twice, nothing out of order."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from .worker import ORDERED, SPREAD

TABLES = """
CREATE TABLE fault_ledger (event_id uuid PRIMARY KEY, counter text, number int);
-- No unique constraint: an effect that comes twice has to be seen.
CREATE TABLE fault_effect (
    id bigserial, "group" text, event_id uuid, counter text, number int, worker text
);
CREATE TABLE fault_trespass (event_id uuid, what text);

CREATE FUNCTION fault_watch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE me text := current_setting('application_name');
BEGIN
    IF OLD.status IN ('PUBLISHED', 'DEAD') AND NEW.status <> OLD.status
       AND NOT (NEW.status = 'PENDING' AND (SELECT healing FROM event_bus_state)) THEN
        INSERT INTO fault_trespass VALUES (OLD.event_id, OLD.status || ' became ' || NEW.status);
    END IF;
    IF OLD.status = 'PROCESSING' AND NEW.status <> 'PROCESSING' AND OLD.locked_by <> me THEN
        INSERT INTO fault_trespass VALUES (OLD.event_id, me || ' ended the claim of ' || OLD.locked_by);
    END IF;
    IF OLD.status = 'PROCESSING' AND NEW.status = 'PROCESSING' AND OLD.locked_until > now() THEN
        INSERT INTO fault_trespass VALUES (OLD.event_id, me || ' took from ' || OLD.locked_by);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fault_watch AFTER UPDATE ON event_outbox
    FOR EACH ROW EXECUTE FUNCTION fault_watch();
"""

_LOST = """
SELECT count(*) FROM fault_ledger l CROSS JOIN unnest(%s::text[]) AS g("group")
WHERE NOT EXISTS (SELECT FROM fault_effect e WHERE e.event_id = l.event_id AND e."group" = g."group")
"""
_TWICE = """
SELECT count(*) FROM (
    SELECT FROM fault_effect GROUP BY "group", event_id HAVING count(*) > 1) AS again
"""
_NEVER_HAPPENED = """
SELECT count(*) FROM fault_effect e
WHERE NOT EXISTS (SELECT FROM fault_ledger l WHERE l.event_id = e.event_id)
"""
_OVERTAKEN = """
SELECT count(*) FROM (
    SELECT number, lag(number) OVER (
        PARTITION BY counter ORDER BY pg_xact_commit_timestamp(xmin), id) AS before
    FROM fault_effect WHERE "group" = %s) AS effect
WHERE number < before
"""


@dataclass(frozen=True)
class Verdict:
    """How often each promise was broken; all zero is what everybody wants."""

    lost: int
    twice: int
    never_happened: int
    overtaken: int
    overtaken_on_stream: int
    trespasses: int
    dead_letters: int

    @property
    def broken(self) -> dict[str, int]:
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: count for name, count in found.items() if count}


def judge(count: Callable[..., int], entries: Iterable[tuple[str, int]]) -> Verdict:
    """Hold the effects and the stream's entries (counter and number) against the ledger."""
    return Verdict(
        lost=count(_LOST, [ORDERED, SPREAD]),
        twice=count(_TWICE),
        never_happened=count(_NEVER_HAPPENED),
        overtaken=count(_OVERTAKEN, ORDERED),
        overtaken_on_stream=overtaken(entries),
        trespasses=count("SELECT count(*) FROM fault_trespass"),
        dead_letters=count("SELECT count(*) FROM event_dead_letter"),
    )


def overtaken(entries: Iterable[tuple[str, int]]) -> int:
    """How many entries stand behind a later one of their counter, repetitions aside."""
    newest: dict[str, int] = defaultdict(int)
    seen: set[tuple[str, int]] = set()
    wrong = 0
    for counter, number in entries:
        if (counter, number) not in seen:
            seen.add((counter, number))
            wrong += number < newest[counter]
            newest[counter] = max(newest[counter], number)
    return wrong
