"""Ids that sort by the time they were made, so that indexes grow at one end."""

import os
import time
import uuid
from datetime import UTC, datetime


def uuid7() -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, the rest random."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)


def first_id_of(moment: datetime) -> uuid.UUID:
    """The smallest id of this millisecond: what is smaller was made before."""
    return uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | 0x2 << 62)


def made_at(made: uuid.UUID) -> datetime:
    """When this id was made, to the millisecond."""
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
