"""PgQueuer: jobs in PostgreSQL, an asyncio worker on asyncpg.

`python -m benchmarks.peers.pgqueuer` is its worker, with an empty handler.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer as Manager
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.drivers.psycopg import SyncPsycopgDriver
from pgqueuer.queries import Queries, SyncQueries

from ..stage import Stage
from .peer import PAYLOAD

BATCH = 100
PAYLOAD_BYTES = json.dumps(PAYLOAD).encode()


class PgQueuer:
    told = f"PgQueuer {version('pgqueuer')}, enqueue of lists, asyncpg, uvloop, batch size {BATCH}"

    @contextlib.contextmanager
    def at_work(self, place: Stage) -> Iterator[None]:
        asyncio.run(_install(place.database))
        with place.process("-m", __name__):
            yield

    def enqueue(self, place: Stage, count: int) -> None:
        queries = SyncQueries(SyncPsycopgDriver(place.connection))
        with place.connection.transaction():
            queries.enqueue(["take"] * count, [PAYLOAD_BYTES] * count, [0] * count)

    def done(self, place: Stage) -> bool:
        return place.count("pgqueuer") == 0


async def _install(database: str) -> None:
    plain = await asyncpg.connect(database)
    await Queries(AsyncpgDriver(plain)).install()
    await plain.close()


async def _work() -> None:
    manager = Manager(AsyncpgDriver(await asyncpg.connect(os.environ["DATABASE_URL"])))

    @manager.entrypoint("take")
    async def take(job: Any) -> None:
        return

    await manager.run(batch_size=BATCH)


if __name__ == "__main__":
    uvloop.run(_work())
