"""Processes that die at the worst moment, and those that only seemed dead."""

import signal

from .harness import CONSUMER_POINTS, RELAY_POINTS, wait_until


def test_relays_that_die_anywhere_lose_nothing(plant):
    plant.suffer("relays die everywhere", lambda: plant.die_at("relay", RELAY_POINTS, times=3))
    plant.start(relay=1, ordered=1, spread=1)

    assert plant.finish().broken == {}


def test_consumers_that_die_anywhere_leave_every_effect_once(plant):
    plant.start(relay=1)
    plant.suffer("workers die everywhere", lambda: die_in_both_groups(plant))
    plant.start(ordered=1, spread=1)

    assert plant.finish().broken == {}


def die_in_both_groups(plant):
    # Of the ordered group one leads at a time: they die one after the other.
    plant.die_at("ordered", CONSUMER_POINTS, times=2)
    plant.die_at("spread", CONSUMER_POINTS, times=3)


def test_processes_killed_at_random_lose_nothing(plant):
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    for role in ("relay", "ordered", "spread") * 2:
        plant.goes_on(effects=plant.chance.randint(1, 400))
        plant.suffer(f"{role} killed", lambda r=role: plant.replace_one(r))

    assert plant.finish().broken == {}


def test_a_relay_that_slept_past_its_lease_harms_nobody(plant):
    plant.keep_backlog()
    sleepers = [plant.add("relay", sleeps_at=point) for point in ("relay.claimed", "relay.sent")]
    for sleeper in sleepers:
        wait_until(lambda s=sleeper: s.asleep, f"sleep at {sleeper.job.sleeps_at}")
    plant.suffer("two relays sleep", lambda: plant.start(relay=1))
    for sleeper in sleepers:
        wait_until(lambda s=sleeper: not held_by(plant, s), "others to take over")
        sleeper.signal(signal.SIGCONT)
    plant.start(ordered=1, spread=1)

    assert plant.finish().broken == {}


def held_by(plant, sleeper):
    return plant.ask(
        "SELECT count(*) FROM event_outbox WHERE status = 'PROCESSING' AND locked_by = %s",
        sleeper.job.name,
    )
