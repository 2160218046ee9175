"""Says something to the browsers of a tenant that are connected now. Best effort, by design."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import orjson
import redis
import structlog
from django.db import transaction

from apps.events import keys
from apps.events.connections import redis_client

log = structlog.get_logger(__name__)

# Browsers that were away for longer read their inbox anew.
KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing to say to many: what it is called, what it says, and to whom.

    `to` names people, each with the number it has in their inbox (None: it is in no inbox);
    left out, it is for everybody in the tenant.
    """

    event: str
    data: dict[str, Any]
    to: dict[str, int | None] | None = None

    def fields(self) -> dict[str, bytes | str]:
        return {"event": self.event, "data": orjson.dumps(self.data), "to": orjson.dumps(self.to)}


def push(tenant_id: UUID, frames: Sequence[Frame]) -> None:
    """Say it as soon as what it is about is committed; not at all if that is rolled back."""
    if frames:
        transaction.on_commit(partial(push_now, tenant_id, list(frames)))


def push_now(tenant_id: UUID, frames: Sequence[Frame]) -> None:
    """Say what is committed already."""
    try:
        pipe = redis_client("nudge").pipeline(transaction=False)
        for frame in frames:
            pipe.xadd(keys.notifications(tenant_id), frame.fields(), maxlen=KEPT, approximate=True)
        pipe.execute()
    except redis.RedisError as error:
        # Streams look into the database every second and find it there.
        log.warning("not pushed", error=str(error), frames=len(frames))
