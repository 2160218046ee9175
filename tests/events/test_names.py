"""The names of the design's fourth and sixth section, held against the code: others rely on them."""

import pytest

from apps.events.groups import GROUPS
from apps.events.keys import DEAD_LETTER_LENGTH, Stream, notifications

LENGTHS = {
    "axiom:events": 100_000,
    "axiom:watches": 100_000,
    "axiom:workers": 50_000,
    "axiom:process_mining": 100_000,
    "axiom:metadata_changes": 50_000,
    "axiom:chat": 100_000,
}
# The watch reads every stream of which something can be subscribed to (ADR 0054).
READERS = {
    "axiom:events": {
        "watch_cep_group", "notification_group", "bpm_engine", "vision_group", "synapse_group",
    },
    "axiom:watches": {"watch_cep_group"},
    "axiom:workers": {"worker_group", "watch_cep_group"},
    "axiom:process_mining": {"synapse_mining_group", "canvas_mining_group", "watch_cep_group"},
    "axiom:metadata_changes": {
        "oracle-consumer", "synapse-consumer", "vision-consumer", "canvas-bridge",
        "watch_cep_group",
    },
    "axiom:chat": {"chat_persist", "chat_fanout"},
}  # fmt: skip
ORDERED = {
    "bpm_engine", "oracle-consumer", "synapse-consumer", "vision-consumer", "canvas-bridge",
    "chat_persist",
}  # fmt: skip
WORKERS = {
    "watch_cep": {"watch_cep_group"},
    "notifications": {"notification_group"},
    "bpm": {"bpm_engine"},
    "documents": {"worker_group"},
    "vision": {"vision_group", "vision-consumer"},
    "synapse": {"synapse_group", "synapse-consumer"},
    "synapse_mining": {"synapse_mining_group"},
    "oracle": {"oracle-consumer"},
    "canvas": {"canvas_mining_group", "canvas-bridge"},
    "chat": {"chat_persist", "chat_fanout"},
}


def test_the_streams_have_their_names_and_lengths():
    assert {str(stream): stream.max_length for stream in Stream} == LENGTHS
    assert notifications("t1") == "axiom:notifications:t1"


@pytest.mark.parametrize("stream", Stream)
def test_a_stream_has_dead_letters_beside_it(stream):
    assert (stream.dead_letters, DEAD_LETTER_LENGTH) == (f"{stream}_dlq", 10_000)


def test_the_groups_read_their_streams():
    readers = {
        str(stream): {name for name, group in GROUPS.items() if stream in group.streams}
        for stream in Stream
    }
    assert readers == READERS


def test_groups_in_which_order_counts_have_one_active_worker():
    assert {name for name, group in GROUPS.items() if group.ordered} == ORDERED


def test_the_workers_serve_their_groups():
    served = {worker: {g.name for g in GROUPS.values() if g.worker == worker} for worker in WORKERS}
    assert served == WORKERS
