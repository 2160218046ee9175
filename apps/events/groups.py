"""Who reads which streams, and which worker does it."""

from dataclasses import dataclass

from .keys import Stream


@dataclass(frozen=True)
class Group:
    """A reader of streams. Each group sees every event once, whatever the other groups do."""

    name: str
    worker: str
    streams: tuple[Stream, ...]
    ordered: bool = False
    """One worker is active, the others stand by, and an aggregate's events keep their order."""


_events, _metadata, _mining = Stream.EVENTS, Stream.METADATA_CHANGES, Stream.PROCESS_MINING

GROUPS = {
    group.name: group
    for group in (
        # Everything that can be subscribed to (docs/adr/0054).
        Group(
            "watch_cep_group",
            "watch_cep",
            (_events, Stream.WATCHES, Stream.WORKERS, _mining, _metadata),
        ),
        Group("notification_group", "notifications", (_events,)),
        Group("bpm_engine", "bpm", (_events,), ordered=True),
        Group("worker_group", "documents", (Stream.WORKERS,)),
        Group("vision_group", "vision", (_events,)),
        Group("vision-consumer", "vision", (_metadata,), ordered=True),
        Group("synapse_group", "synapse", (_events,)),
        Group("synapse-consumer", "synapse", (_metadata,), ordered=True),
        Group("synapse_mining_group", "synapse_mining", (_mining,)),
        Group("oracle-consumer", "oracle", (_metadata,), ordered=True),
        Group("canvas_mining_group", "canvas", (_mining,)),
        Group("canvas-bridge", "canvas", (_metadata,), ordered=True),
        Group("chat_persist", "chat", (Stream.CHAT,), ordered=True),
        Group("chat_fanout", "chat", (Stream.CHAT,)),
    )
}

RELAY = "relay"
WORKERS = (RELAY, *dict.fromkeys(group.worker for group in GROUPS.values()))


def groups_of(worker: str) -> list[Group]:
    return [group for group in GROUPS.values() if group.worker == worker]
