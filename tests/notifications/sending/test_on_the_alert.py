"""Deliveries on the page of the alert they are about, and sent again from there."""

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed(alert, subscribe, deliveries):
    """An email to Alice that did not go out."""
    raised = alert(subscribe("email", "in_app"))
    row = deliveries(alert_id=raised.pk)["email", "alice"]
    row.state, row.reason, row.settled_at = "failed", "refused", timezone.now()
    row.save()
    return row


def page(console, row):
    return console.get(f"/admin/watch/alert/{row.alert_id}/change/").content.decode()


def again(console, row, **given):
    return console.post(f"/admin/notifications/delivery/{row.pk}/resend/", given)


def test_the_page_of_an_alert_shows_how_it_was_delivered(failed, alice, console_of):
    text = page(console_of(alice), failed)
    assert "The other side refused it." in text
    assert text.count("data-delivery=") == 2
    assert text.count("/resend/") == 1  # what is in the inbox already is there


def test_others_than_admins_see_their_own(failed, dana, console_of):
    text = page(console_of(dana), failed)
    assert "data-delivery=" not in text
    assert "Those to you." in text
    assert again(console_of(dana), failed).status_code == 404


def test_it_is_sent_again_and_one_is_back_where_one_was(failed, alice, console_of):
    there = f"/admin/watch/alert/{failed.alert_id}/change/"
    assert again(console_of(alice), failed, next=there).url == there
    failed.refresh_from_db()
    assert failed.state == "waiting"
    assert LogEntry.objects.get(object_id=str(failed.pk)).change_message == "Sent again"


def test_one_is_not_led_elsewhere(failed, alice, console_of):
    answer = again(console_of(alice), failed, next="https://evil.example/")
    assert answer.url.startswith("/admin/notifications/delivery/")


def test_what_did_not_fail_is_left_alone_and_a_look_sends_nothing(failed, alice, console_of):
    console = console_of(alice)
    again(console, failed)
    again(console, failed)
    assert failed.tries.filter(outcome="asked").count() == 1
    assert console.get(f"/admin/notifications/delivery/{failed.pk}/resend/").status_code == 405


def test_a_viewer_sends_nothing(failed, bob, console_of):
    failed.recipient = bob
    failed.save()
    console = console_of(bob)
    text = page(console, failed)
    assert "data-delivery=" in text
    assert "/resend/" not in text
    assert again(console, failed).status_code == 403


def test_who_looks_at_all_tenants_sees_the_alert_and_its_deliveries(
    failed, console_of, django_user_model
):
    root = django_user_model.objects.create_superuser("root@axiom.example", "x", name="Root")
    console = console_of(root)
    console.post("/admin/tenant/", {"tenant": "all"})
    text = page(console, failed)
    assert "The other side refused it." in text
    assert "/resend/" not in text
