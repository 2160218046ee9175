"""Whoever sends is killed between two effects: at most one more message, never one less."""

import pytest

from apps.notifications.models import Delivery
from apps.notifications.services import deliver_due

from .conftest import at

pytestmark = pytest.mark.django_db(transaction=True)
LEASE_HOURS = 121 / 3600


@pytest.fixture
def waiting(alert, subscribe, endpoint):
    """A webhook that is due."""
    endpoint()
    alert(subscribe("webhook"))


def state():
    return Delivery.across_tenants.get(channel="webhook")


@pytest.mark.parametrize(
    ("place", "sent_before", "sent_in_all"),
    [("delivery.claimed", 0, 1), ("delivery.sent", 1, 2), ("delivery.settled", 1, 1)],
)
def test_killed_anywhere_it_arrives_and_at_most_once_more(
    waiting, outbound, courier, place, sent_before, sent_in_all
):
    assert courier("webhook", at(0.1), place) == -9
    assert len(outbound.asked) == sent_before
    # Nobody touches it while its lease lasts.
    deliver_due("webhook", clock=lambda: at(0.1, seconds=119))
    assert len(outbound.asked) == sent_before
    assert courier("webhook", at(0.1 + LEASE_HOURS)) == 0
    assert (len(outbound.asked), state().state) == (sent_in_all, "sent")
    # A reader that keeps to the standard has seen one.
    assert len({asked.headers["webhook-id"] for asked in outbound.asked}) == 1


def test_killed_twice_over_a_peer_without_keys_it_is_given_up_in_the_open(
    alert, subscribe, endpoint, outbound, courier
):
    endpoint("slack")
    alert(subscribe("slack"))
    for number in range(3):
        courier("slack", at(0.1 + number * LEASE_HOURS), "delivery.sent")
    row = Delivery.across_tenants.get(channel="slack")
    assert (row.state, row.reason, row.lost) == ("failed", "unsure", 2)
    assert len(outbound.asked) == 2
    assert [each.outcome for each in row.tries.order_by("id")] == ["lost", "lost"]


def test_who_was_taken_for_dead_changes_nothing(waiting, outbound):
    from apps.notifications.channels.message import sent
    from apps.notifications.services.claim import claim
    from apps.notifications.services.settle import Tried, settle

    slow = claim("webhook", now=at(0.1))
    again = claim("webhook", now=at(0.1 + LEASE_HOURS))
    assert slow.pk == again.pk
    settle(slow, Tried(sent(), at(0.1), 1.0, []), now=at(0.2))
    assert state().state == "sending"
    settle(again, Tried(sent(), at(0.2), 1.0, []), now=at(0.2))
    assert state().state == "sent"
