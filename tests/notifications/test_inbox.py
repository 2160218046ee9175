"""What people were told: once each, in order, theirs alone."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from apps.events.context import acting
from apps.notifications.models import Mailbox, Notification
from apps.notifications.services import Notice, notify, purge_notifications


def numbers_of(person):
    return list(
        Notification.across_tenants.filter(recipient=person)
        .order_by("number")
        .values_list("number", flat=True)
    )


def test_each_inbox_counts_for_itself(alice, bob, tell):
    tell(alice, bob)
    tell(alice)
    assert (numbers_of(alice), numbers_of(bob)) == ([1, 2], [1])


def test_the_same_occasion_is_told_once(alice, bob, tell):
    tell(alice, occasion="alert:1")
    assert [row.recipient_id for row in tell(alice, bob, occasion="alert:1")] == [bob.pk]
    assert numbers_of(alice) == [1]


def test_many_are_told_in_as_many_statements_as_one(
    acme, member_of, django_assert_max_num_queries, in_acme
):
    people = [member_of(acme, f"person{n}", "viewer") for n in range(30)]
    notices = [Notice([p.pk for p in people], f"alert:{n}", "alert", "Look") for n in range(20)]
    with django_assert_max_num_queries(6):  # two of them open and close the transaction
        assert len(notify(notices)) == 600


@pytest.mark.django_db(transaction=True)
def test_numbers_become_visible_in_their_order_under_concurrent_writers(acme, alice, bob):
    def write(name):
        with acting(tenant_id=acme.pk):
            for n in range(10):
                people = [alice.pk, bob.pk] if n % 2 else [bob.pk, alice.pk]
                notify([Notice(people, f"{name}:{n}", "alert", "Look")])
        connection.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for each in writers:
        each.start()
    seen = []
    while any(each.is_alive() for each in writers):
        seen.append(numbers_of(alice))
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen)
    assert numbers_of(alice) == numbers_of(bob) == list(range(1, 81))


def test_the_inbox_lists_the_newest_first_and_can_be_read(alice, alice_api, tell):
    tell(alice, title="First")
    tell(alice, title="Second", severity="HIGH")
    listed = alice_api.get("/api/v1/notifications/").json()["results"]
    assert [row["title"] for row in listed] == ["Second", "First"]
    assert alice_api.post("/api/v1/notifications/1/read/").json()["read_at"]
    unread = alice_api.get("/api/v1/notifications/?unread=true").json()["results"]
    assert [row["number"] for row in unread] == [2]
    assert alice_api.get("/api/v1/notifications/unread-count/").json() == {
        "unread": 1,
        "last_number": 2,
    }


def test_reading_all_leaves_what_came_after_the_look(alice, alice_api, tell):
    for _ in range(3):
        tell(alice)
    answer = alice_api.post("/api/v1/notifications/read-all/", {"up_to": 2})
    assert answer.json() == {"read": 2}
    assert alice_api.get("/api/v1/notifications/unread-count/").json()["unread"] == 1


def test_nobody_sees_a_colleagues_inbox(alice, bob_api, charlie_api, tell):
    tell(alice)
    for api in (bob_api, charlie_api):
        assert api.get("/api/v1/notifications/").json()["results"] == []
        assert api.get("/api/v1/notifications/1/").status_code == 404


def test_what_is_older_than_thirty_days_is_forgotten_read_or_not(alice, tell):
    tell(alice)
    (kept,) = tell(alice)
    old = timezone.now() - timezone.timedelta(days=31)
    Notification.across_tenants.exclude(pk=kept.pk).update(created_at=old)
    assert purge_notifications() == 1
    assert numbers_of(alice) == [2]


def test_notifications_are_switched_off_and_on(alice, alice_api):
    assert alice_api.get("/api/v1/notifications/mute/").json() == {"muted": False}
    assert alice_api.put("/api/v1/notifications/mute/", {"muted": True}).json() == {"muted": True}
    assert Mailbox.across_tenants.get(user=alice).muted
