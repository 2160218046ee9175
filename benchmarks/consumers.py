"""A group of the benchmarks' own, and what it does with each kind of event."""

import time
from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from apps.events.groups import GROUPS, Group
from apps.events.handlers import on
from apps.events.keys import Stream
from apps.events.message import Message

from .events import ClaimChecked, ClaimSorted, ClaimTimed
from .models import Effect

GROUP = GROUPS.setdefault("bench", Group("bench", "bench", (Stream.EVENTS,)))

INSERT_EFFECTS = """
INSERT INTO bench_effect (event_id, number) SELECT * FROM unnest(%s::uuid[], %s::int[])
"""

arrivals: dict[int, float] = {}
"""When each numbered event reached its handler, on the clock that all processes share."""


@on(ClaimChecked, group=GROUP.name)
def check_claim(message: Message) -> None:
    Effect.objects.create(event_id=message.event_id, number=message.payload["number"])


@on(ClaimSorted, group=GROUP.name, batch=True)
def sort_claims(messages: Sequence[Message]) -> None:
    ids: list[UUID] = [message.event_id for message in messages]
    numbers: list[int] = [message.payload["number"] for message in messages]
    with connection.cursor() as cursor:
        cursor.execute(INSERT_EFFECTS, [ids, numbers])


@on(ClaimTimed, group=GROUP.name)
def time_claim(message: Message) -> None:
    arrivals[message.payload["number"]] = time.monotonic()
