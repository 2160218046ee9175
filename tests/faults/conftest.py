"""Installations to be damaged, and seeds to damage them the same way again.

`make test` plays every scenario once; `make faults` (AXIOM_FAULTS=long) plays more of them, in
many rounds. Every seed is printed at the end; `make faults SEED=1234` makes the same choices
again, though not the same moments.
"""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environment import DIRECTORY

from .harness import Plant, make_template
from .servers import Bus, Database, new_servers

LONG = os.environ.get("AXIOM_FAULTS") == "long"
ROUNDS = int(os.environ.get("AXIOM_FAULTS_ROUNDS") or (5 if LONG else 1))
collect_ignore = [] if LONG else ["test_long_run.py"]


def pytest_generate_tests(metafunc):
    if "round_" in metafunc.fixturenames:
        metafunc.parametrize("round_", range(ROUNDS), ids=[f"round {n + 1}" for n in range(ROUNDS)])


def pytest_collection_modifyitems(items):
    """Time enough on a busy machine: what hangs is noticed by the harness itself."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[Database, Bus]]:
    # Not below pytest's own directory: every other run of pytest shuts that to other users, and
    # the user that PostgreSQL runs as is one.
    directory = DIRECTORY / f"faults-{os.getpid()}"
    directory.mkdir(parents=True)
    database, bus = new_servers(directory)
    try:
        database.start()
        bus.start()
        make_template(database, bus, directory)
        yield database, bus
    finally:
        bus.stop()
        database.stop()
        shutil.rmtree(directory)


@pytest.fixture
def seed(round_) -> int:
    chosen = os.environ.get("AXIOM_FAULTS_SEED")
    return int(chosen) if chosen else random.SystemRandom().randrange(10**6)


@pytest.fixture
def plant(servers, seed, tmp_path, record_property) -> Iterator[Plant]:
    """An installation of this test's own, with a backlog."""
    database, bus = servers
    database.start()
    bus.start()
    bus.flush()
    name = database.copy_template()
    plant = Plant(database, bus, name, tmp_path, random.Random(seed))
    try:
        yield plant
    finally:
        plant.close()
        record_property("faults", plant.story(seed))
        database.start()
        database.drop(name)
