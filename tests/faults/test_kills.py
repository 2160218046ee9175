"""Processes that die at the worst moment, and those that only seemed dead."""

import signal

import pytest

from .harness import CONSUMER_POINTS, RELAY_POINTS, wait_until
from .worker import HURRY


def test_relays_that_die_anywhere_lose_nothing(plant):
    plant.keep_backlog()
    plant.start(relay=2, ordered=1, spread=1)
    for point in RELAY_POINTS:
        doomed = plant.add("relay", dies_at=f"{point}:{plant.chance.randint(1, 4)}")
        plant.suffer(f"a relay dies at {point}", lambda d=doomed: plant.lose(d))

    assert plant.finish().broken == {}


@pytest.mark.parametrize("role", ["ordered", "spread"])
def test_consumers_that_die_anywhere_leave_every_effect_once(plant, role):
    plant.keep_backlog()
    plant.start(relay=1, ordered=1, spread=1)
    for point in CONSUMER_POINTS:
        doomed = plant.add(role, dies_at=f"{point}:{plant.chance.randint(1, 3)}")
        for other in plant.working(role):
            if other is not doomed:
                other.kill()  # In an ordered group the doomed one has to lead before it can die.
        plant.add(role)
        plant.suffer(
            f"a worker of the {role} group dies at {point}", lambda d=doomed: plant.lose(d)
        )

    assert plant.finish().broken == {}


def test_a_relay_that_slept_past_its_lease_harms_nobody(plant):
    plant.keep_backlog()
    plant.start(relay=2, ordered=1, spread=1)
    for point in ("relay.claimed", "relay.sent"):
        sleeper = plant.add("relay", sleeps_at=point)
        wait_until(lambda s=sleeper: s.asleep, f"sleep at {point}")
        plant.suffer(f"a relay sleeps at {point}", lambda: None)
        lease_over(plant, sleeper)
        sleeper.signal(signal.SIGCONT)
        plant.goes_on()

    assert plant.finish().broken == {}


def lease_over(plant, sleeper):
    held = "SELECT count(*) FROM event_outbox WHERE status = 'PROCESSING' AND locked_by = %s"
    wait_until(
        lambda: plant.ask(held, sleeper.job.name) == 0, "others to take over",
        seconds=HURRY["EVENTS_LEASE_SECONDS"] + 20,
    )  # fmt: skip
