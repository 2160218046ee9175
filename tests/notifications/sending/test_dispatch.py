"""Who is told of an alert, by which channels, exactly once."""

import pytest
from django.db import IntegrityError, transaction

from apps.events.context import acting
from apps.notifications.models import Delivery, Notification
from apps.notifications.services import dispatch, set_muted
from apps.watch.services import acknowledge, escalate_due, record_team_notified, resolve

from .conftest import NOON, at, published

pytestmark = pytest.mark.django_db
QUEUE = "axiom:celery:deliveries"


def inbox_of(person):
    rows = Notification.across_tenants.filter(recipient=person).order_by("number")
    return [(row.severity, row.title) for row in rows]


def test_an_alert_is_told_in_the_inbox_and_by_the_channels_of_its_subscription(
    alice, alert, subscribe, deliveries
):
    alert(subscribe("in_app", "email"))
    assert inbox_of(alice) == [("HIGH", "Cash of c1 is low.")]
    found = deliveries()
    assert set(found) == {("in_app", "alice"), ("email", "alice")}
    assert [found["in_app", "alice"].state, found["email", "alice"].state] == ["sent", "waiting"]


def test_who_watches_twice_is_told_once_by_the_channels_of_both(
    alice, alert, subscribe, deliveries
):
    alert(subscribe("in_app"), subscribe("in_app", "email", role="admin"))
    assert len(inbox_of(alice)) == 1
    assert set(deliveries()) == {("in_app", "alice"), ("email", "alice")}


def test_a_role_is_told_person_by_person(
    alice, dana, member_of, acme, alert, subscribe, deliveries
):
    member_of(acme, "erin", "manager")
    alert(subscribe("email", role="manager"))
    assert set(deliveries()) == {("email", "dana"), ("email", "erin")}


def test_the_same_events_again_tell_nobody_again(alice, alert, subscribe):
    alert(subscribe())
    dispatch(published(), now=at(1))
    assert len(inbox_of(alice)) == 1
    assert Delivery.across_tenants.count() == 2


def test_the_database_refuses_a_second_one(alert, subscribe, alice):
    alert(subscribe())
    row = Delivery.across_tenants.get(channel="email")
    row.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_graver_or_back_again_it_is_told_again(alice, alert, subscribe, in_acme):
    mine = subscribe()
    alert(mine)
    alert(mine, hours=0.1)  # folded: counted, not told
    assert len(inbox_of(alice)) == 1
    raised = alert(mine, hours=0.2, severity="CRITICAL")
    resolve(alert=raised, by=alice, root_cause="x", now=at(0.3))
    alert(mine, hours=0.4, severity="CRITICAL")
    assert [severity for severity, _ in inbox_of(alice)] == ["HIGH", "CRITICAL", "CRITICAL"]
    assert Delivery.across_tenants.filter(channel="email").count() == 3


def test_an_escalation_tells_the_next_in_line(alice, dana, alert, subscribe, said, deliveries):
    alert(subscribe(), severity="CRITICAL")
    escalate_due(now=at(1))
    said(at(1))
    assert set(deliveries(level=1)) == {("email", "dana"), ("in_app", "dana")}
    assert inbox_of(dana)[0][1].startswith("Nobody has acknowledged: ")


def test_an_escalation_that_somebody_overtook_tells_nobody(
    in_acme, alice, dana, alert, subscribe, said, deliveries
):
    raised = alert(subscribe(), severity="CRITICAL")
    escalate_due(now=at(1))
    acknowledge(alert=raised, by=alice, now=at(1))
    said(at(1))
    assert deliveries(level=1) == {}


@pytest.fixture
def tells_the_team(acme, alice, said):
    """Alice tells the team about an alert, and everybody is told."""

    def tell(alert, note="", hours=0.2):
        with acting(tenant_id=acme.pk, actor=alice.email):
            record_team_notified(alert=alert, note=note, now=at(hours))
        return said(at(hours))

    return tell


def test_the_team_is_told_what_a_colleague_knows(
    alice, bob, alert, subscribe, deliveries, tells_the_team
):
    raised = alert(subscribe(), subscribe("in_app", user=bob))
    tells_the_team(raised, "Paid twice.")
    told = Notification.across_tenants.filter(kind="team").get()
    assert (told.recipient, told.title) == (bob, "For the team: Cash of c1 is low.")
    assert told.body == "alice@acme.example: Paid twice."
    assert set(deliveries(turn=Delivery.WORDS + 1)) == {("in_app", "bob"), ("email", "bob")}


def test_each_word_is_told_once_and_the_next_one_too(bob, alert, subscribe, tells_the_team):
    raised = alert(subscribe("in_app", user=bob))
    first = tells_the_team(raised, "One.")
    dispatch(first, now=at(0.3))
    tells_the_team(raised, "Two.", hours=0.4)
    bodies = Notification.across_tenants.filter(kind="team").order_by("number")
    assert [row.body.split(": ")[1] for row in bodies] == ["One.", "Two."]


def test_a_word_about_an_alert_that_was_settled_meanwhile_tells_nobody(
    acme, alice, bob, alert, subscribe, said
):
    raised = alert(subscribe("in_app", user=bob))
    with acting(tenant_id=acme.pk, actor=alice.email):
        record_team_notified(alert=raised, now=at(0.1))
        resolve(alert=raised, by=alice, root_cause="x", now=at(0.2))
    said(at(0.3))
    assert not Notification.across_tenants.filter(kind="team").exists()


def test_the_team_prefers_its_own_channels_and_a_word_waits_for_no_digest(
    bob, alert, subscribe, deliveries, prefer, tells_the_team
):
    prefer(bob, low=["email"], digest="daily")
    tells_the_team(alert(subscribe("in_app", user=bob), severity="LOW"), "Look.")
    assert {key: row.state for key, row in deliveries(turn=Delivery.WORDS + 1).items()} == {
        ("email", "bob"): "waiting"
    }


def test_each_is_told_in_their_own_language(alice, bob, alert, subscribe, said):
    alice.language = "ko"
    alice.save()
    facts = {"rule": "threshold", "title": "Hanbit"}
    alert(subscribe("in_app"), subscribe("in_app", user=bob), facts=facts)
    in_korean, in_english = inbox_of(alice)[0][1], inbox_of(bob)[0][1]
    assert in_english == "Cash running low: Hanbit"
    assert in_korean.endswith(": Hanbit")
    assert in_korean != in_english


def test_people_who_share_an_address_are_told_there_once(
    acme, alice, dana, alert, subscribe, endpoint, deliveries
):
    shared = endpoint("webhook")
    own = endpoint("webhook", name="own", user=dana)
    alert(
        subscribe("webhook"),
        subscribe("webhook", role="manager"),
        subscribe("webhook", role="admin"),
    )
    found = deliveries()
    assert set(found) == {("webhook", ""), ("webhook", "dana")}
    assert [found["webhook", ""].endpoint, found["webhook", "dana"].endpoint] == [shared, own]


def test_off_means_off_and_the_inbox_keeps_it(acme, alice, alert, subscribe, deliveries):
    with acting(tenant_id=acme.pk):
        set_muted(user_id=alice.pk, muted=True)
    alert(subscribe(), severity="CRITICAL")
    row = deliveries()["email", "alice"]
    assert (row.state, row.reason) == ("skipped", "off")
    assert len(inbox_of(alice)) == 1


def test_a_muted_subscription_tells_nobody(alice, alert, subscribe):
    alert(subscribe(snoozed_until=at(5)))
    assert Delivery.across_tenants.count() == 0


def test_many_are_told_in_as_many_statements_as_one(
    acme, member_of, subscribe, django_assert_max_num_queries, alert
):
    for number in range(20):
        member_of(acme, f"person{number}", "analyst")
    watching = subscribe("in_app", "email", role="analyst")
    for number in range(15):
        alert(watching, thing=f"c{number}")
    messages = published()
    Delivery.across_tenants.all().delete()
    Notification.across_tenants.all().delete()
    with django_assert_max_num_queries(16):
        dispatch(messages, now=NOON)
    assert Delivery.across_tenants.filter(channel="email").count() == 300


@pytest.mark.django_db(transaction=True)
def test_through_relay_and_bus_it_is_told_once_and_a_sender_is_woken(
    alice, alert, subscribe, redis_client
):
    from apps.events.bus.redis_streams import RedisStreams
    from apps.events.consumer import Consumer
    from apps.events.groups import GROUPS
    from apps.events.relay import Relay

    bus = RedisStreams(redis_client)
    alert(subscribe("in_app", "email"))
    Delivery.across_tenants.all().delete()
    Notification.across_tenants.all().delete()
    woken = redis_client.llen(QUEUE)
    Relay(bus, "relay-1").relay_batch()
    consumer = Consumer(GROUPS["notification_group"], bus, "worker-1")
    for _ in range(3):
        consumer.step()
    assert len(inbox_of(alice)) == 1
    assert Delivery.across_tenants.filter(channel="email", state="waiting").count() == 1
    assert redis_client.llen(QUEUE) == woken + 1


def test_a_word_to_the_team_reaches_the_group_that_tells_people(
    acme, alice, bob, alert, subscribe, deliveries
):
    from apps.events.bus import Entry
    from apps.events.bus.memory import MemoryBus
    from apps.events.delivery import Delivery as Worker
    from apps.events.groups import GROUPS

    raised = alert(subscribe("in_app", user=bob))
    with acting(tenant_id=acme.pk, actor=alice.email):
        record_team_notified(alert=raised, now=at(0.2))
    fields = published()[-1].fields
    raw = {name.encode(): value.encode() for name, value in fields.items()}
    worker = Worker(GROUPS["notification_group"], MemoryBus(), "w1")
    worker.handle([Entry("axiom:events", "2-0", raw)] * 2)
    assert set(deliveries(turn=Delivery.WORDS + 1)) == {("in_app", "bob"), ("email", "bob")}


def test_other_tenants_hear_nothing(charlie, alert, subscribe):
    alert(subscribe(role="admin"))
    assert inbox_of(charlie) == []
