"""Every name that Axiom uses in Redis, in one place."""

import uuid
from enum import StrEnum
from typing import Final

EPOCH: Final = "axiom:epoch"
NUDGE: Final = "axiom:nudge"
NUDGES_AT_MOST: Final = 1_000
MANY_PENDING_SINCE: Final = "axiom:many_pending_since"
"""Since when a group holds more of a stream than it should."""


class Stream(StrEnum):
    """The streams that the relay fills and groups read."""

    EVENTS = "axiom:events"
    WATCHES = "axiom:watches"
    WORKERS = "axiom:workers"
    PROCESS_MINING = "axiom:process_mining"
    METADATA_CHANGES = "axiom:metadata_changes"
    CHAT = "axiom:chat"

    @property
    def dead_letters(self) -> str:
        return dead_letters(self)

    @property
    def max_length(self) -> int:
        return _LENGTHS.get(self, 100_000)


_LENGTHS = {Stream.METADATA_CHANGES: 50_000, Stream.WORKERS: 50_000}
DEAD_LETTER_LENGTH: Final = 10_000

COMMENT_DELTA: Final = "count:comment:delta:"
COMMENT_DELTAS: Final = "count:comment:cases"
COMMENT_BATCH: Final = "count:comment:batch"
COMMENT_EPOCH: Final = "count:comment:epoch"


def comment_delta(case_id: uuid.UUID) -> str:
    """How many comments a case gained or lost since its count was brought up to date."""
    return f"{COMMENT_DELTA}{{{case_id}}}"


def dead_letters(stream: str) -> str:
    return f"{stream}_dlq"


def notifications(tenant_id: uuid.UUID | str) -> str:
    """The stream that a tenant's browsers follow; it has no group."""
    return f"axiom:notifications:{tenant_id}"


def bridged(tenant_id: uuid.UUID | str, datasource_name: str, second: int) -> str:
    """How many changes of a data source browsers could have been told in this second."""
    return f"axiom:bridged:{{{tenant_id}:{datasource_name}}}:{second}"


def live_connections(member: str) -> str:
    """The open streams of a member: connection id -> connected at."""
    return f"sse:notification:{member}"


LIVE_DISCONNECT: Final = "sse:notification:disconnect"
LIVE_LOOK: Final = "axiom:live:look"
LIVE_PROCESSES: Final = "axiom:live:processes"


def live_ticket(digest: str) -> str:
    return f"axiom:live:ticket:{digest}"


CHAT_SAID: Final = "axiom:chat:said"
CHAT_LOOK: Final = "axiom:chat:look"


def chat_room(room: str) -> str:
    """The last number of a room's messages, and up to where numbers may be given."""
    return f"axiom:chat:room:{room}"


def chat_sent(room: str, message: str) -> str:
    """The number that a message got, under its sender's own id for it."""
    return f"axiom:chat:sent:{room}:{message}"


def chat_recent(room: str) -> str:
    """The newest messages of a room, persisted or not."""
    return f"axiom:chat:recent:{room}"


WORKERS_HEARD: Final = "axiom:workers:heard"
"""Worker processes by the time they were heard of: looking through all keys would take long."""


def heartbeat(worker: str) -> str:
    return f"axiom:worker:{worker}"


def length_marks(stream: str) -> str:
    """Which entry was the last when the stream had grown to which length."""
    return f"axiom:length_marks:{stream}"


def timings(span: str, number: int) -> str:
    """What all workers counted in one minute or hour."""
    return f"axiom:timings:{span}:{number}"
