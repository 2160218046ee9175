"""The harness itself is tested: with a guarantee switched off it must find what breaks."""

import signal

from .harness import wait_until


def test_without_the_inbox_effects_come_twice(plant):
    plant.without = ("no_inbox",)
    plant.keep_backlog()
    plant.start(relay=1, ordered=1, spread=1)
    plant.lose(plant.add("spread", dies_at="consumer.handled:2"))

    assert plant.finish(patience=4).twice


def test_without_sending_again_a_wipe_loses_events(plant):
    plant.without = ("no_resend",)
    plant.keep_backlog()
    plant.start(relay=1)
    wait_until(
        lambda: plant.ask("SELECT count(*) FROM event_outbox WHERE status = 'PUBLISHED'"), ""
    )
    plant.bus.flush()
    plant.start(ordered=1, spread=1)

    assert plant.finish(patience=4).lost


def test_without_fences_a_relay_settles_what_another_one_holds(plant):
    plant.without = ("no_fence",)
    plant.keep_backlog()
    first = plant.add("relay", sleeps_at="relay.sent")
    wait_until(lambda: first.asleep, "sleep")
    wait_until(lambda: plant.ask(NOTHING_LEASED), "the end of a lease")
    second = plant.add("relay", sleeps_at="relay.sent")
    wait_until(lambda: second.asleep, "sleep")
    first.signal(signal.SIGCONT)

    wait_until(lambda: plant.verdict().trespasses, "a trespass")


NOTHING_LEASED = """
SELECT NOT EXISTS (SELECT FROM event_outbox WHERE status = 'PROCESSING' AND locked_until > now())
"""
