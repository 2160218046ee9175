"""What a bus must be able to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Fields = tuple[str | int, ...]
"""Names and values in turn, as they go over the wire."""


Identity = tuple[str, str]
"""Which run of the server, and which epoch its data belongs to ("" when they are not whole)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream as it was read; `deliveries` counts how often it was handed out."""

    stream: str
    entry_id: str
    raw: Mapping[bytes, bytes]
    deliveries: int = 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """The bus takes others, but not this one."""

    code: str
    message: str
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class GroupState:
    """How far a group is with a stream."""

    group: str
    lag: int
    pending: int
    last_delivered_id: str
    oldest_pending_id: str | None = None
    consumers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StreamState:
    """How much a stream holds, and how far each group is."""

    stream: str
    length: int
    entries_added: int
    last_id: str
    groups: Sequence[GroupState] = field(default_factory=tuple)


class Bus(Protocol):
    """Append-only streams with groups that read them independently."""

    def identity(self) -> Identity:
        """Whose data these are now."""

    def begin_epoch(self, epoch: str, streams: Mapping[str, Sequence[str]]) -> None:
        """Make the streams with their groups where they are missing, and mark the data as known."""

    def append(
        self, entries: Sequence[tuple[str, Fields]], identity: Identity
    ) -> list[str | Refusal]:
        """Append all entries in this order in one round trip: an id or a refusal for each.

        Raises BusUnavailable (some may have arrived) or StreamsLost: the data are not those of
        this identity any more, or a stream is not there. However late it is called, it adds
        nothing to a bus that was lost and healed meanwhile.
        """

    def read(
        self, group: str, consumer: str, streams: Sequence[str], count: int, block_ms: int
    ) -> list[Entry]:
        """New entries for this consumer; waits up to block_ms for the first."""

    def ensure_group(self, stream: str, group: str) -> bool:
        """Make the group at the stream's beginning; False when the stream itself is missing."""

    def ack(self, group: str, entries: Sequence[Entry]) -> None:
        """Tell the bus that the group is done with these."""

    def take_over(
        self, group: str, consumer: str, stream: str, min_idle_ms: int, owner: str = "",
        count: int = 100,
    ) -> list[Entry]:  # fmt: skip
        """Entries that were handed out so long ago and not acknowledged (to one owner, if named)."""

    def first_held(self, group: str, stream: str) -> str | None:
        """The id of the oldest entry that was handed out and not acknowledged."""

    def forget_consumer(self, group: str, consumer: str, stream: str) -> None:
        """Remove a consumer that holds nothing any more."""

    def state(self, stream: str) -> StreamState | None:
        """Where a stream stands; None when it does not exist."""

    def oldest_waiting(self, stream: str, group: GroupState) -> Entry | None:
        """The first entry that the group is not done with."""

    def trim(self, stream: str, before_id: str, *, exact: bool = False) -> int:
        """Drop entries older than this id (roughly, unless exact is asked); returns how many went."""

    def dead_letter(self, stream: str, fields: Mapping[str, str], max_length: int) -> None:
        """Append to the dead-letter stream, keeping about max_length entries."""
