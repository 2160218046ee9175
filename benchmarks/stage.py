"""Where a benchmark plays: a database and a Redis database of its own."""

import contextlib
from collections.abc import Iterator

import psycopg
import redis
from django.db import connection as django_connection

from apps.events import keys

from . import servers
from .processes import Process, started, wait_until

STREAM = str(keys.Stream.EVENTS)
MANAGE = "manage.py"

# Ten events for each aggregate, those of one far apart; about 200 bytes of payload.
_FILL = """
INSERT INTO event_outbox (event_id, tenant_id, occurred_at, stream, event_type, aggregate_type,
                          aggregate_id, actor, trace_id, payload, status, published_at, entry_id)
SELECT gen_random_uuid(), '018f2d1c-0000-7000-8000-000000000001', now(), %(stream)s,
       'BENCH_CLAIM_FILED', 'claim', md5((n %% (%(count)s / 10 + 1))::text)::uuid::text,
       'alice@example.com', md5(n::text),
       json_build_object(
         'claim_id', md5((n %% (%(count)s / 10 + 1))::text)::uuid, 'number', n,
         'creditor', 'Hanbit Textile Co., Ltd.', 'amount', '12500000.00', 'currency', 'KRW',
         'note', 'Filed by the creditor''s counsel with two annexes.'),
       %(status)s, CASE %(status)s WHEN 'PUBLISHED' THEN now() END,
       CASE %(status)s WHEN 'PUBLISHED' THEN '1-' || n END
FROM generate_series(1, %(count)s) AS n
"""
_WAITING = """
SELECT EXISTS (SELECT FROM event_outbox
               WHERE seq > (SELECT last_value - 20000 FROM event_outbox_seq_seq)
                 AND status <> 'PUBLISHED')
"""


class Stage:
    """A database and a Redis database; the relay that runs here is a real process."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        django_connection.close()
        self.database = servers.create_database(f"axiom_bench_{name}")
        self.redis_url = servers.redis_url(number)
        self.client = redis.Redis.from_url(self.redis_url)
        self.client.flushdb()
        self.connection = psycopg.connect(self.database, autocommit=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"DATABASE_URL": self.database, "REDIS_URL": self.redis_url}

    def process(
        self, *command: str, **environment: str
    ) -> contextlib.AbstractContextManager[Process]:
        log = servers.DIRECTORY / "processes.log"
        return started(*command, log=log, **self.environment, **environment)

    @contextlib.contextmanager
    def relay(self) -> Iterator[None]:
        """One relay process, as `manage.py runworker relay` starts it, ready to carry."""
        with self.process(MANAGE, "runworker", "relay"):
            wait_until(lambda: self.count("event_bus_state WHERE epoch <> '' AND NOT healing") > 0)
            yield

    def clear(self) -> None:
        """Forget what was carried, with all its traces in the table's pages."""
        self.connection.execute("TRUNCATE event_outbox, event_inbox, bench_effect, bench_claim")
        self.client.xtrim(STREAM, maxlen=0, approximate=False)

    def fill(self, count: int, status: str = "PENDING") -> None:
        """So many events appear at once, as one transaction commits."""
        params = {"count": count, "status": status, "stream": STREAM}
        self.connection.execute(_FILL, params)

    def nudge(self) -> None:
        self.client.lpush(keys.NUDGE, 1)

    def length(self) -> int:
        return int(self.client.xlen(STREAM))

    def all_settled(self) -> bool:
        row = self.connection.execute(_WAITING).fetchone()
        return not (row and row[0])

    def published(self) -> int:
        return self.count("event_outbox WHERE status = 'PUBLISHED'")

    def count(self, rows: str) -> int:
        row = self.connection.execute(f"SELECT count(*) FROM {rows}").fetchone()  # type: ignore[call-overload]
        return int(row[0]) if row else 0

    def close(self) -> None:
        django_connection.close()
        self.connection.close()
        self.client.flushdb()
        self.client.close()


@contextlib.contextmanager
def stage(name: str, number: int) -> Iterator[Stage]:
    """A stage that is gone when the block ends."""
    place = Stage(name, number)
    try:
        yield place
    finally:
        place.close()
