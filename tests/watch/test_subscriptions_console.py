"""Subscriptions in the console: made, changed and refused by the services."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from apps.watch.models import Subscription

pytestmark = pytest.mark.django_db

SUBSCRIPTIONS = "/admin/watch/subscription/"
LOW_CASH = {"type": "threshold", "field": "cash_balance", "operator": "<", "threshold": 1_000_000}


@pytest.fixture
def console(alice):
    alice.is_staff = True
    alice.save()
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def filled(alice):
    """Makes what the form sends."""

    def fill(**given):
        fields = {
            "name": "Low cash", "user": alice.pk, "role": "", "event_types": "CASH_LOW",
            "rule": json.dumps(LOW_CASH), "severity": "HIGH", "channels": ["in_app"],
            "is_active": "on", "mute_from": "", "mute_until": "",
        }  # fmt: skip
        return fields | given

    return fill


@pytest.fixture
def subscription(console, filled):
    console.post(SUBSCRIPTIONS + "add/", filled(), follow=True)
    return Subscription.across_tenants.get()


def errors_of(answer):
    return answer.context["adminform"].form.errors


def test_one_is_made_and_its_maker_remembered(subscription, alice, acme):
    assert (subscription.tenant, subscription.user) == (acme, alice)
    assert subscription.event_types == ["CASH_LOW"]
    assert subscription.rule == LOW_CASH


def test_aliases_and_commas_are_taken(console, filled):
    console.post(SUBSCRIPTIONS + "add/", filled(event_types="case.created, CASH_LOW"))
    kept = Subscription.across_tenants.get().event_types
    assert sorted(kept) == ["CASE_CREATED", "CASH_LOW"]


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"rule": json.dumps({**LOW_CASH, "operator": "~"})}, "rule", "operator"),
        ({"rule": json.dumps({"type": "nonsense"})}, "rule", "type"),
        ({"rule": "{"}, "rule", "JSON"),
        ({"channels": ["pigeon"]}, "channels", "pigeon"),
        ({"name": ""}, "name", "required"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(console, filled, given, field, reason):
    answer = console.post(SUBSCRIPTIONS + "add/", filled(**given))
    assert reason in str(errors_of(answer)[field])
    assert not Subscription.across_tenants.exists()


def test_somebody_of_another_company_cannot_be_chosen(console, filled, charlie):
    answer = console.post(SUBSCRIPTIONS + "add/", filled(user=charlie.pk))
    assert "user" in errors_of(answer)


def test_a_changed_rule_begins_anew(console, filled, subscription):
    rule = {**LOW_CASH, "threshold": 5}
    console.post(f"{SUBSCRIPTIONS}{subscription.pk}/change/", filled(rule=json.dumps(rule)))
    changed = Subscription.across_tenants.get()
    assert changed.rule == rule
    assert changed.revision > subscription.revision
    assert changed.rule_since > subscription.rule_since


def test_a_new_name_leaves_the_rule_alone(console, filled, subscription):
    console.post(f"{SUBSCRIPTIONS}{subscription.pk}/change/", filled(name="Cash"))
    changed = Subscription.across_tenants.get()
    assert (changed.name, changed.revision) == ("Cash", subscription.revision)


def act(console, action, row):
    chosen = {"action": action, "_selected_action": str(row.pk)}
    return console.post(SUBSCRIPTIONS, chosen, follow=True)


def test_pause_and_resume(console, subscription):
    act(console, "pause", subscription)
    assert not Subscription.across_tenants.get().is_active
    act(console, "resume", subscription)
    assert Subscription.across_tenants.get().is_active


def test_one_in_quarantine_may_try_again(console, subscription):
    Subscription.across_tenants.update(quarantined_at=timezone.now(), quarantine_reason="Broke.")
    assert "In quarantine" in console.get(SUBSCRIPTIONS).content.decode()
    answer = act(console, "release", subscription)
    assert "1 subscription changed." in answer.content.decode()
    assert Subscription.across_tenants.get().quarantined_at is None


@pytest.mark.parametrize(
    ("state", "shown"),
    [("in_force", True), ("paused", False), ("quarantined", False), ("snoozed", False)],
)
def test_the_list_is_filtered_by_state(console, subscription, state, shown):
    page = console.get(SUBSCRIPTIONS, {"state": state}).content.decode()
    assert (f"{SUBSCRIPTIONS}{subscription.pk}/" in page) is shown


def test_it_is_deleted_by_the_service(console, subscription):
    console.post(f"{SUBSCRIPTIONS}{subscription.pk}/delete/", {"post": "yes"})
    assert not Subscription.across_tenants.exists()


def test_a_viewer_may_look_and_not_touch(subscription, bob, filled):
    bob.is_staff = True
    bob.save()
    client = Client()
    client.force_login(bob)
    assert client.get(SUBSCRIPTIONS).status_code == 200
    answer = client.post(f"{SUBSCRIPTIONS}{subscription.pk}/change/", filled(name="Mine"))
    assert answer.status_code == 403
    assert Subscription.across_tenants.get().name == "Low cash"
