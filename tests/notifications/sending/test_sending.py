"""What is due is sent once, tried again when it fails, and given up in the open."""

import threading
from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from apps.events.context import acting
from apps.notifications.models import Delivery, DeliveryAttempt, Endpoint, Lane
from apps.notifications.services import deliver_due, purge_deliveries, resend, set_muted, sweep
from apps.notifications.services.claim import Wait, claim
from apps.notifications.services.settle import back_off
from apps.watch.services import acknowledge, escalate_due, record_team_notified
from tests.notifications.peers import Answer
from tests.programs import eventually

from .conftest import at

pytestmark = pytest.mark.django_db


class Clock:
    """Shows a moment, and the next time a second later: rates leave room for one."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        self.now += timedelta(seconds=1)
        return self.now


def deliver(channel, hours=0.1):
    return deliver_due(channel, clock=Clock(at(hours)))


def tries(delivery):
    return [(each.outcome, each.said) for each in delivery.tries.order_by("id")]


@pytest.fixture
def by_webhook(endpoint, subscribe):
    endpoint()
    return subscribe("webhook")


def test_a_mail_goes_out_once(alert, subscribe, alice, deliveries):
    alert(subscribe())
    deliver("email")
    deliver("email")
    assert [each.to for each in mail.outbox] == [["Alice <alice@acme.example>"]]
    row = deliveries()["email", "alice"]
    assert (row.state, row.attempts, tries(row)) == ("sent", 1, [("sent", "")])
    assert row.peer_id == f"<{row.pk}@localhost>"


def test_a_word_to_the_team_goes_out_with_what_a_colleague_says(acme, alice, dana, alert, said):
    raised = alert(None)
    with acting(tenant_id=acme.pk, actor=alice.email):
        record_team_notified(alert=raised, note="Paid twice.", recipient_ids=[dana.pk])
    said(at(0.05))
    deliver("email")
    (mine,) = [each for each in mail.outbox if each.to == ["Dana <dana@acme.example>"]]
    assert mine.subject == "[HIGH] For the team: Cash of c1 is low."
    assert "alice@acme.example tells the team of this alert.\n\nPaid twice.\n" in mine.body


def test_what_fails_waits_longer_each_time_and_then_it_failed(
    alert, by_webhook, outbound, deliveries, settings
):
    settings.NOTIFICATION_ATTEMPTS = 3
    outbound.answers = [Answer(500, "oops")] * 3
    alert(by_webhook)
    for hours in (0.1, 1, 2):
        deliver("webhook", hours)
    row = deliveries()["webhook", ""]
    assert (row.state, row.reason, row.attempts) == ("failed", "attempts", 3)
    assert tries(row) == [("again", "500 oops")] * 3
    assert deliver("webhook", 3) is None
    assert len(outbound.asked) == 3


def test_the_pauses_double_and_differ(settings):
    settings.NOTIFICATION_RETRY_SECONDS = 30
    for attempt, middle in ((1, 30), (2, 60), (3, 120), (12, 3600)):
        pauses = {back_off(attempt) for _ in range(50)}
        assert len(pauses) > 1
        assert all(0.8 * middle <= pause <= 1.2 * middle for pause in pauses)


def test_a_refusal_is_not_tried_again(alert, by_webhook, outbound, deliveries):
    outbound.answers = [Answer(400, "no")]
    alert(by_webhook)
    deliver("webhook")
    row = deliveries()["webhook", ""]
    assert (row.state, row.reason) == ("failed", "refused")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_who_asks_for_a_pause_gets_it_for_everything(alert, by_webhook, outbound, status):
    outbound.answers = [Answer(status, "", {"Retry-After": "600"})]
    alert(by_webhook)
    alert(by_webhook, thing="c2")
    deliver("webhook", 0.1)
    deliver("webhook", 0.2)
    assert len(outbound.asked) == 1
    deliver("webhook", 0.3)
    assert len(outbound.asked) == 3


def test_who_is_gone_is_left_alone(alert, by_webhook, outbound, deliveries):
    outbound.answers = [Answer(410)]
    alert(by_webhook)
    deliver("webhook")
    assert not Endpoint.across_tenants.get().is_active


def test_what_failed_is_sent_again_when_somebody_asks(
    acme, alert, by_webhook, outbound, deliveries
):
    outbound.answers = [Answer(400, "no")]
    alert(by_webhook)
    deliver("webhook")
    with acting(tenant_id=acme.pk, actor="alice@acme.example"):
        resend(delivery=deliveries()["webhook", ""])
    deliver_due("webhook", clock=Clock(timezone.now()))
    row = deliveries()["webhook", ""]
    assert (row.state, row.reason, row.attempts) == ("sent", "", 1)
    assert tries(row) == [("never", "400 no"), ("asked", "alice@acme.example"), ("sent", "200 ok")]
    first, second = outbound.asked
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_an_escalation_that_was_answered_meanwhile_stays_here(
    in_acme, alert, subscribe, dana, alice, said, deliveries
):
    raised = alert(subscribe("in_app"), severity="CRITICAL")
    escalate_due(now=at(1))
    said(at(1))
    acknowledge(alert=raised, by=alice, now=at(1))
    deliver("email", 1.1)
    row = deliveries(level=1)["email", "dana"]
    assert (mail.outbox, row.state, row.reason, row.attempts) == ([], "skipped", "settled", 0)


def leave(person):
    person.memberships.all().delete()


def deactivate(person):
    person.is_active = False
    person.save()


def switch_off(person):
    with acting(tenant_id=person.memberships.get().tenant_id):
        set_muted(user_id=person.pk, muted=True)


@pytest.mark.parametrize(
    ("change", "reason"), [(leave, "left"), (deactivate, "left"), (switch_off, "off")]
)
def test_who_left_or_switched_off_meanwhile_gets_nothing(
    alert, subscribe, alice, deliveries, change, reason
):
    alert(subscribe())
    change(alice)
    deliver("email")
    assert (mail.outbox, deliveries()["email", "alice"].reason) == ([], reason)


@pytest.mark.parametrize(
    ("channel", "reason"),
    [("sms", "not_set_up"), ("slack", "no_address"), ("webhook", "no_address")],
)
def test_without_an_address_it_is_said_why_nothing_was_sent(
    alert, subscribe, deliveries, channel, reason
):
    alert(subscribe(channel))
    deliver(channel)
    assert deliveries()[channel, "alice"].reason == reason


def test_a_rate_is_kept(alert, subscribe, settings):
    settings.NOTIFICATION_LANES = {**settings.NOTIFICATION_LANES,
                                   "email": {"at_once": 4, "per_second": 2.0}}  # fmt: skip
    Lane.objects.create(channel="email", free_at=at(0))
    for number in range(3):
        alert(subscribe("email"), thing=f"c{number}")
    assert isinstance(claim("email", now=at(0.1)), Delivery)
    assert claim("email", now=at(0.1)) == Wait(0.5)
    assert isinstance(claim("email", now=at(0.1, seconds=0.5)), Delivery)


def test_no_more_are_sent_at_once_than_a_channel_may(alert, subscribe, settings):
    settings.NOTIFICATION_LANES = {**settings.NOTIFICATION_LANES,
                                   "email": {"at_once": 2, "per_second": 1000.0}}  # fmt: skip
    for number in range(3):
        alert(subscribe("email"), thing=f"c{number}")
    taken = [claim("email", now=at(0.1, seconds=n)) for n in range(3)]
    assert [type(each) for each in taken] == [Delivery, Delivery, Wait]
    # Another channel has its own.
    assert isinstance(claim("sms", now=at(0.1)), Wait)


def test_the_sweep_finds_what_a_lost_task_forgot(
    alert, subscribe, django_capture_on_commit_callbacks
):
    alert(subscribe("email", "slack"))
    assert sorted(sweep(now=at(0.1))) == ["email", "slack"]
    assert sweep(now=at(-1)) == []


def test_old_ones_are_forgotten_with_their_tries(alert, subscribe):
    alert(subscribe())
    deliver("email")
    Delivery.across_tenants.update(created_at=timezone.now() - timedelta(days=91))
    purge_deliveries()
    assert (Delivery.across_tenants.count(), DeliveryAttempt.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_channel_that_hangs_delays_no_other(alert, by_webhook, subscribe, outbound):
    outbound.answers = [Answer(hangs=True)] * 2
    alert(by_webhook)
    alert(by_webhook, thing="c2")

    def hand():
        deliver_due("webhook", clock=Clock(timezone.now()))
        connection.close()

    stuck = [threading.Thread(target=hand) for _ in range(2)]
    for each in stuck:
        each.start()
    eventually(lambda: outbound.asked)
    alert(subscribe("email"), thing="c3")
    deliver_due("email", clock=Clock(timezone.now()))
    assert len(mail.outbox) == 1
    assert stuck[0].is_alive() or stuck[1].is_alive()
    for each in stuck:
        each.join()


def test_a_secret_that_cannot_be_unsealed_stops_one_delivery_only(
    alert, by_webhook, settings, deliveries
):
    alert(by_webhook)
    settings.SECRET_KEY = "another"
    deliver("webhook")
    row = Delivery.across_tenants.defer("endpoint__url").get()
    assert (row.state, "Unsealable" in row.tries.get().said) == ("waiting", True)


@pytest.mark.django_db(transaction=True)
def test_many_hands_send_each_thing_once(alert, subscribe, settings):
    settings.NOTIFICATION_LANES = {**settings.NOTIFICATION_LANES,
                                   "email": {"at_once": 8, "per_second": 100_000.0}}  # fmt: skip
    mine = subscribe("email")
    for number in range(20):
        alert(mine, thing=f"c{number}")

    def hand():
        deliver_due("email", clock=Clock(timezone.now()))
        connection.close()

    hands = [threading.Thread(target=hand) for _ in range(6)]
    for each in hands:
        each.start()
    for each in hands:
        each.join()
    deliver_due("email", clock=Clock(timezone.now()))
    assert len(mail.outbox) == 20
    assert len({each.extra_headers["Message-ID"] for each in mail.outbox}) == 20
    assert set(Delivery.across_tenants.values_list("state", flat=True)) == {"sent"}
