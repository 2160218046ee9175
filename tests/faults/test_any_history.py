"""Whatever happens in whatever order: nothing lost, nothing twice, nothing out of order."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from apps.events import catalog, claims, healing
from apps.events.catalog import Event
from apps.events.delivery import Delivery
from apps.events.handlers import forget, on

from .conftest import LONG, ROUNDS
from .machine import STEPPED, Machine, leave_effect
from .worker import ORDERED, SPREAD

pytestmark = pytest.mark.django_db(transaction=True)

SHORT = settings(
    max_examples=100 * ROUNDS if LONG else 15,
    stateful_step_count=30,
    derandomize=not LONG,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
# A planted bug is only to be found, not to be told in the fewest words.
HUNT = settings(SHORT, max_examples=300, phases=[Phase.generate], derandomize=True)


@pytest.fixture(autouse=True)
def stepped(settings, redis_client):
    settings.EVENTS_CHORE_SECONDS = 0

    class Stepped(Event, type=STEPPED, aggregate="stepped", key="name"):
        name: str
        number: int

    handlers = [on(Stepped, group=g)(_handler(g)) for g in (ORDERED, SPREAD)]
    yield
    catalog.forget(Stepped)
    for handler in handlers:
        forget(handler)


def _handler(group):
    return lambda message: leave_effect(group, message)


def test_any_history_ends_well():
    run_state_machine_as_test(Machine, settings=SHORT)


def unfenced(monkeypatch, fence):
    for name in ("_SETTLE", "_GIVE_BACK", "_FAIL"):
        monkeypatch.setattr(claims, name, getattr(claims, name).replace(fence, ""))


def no_inbox(self, messages):
    return {message.event_id for message in messages}


def overtaken_claim(machine):
    machine.publish("a", 1, False)
    machine.claim(0, 1)
    machine.send(0)
    machine.expire()
    machine.claim(1, 1)
    machine.settle(0)


def settled_after_the_healing(machine):
    machine.publish("a", 1, False)
    machine.claim(0, 1)
    machine.send(0)
    machine.wipe()
    machine.carry(1, "")
    machine.settle(0)


def died_before_the_acknowledgement(machine):
    machine.publish("a", 1, False)
    machine.carry(0, "")
    machine.consume(1, "consumer.handled")
    machine.consume(2, "")


def wiped(machine):
    machine.publish("a", 2, False)
    machine.carry(0, "")
    machine.wipe()


BUGS = {
    "claims unfenced": (
        lambda m: unfenced(m, "AND o.claim_token = %(token)s"), overtaken_claim, "of another",
    ),
    "epochs unfenced": (
        lambda m: unfenced(m, "AND EXISTS (SELECT FROM bus)"), settled_after_the_healing, "lost",
    ),
    "no inbox": (
        lambda m: m.setattr(Delivery, "_enter_inbox", no_inbox),
        died_before_the_acknowledgement, "twice",
    ),
    "nothing sent again": (
        lambda m: m.setattr(healing, "_resend_what_was_lost", lambda *_: 0), wiped, "lost",
    ),
}  # fmt: skip


def play(history):
    machine = Machine()
    machine.begin()
    history(machine)
    machine.teardown()


@pytest.mark.parametrize("name", BUGS)
def test_a_history_that_would_show_a_bug_ends_well_without_it(name):
    play(BUGS[name][1])


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_seen(monkeypatch, name):
    plant, history, told = BUGS[name]
    plant(monkeypatch)
    with pytest.raises(AssertionError) as seen:
        play(history)

    assert told in str(seen.getrepr())


if LONG:  # Looking for them takes minutes.

    @pytest.mark.parametrize("name", BUGS)
    def test_a_planted_bug_is_found(monkeypatch, name):
        plant, _, told = BUGS[name]
        plant(monkeypatch)
        with pytest.raises(AssertionError) as found:
            run_state_machine_as_test(Machine, settings=HUNT)

        assert told in str(found.getrepr())
