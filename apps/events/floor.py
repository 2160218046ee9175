"""From which number on the outbox has to be searched for what waits.

Numbers are given out before the commit, so a row may appear below rows that were sent long ago.
A number is passed for good once every transaction that could have taken it is over. When one of
them lasts, the numbers that nobody has seen yet are remembered and looked for one by one: else
each poll would read again all that was sent since.
"""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from .statements import Connection, execute

_MOST_UNSEEN = 1_000
_OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_WAITING = """
SELECT seq, created_at AS day FROM event_outbox
WHERE seq >= %(floor)s::bigint AND seq <= %(mark)s::bigint AND created_at >= %(since)s
  AND next_retry_at IS NULL AND status IN ('PENDING', 'PROCESSING')
ORDER BY seq LIMIT 1
"""

_OLDEST_PARKED = """
SELECT min(created_at) AS day FROM event_outbox
WHERE next_retry_at IS NOT NULL AND status IN ('PENDING', 'PROCESSING')
"""

_PASS = f"""
SELECT {_OLDEST_RUNNING}, waiting.seq, least(waiting.day, parked.day)
FROM ({_OLDEST_PARKED}) parked
LEFT JOIN ({_WAITING}) waiting ON true
"""

# One snapshot for both: a row that appears between two looks would be in neither.
_STEP_OVER = f"""
WITH waiting AS MATERIALIZED ({_WAITING}), target AS MATERIALIZED (
    SELECT coalesce((SELECT seq FROM waiting), %(mark)s::bigint + 1) AS seq
), seen AS MATERIALIZED (
    SELECT range_agg(int8range(seq, seq + 1)) AS numbers FROM event_outbox
    WHERE seq >= %(floor)s::bigint AND seq < (SELECT seq FROM target) AND created_at >= %(since)s
), unseen AS MATERIALIZED (
    SELECT unnest(int8multirange(int8range(%(floor)s::bigint, target.seq))
                  - coalesce(seen.numbers, '{{}}')) AS numbers
    FROM target, seen
)
SELECT (SELECT seq FROM target),
       ARRAY(SELECT lower(numbers) FROM unseen), ARRAY(SELECT upper(numbers) FROM unseen)
"""

_LATECOMER = f"""
SELECT {_OLDEST_RUNNING}, min(late.seq)
FROM unnest(%(begins)s::bigint[], %(ends)s::bigint[]) AS unseen(begins, ends)
LEFT JOIN LATERAL (SELECT seq FROM event_outbox WHERE seq >= begins AND seq < ends
                   AND created_at >= %(since)s ORDER BY seq LIMIT 1) late ON true
"""


class Unseen(NamedTuple):
    """Numbers that no row shows, and the transaction id below which all must be over for good."""

    begins: int
    ends: int
    xid: int


@dataclass
class Floor:
    """The lowest number that can still wait; looking lower would only find settled rows."""

    seq: int = 0
    since: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    every_seconds: float = 0.2
    many: int = 200
    """Fewer settled rows than this are read again rather than stepped over."""
    unseen: list[Unseen] = field(default_factory=list)
    """Below the floor, and yet they may come."""
    _checked: float = field(default=0.0, repr=False)
    _mark: "_Mark | None" = field(default=None, repr=False)

    def rise(self, connection: Connection) -> None:
        """Leave behind what is settled, as far as is safe; asks only now and then."""
        if time.monotonic() - self._checked < self.every_seconds:
            return
        self._checked = time.monotonic()
        if self._mark is not None:
            self._pass(connection, self._mark)
        self._mark = self._mark or _Mark.read(connection, self.seq)
        self._reach_back(connection)

    def _reach_back(self, connection: Connection) -> None:
        """A redrive makes an event of any day wait again, also while nobody publishes."""
        (day,) = execute(connection, _OLDEST_PARKED).fetchone()  # type: ignore[misc]
        if day is not None:
            self.since = min(self.since, day - timedelta(days=1))

    def _pass(self, connection: Connection, mark: "_Mark") -> None:
        row = execute(connection, _PASS, self._place(mark)).fetchone()
        oldest_running, waiting, day = row  # type: ignore[misc]
        if oldest_running < mark.xid:
            self._step_over(connection)
            return
        # It may have stepped beyond this mark meanwhile.
        self.seq = max(self.seq, mark.number + 1) if waiting is None else waiting
        if not self.unseen:
            self.since = min(mark.at, day or mark.at) - timedelta(days=1)
        self._mark = None

    def _step_over(self, connection: Connection) -> None:
        """Somebody takes long: leave what is settled behind, but not what may still appear."""
        newest = _Mark.read(connection, self.seq + self.many)
        if newest is None:
            return
        row = execute(connection, _STEP_OVER, self._place(newest)).fetchone()
        target, begins, ends = row  # type: ignore[misc]
        if len(self.unseen) + len(begins) <= _MOST_UNSEEN:
            self.unseen += [Unseen(*each, newest.xid) for each in zip(begins, ends, strict=True)]
            self.seq = target

    def look_below(self, connection: Connection) -> None:
        """Sink to whatever appeared below; costs nothing unless somebody took long."""
        if not self.unseen:
            return
        begins, ends, _ = map(list, zip(*self.unseen, strict=True))
        params = {"begins": begins, "ends": ends, "since": self.since}
        row = execute(connection, _LATECOMER, params).fetchone()
        oldest_running, latecomer = row  # type: ignore[misc]
        self.unseen = [each for each in self.unseen if each.xid > oldest_running]
        if latecomer is not None:
            self._sink(latecomer)

    def _sink(self, seq: int) -> None:
        self.seq = min(self.seq, seq)
        below = (each for each in self.unseen if each.begins < seq)
        self.unseen = [each._replace(ends=min(each.ends, seq)) for each in below]

    def _place(self, mark: "_Mark") -> dict[str, object]:
        return {"floor": self.seq, "mark": mark.number, "since": self.since}


class _Mark(NamedTuple):
    """The newest number, and the transaction id below which all must be over to pass it."""

    number: int
    at: datetime
    xid: int

    @classmethod
    def read(cls, connection: Connection, floor: int) -> "_Mark | None":
        """The mark above this floor; none, and no transaction id spent, when nothing is new."""
        # Of a new sequence `last_value` is the first number that somebody will get.
        number, at = execute(  # type: ignore[misc]
            connection,
            "SELECT last_value - (NOT is_called)::int, clock_timestamp() FROM event_outbox_seq_seq",
        ).fetchone()
        if number < floor:
            return None
        # An id of our own, taken after the number was read: whoever took one of the numbers has a
        # smaller id. A snapshot would not do, it does not know of the newest transactions.
        (xid,) = execute(  # type: ignore[misc]
            connection, "SELECT pg_current_xact_id()::text::bigint"
        ).fetchone()
        return cls(number, at, xid)
