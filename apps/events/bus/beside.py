"""Two buses at once: chat numbers its messages in Redis, whatever carries the events."""

from collections.abc import Mapping, Sequence

from ..keys import Stream
from .protocol import Bus, Entry, Fields, GroupState, Identity, Refusal, StreamState


class ChatBeside:
    """What the outbox publishes goes by `bus`; the stream of chat is where its script writes."""

    def __init__(self, bus: Bus, chat: Bus) -> None:
        self.bus, self.chat = bus, chat

    def _of(self, stream: str) -> Bus:
        return self.chat if stream == Stream.CHAT else self.bus

    def identity(self) -> Identity:
        (run, epoch), (chat_run, chat_epoch) = self.bus.identity(), self.chat.identity()
        return f"{run} {chat_run}", epoch if epoch == chat_epoch else ""

    def begin_epoch(self, epoch: str, streams: Mapping[str, Sequence[str]]) -> None:
        self.chat.begin_epoch(
            epoch, {s: groups if s == Stream.CHAT else () for s, groups in streams.items()}
        )
        self.bus.begin_epoch(epoch, streams)

    def append(
        self, entries: Sequence[tuple[str, Fields]], identity: Identity
    ) -> list[str | Refusal]:
        run, epoch = identity
        return self.bus.append(entries, (run.partition(" ")[0], epoch))

    def read(
        self, group: str, consumer: str, streams: Sequence[str], count: int, block_ms: int
    ) -> list[Entry]:
        return self._of(streams[0]).read(group, consumer, streams, count, block_ms)

    def ensure_group(self, stream: str, group: str) -> bool:
        return self._of(stream).ensure_group(stream, group)

    def ack(self, group: str, entries: Sequence[Entry]) -> None:
        self._of(entries[0].stream).ack(group, entries)

    def take_over(
        self, group: str, consumer: str, stream: str, min_idle_ms: int, owner: str = "",
        count: int = 100,
    ) -> list[Entry]:  # fmt: skip
        return self._of(stream).take_over(group, consumer, stream, min_idle_ms, owner, count)

    def first_held(self, group: str, stream: str) -> str | None:
        return self._of(stream).first_held(group, stream)

    def forget_consumer(self, group: str, consumer: str, stream: str) -> None:
        self._of(stream).forget_consumer(group, consumer, stream)

    def state(self, stream: str) -> StreamState | None:
        return self._of(stream).state(stream)

    def oldest_waiting(self, stream: str, group: GroupState) -> Entry | None:
        return self._of(stream).oldest_waiting(stream, group)

    def trim(self, stream: str, before_id: str, *, exact: bool = False) -> int:
        return self._of(stream).trim(stream, before_id, exact=exact)

    def dead_letter(self, stream: str, fields: Mapping[str, str], max_length: int) -> None:
        self._of(stream).dead_letter(stream, fields, max_length)
