"""The harness itself is tested: with a guarantee switched off it must find what breaks."""

import re
import signal
from pathlib import Path

import apps.events

from .harness import BACKLOG, CONSUMER_POINTS, RELAY_POINTS, wait_until
from .worker import BATCH

FEW = 1_500
AN_HOUR = 3_600
EATEN = """
WITH eaten AS (
    DELETE FROM fault_ledger
    WHERE event_id IN (SELECT event_id FROM fault_ledger LIMIT 2000) RETURNING 1
) SELECT count(*) FROM eaten
"""
NOTHING_LEASED = """
SELECT NOT EXISTS (SELECT FROM event_outbox WHERE status = 'PROCESSING' AND locked_until > now())
"""


def test_something_dies_at_every_failpoint():
    code = Path(apps.events.__file__).parent.rglob("*.py")
    points = {name for file in code for name in re.findall(r'reach\("(.+?)"\)', file.read_text())}
    assert points == {*RELAY_POINTS, *CONSUMER_POINTS}


def test_a_fault_whose_backlog_is_eaten_meanwhile_happens_again(plant):
    eaten = []

    def eat_the_first_time():
        if not eaten:
            eaten.append(plant.ask(EATEN))

    plant.suffer("hunger", eat_the_first_time)

    assert eaten == [2_000]
    assert plant.faults == ["hunger"]
    assert plant.smallest_backlog >= BACKLOG
    assert plant.spare == 2_000


def test_without_the_inbox_effects_come_twice(plant):
    plant.without = ("no_inbox",)
    plant.publish(FEW)
    plant.start(relay=1)
    plant.die_at("spread", ["consumer.handled"], times=2)
    plant.start(ordered=1, spread=1)

    verdict = plant.finish()
    assert verdict.twice
    assert not verdict.lost


def test_without_sending_again_a_wipe_loses_events(plant):
    plant.without = ("no_resend",)
    plant.publish(FEW)
    plant.start(relay=1)
    wait_until(lambda: plant.in_outbox("PUBLISHED"), "something sent")
    plant.bus.flush()
    plant.start(ordered=1, spread=1)
    wait_until(plant.nothing_waits, "an end")

    verdict = plant.verdict()
    assert verdict.lost
    assert not verdict.twice


def test_without_fences_a_relay_settles_what_another_one_holds(plant):
    plant.without = ("no_fence",)
    plant.publish(FEW)
    first = plant.add("relay", sleeps_at="relay.sent")
    wait_until(lambda: first.asleep, "sleep")
    wait_until(lambda: plant.ask(NOTHING_LEASED), "the end of a lease")
    second = plant.add("relay", sleeps_at="relay.sent")
    wait_until(lambda: second.asleep, "sleep")
    first.signal(signal.SIGCONT)

    wait_until(lambda: plant.ask("SELECT count(*) FROM fault_trespass"), "a trespass")
    assert plant.verdict().trespasses


def test_without_looking_at_what_is_in_flight_events_overtake_each_other(plant):
    plant.without, plant.left_alone = ("no_order",), AN_HOUR
    plant.publish(FEW)
    sleeper = plant.add("relay", sleeps_at="relay.claimed")
    wait_until(lambda: sleeper.asleep, "sleep")
    plant.start(relay=1)
    wait_until(lambda: not plant.in_outbox("PENDING"), "everything else sent")
    sleeper.signal(signal.SIGCONT)
    plant.start(ordered=1, spread=1)

    verdict = plant.finish()
    assert verdict.overtaken_on_stream
    assert not verdict.lost


def test_without_a_leader_handlers_see_events_overtake_each_other(plant):
    plant.without, plant.left_alone = ("no_leader",), AN_HOUR
    plant.publish(FEW)
    sleeper = plant.add("ordered", sleeps_at="consumer.read")
    wait_until(lambda: plant.hears(sleeper), "a heartbeat")
    plant.start(relay=1)
    # It holds the first events of every counter: whoever comes now reads later ones.
    wait_until(lambda: sleeper.asleep, "sleep")
    plant.start(ordered=1, spread=1)
    wait_until(lambda: plant.backlog() <= BATCH, "everything else handled")
    sleeper.signal(signal.SIGCONT)

    verdict = plant.finish()
    assert verdict.overtaken
    assert not verdict.lost
