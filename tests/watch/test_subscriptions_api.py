"""Subscriptions for programs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.cases.events import PaymentDue
from apps.events.context import acting
from apps.events.outbox import publish
from apps.watch.models import Subscription

pytestmark = pytest.mark.django_db

PATH = "/api/v1/subscriptions/"
LARGE = {"type": "threshold", "field": "amount", "operator": ">", "threshold": 1000}
MINE = {"name": "Large payments", "event_types": ["watch.payment_due"], "rule": LARGE}


@pytest.fixture
def carol_api(acme, member_of, api_of):
    """May act: an attorney of Acme."""
    return api_of(member_of(acme, "carol", "attorney"))


def made(api, **changes):
    response = api.post(PATH, {**MINE, **changes}, format="json")
    assert response.status_code == 201, response.json()
    return response.json()


def test_a_subscription_is_made_for_oneself_under_the_types_own_names(alice_api, alice):
    shown = made(alice_api)
    assert (shown["user_id"], shown["event_types"]) == (str(alice.pk), ["PAYMENT_DUE"])
    assert (shown["severity"], shown["channels"]) == ("MEDIUM", ["in_app"])


def test_a_sequence_names_its_own_types(alice_api):
    rule = {
        "type": "absence", "within_hours": 2,
        "first": {"event_type": "case.created"}, "then": {"event_type": "case.assigned"},
    }  # fmt: skip
    shown = made(alice_api, rule=rule, event_types=[])
    assert shown["event_types"] == ["CASE_ASSIGNED", "CASE_CREATED"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"event_types": ["NOPE"]}, "not_watchable"),
        ({"event_types": ["CHAT_MESSAGE_SENT"]}, "not_watchable"),
        ({"event_types": []}, "nothing_to_watch"),
        ({"rule": {"type": "magic"}}, "rule_refused"),
        ({"mute_from": "22:00"}, "invalid"),
        ({"channels": ["pigeon"]}, "invalid"),
        ({"role": "manager", "user_id": "018f2d1c-0000-7000-8000-0000000000a1"}, "not_a_colleague"),
    ],
)
def test_what_makes_no_sense_is_refused(alice_api, changes, code):
    response = alice_api.post(PATH, {**MINE, **changes}, format="json")
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_a_bad_rule_is_refused_with_the_path_and_the_reason(alice_api):
    rule = {"type": "any", "conditions": [LARGE, {**LARGE, "operator": "=>"}]}
    told = alice_api.post(PATH, {**MINE, "rule": rule}, format="json").json()
    (fault,) = told["errors"]
    assert fault["pointer"] == "#/rule/conditions/1/operator"
    assert "It has to be" in fault["detail"]


def test_one_sees_ones_own_and_those_of_ones_role(alice_api, carol_api):
    made(alice_api)
    made(alice_api, name="For attorneys", role="attorney")
    made(carol_api, name="Mine")
    names = [row["name"] for row in carol_api.get(PATH, {"ordering": "name"}).json()["results"]]
    assert names == ["For attorneys", "Mine"]
    assert len(alice_api.get(PATH).json()["results"]) == 3


def test_only_admins_subscribe_others(carol_api, alice):
    for other in ({"role": "manager"}, {"user_id": str(alice.pk)}):
        response = carol_api.post(PATH, {**MINE, **other}, format="json")
        assert (response.status_code, response.json()["code"]) == (403, "not_yours")


def test_what_is_everybodys_in_a_role_only_admins_change(alice_api, carol_api):
    one = f"{PATH}{made(alice_api, role='attorney')['id']}/"
    for answer in (
        carol_api.patch(one, {"name": "x"}, format="json", HTTP_IF_MATCH="*"),
        carol_api.delete(one, HTTP_IF_MATCH="*"),
        carol_api.post(f"{one}snooze/", {"until": timezone.now()}, format="json"),
    ):
        assert answer.json()["code"] == "not_yours"
    assert alice_api.delete(one, HTTP_IF_MATCH="*").status_code == 204


def test_viewers_only_look(bob_api):
    assert bob_api.post(PATH, MINE, format="json").status_code == 403
    assert bob_api.get(PATH).status_code == 200


def test_a_changed_rule_begins_anew_and_a_changed_name_does_not(alice_api):
    shown = made(alice_api)
    one = f"{PATH}{shown['id']}/"
    renamed = alice_api.patch(one, {"name": "New"}, format="json", HTTP_IF_MATCH="*").json()
    assert (renamed["name"], renamed["rule_since"]) == ("New", shown["rule_since"])
    rule = {**LARGE, "threshold": 5}
    changed = alice_api.patch(one, {"rule": rule}, format="json", HTTP_IF_MATCH="*").json()
    assert changed["rule_since"] > shown["rule_since"]
    assert Subscription.across_tenants.get().revision == 2


def test_a_snooze_has_an_end_in_the_next_thirty_days(alice_api):
    one = f"{PATH}{made(alice_api)['id']}/"
    now = timezone.now()
    assert alice_api.post(f"{one}snooze/", {}, format="json").status_code == 400
    for days in (-1, 31):
        until = {"until": now + timedelta(days=days)}
        assert alice_api.post(f"{one}snooze/", until, format="json").json()["code"] == "snooze_end"
    until = {"until": now + timedelta(hours=2)}
    assert alice_api.post(f"{one}snooze/", until, format="json").json()["snoozed_until"]
    assert alice_api.post(f"{one}wake/").json()["snoozed_until"] is None


def test_it_is_found_by_an_alias(alice_api):
    made(alice_api)
    made(alice_api, event_types=["CASH_LOW"])
    found = alice_api.get(PATH, {"event_type": "watch.payment_due"}).json()["results"]
    assert [row["event_types"] for row in found] == [["PAYMENT_DUE"]]


def test_the_language_of_rules_is_published(bob_api):
    schema = bob_api.get(f"{PATH}rule-schema/").json()
    assert schema["$schema"].endswith("2020-12/schema")
    assert {"Threshold", "Pattern", "Absence"} <= set(schema["$defs"])


@pytest.fixture
def paid(acme):
    """Publishes payments that are due."""

    def publish_payments(*amounts):
        with acting(tenant_id=acme.pk):
            return [publish(_payment(amount)) for amount in amounts]

    return publish_payments


def _payment(amount):
    from apps.events.ids import uuid7

    return PaymentDue(**{**PaymentDue.example, "payment_id": uuid7(), "amount": amount})


def test_a_rule_is_tried_on_what_is_stored(alice_api, charlie_api, paid):
    ids = paid(500, 5000, 7000)
    tried = {"rule": LARGE, "event_types": ["payment_due", "PAYMENT_DUE"][1:], "days": 7}
    told = alice_api.post(f"{PATH}try/", tried, format="json").json()
    assert (told["events"], told["matches"], told["alerts"]) == (3, 2, 2)
    assert [row["event_id"] for row in told["found"]] == [str(ids[1]), str(ids[2])]
    assert told["truncated"] is False
    assert "5,000" in told["found"][0]["message"]
    assert charlie_api.post(f"{PATH}try/", tried, format="json").json()["events"] == 0
    assert Subscription.across_tenants.count() == 0


def test_a_pattern_is_tried_too_and_folds(alice_api, paid):
    paid(1, 2, 3, 4)
    rule = {"type": "pattern", "min_count": 2, "window_hours": 1, "group_by": "case_id"}
    tried = {"rule": rule, "event_types": ["PAYMENT_DUE"]}
    told = alice_api.post(f"{PATH}try/", tried, format="json").json()
    assert (told["events"], told["matches"], told["alerts"]) == (4, 1, 1)


def test_a_trial_is_bounded(acme, paid):
    from apps.watch.services import try_rule

    paid(*range(5000, 5010))
    outcome = try_rule(
        tenant_id=acme.pk, rule=LARGE, event_types=["PAYMENT_DUE"], days=1, now=timezone.now(),
        most=4,
    )  # fmt: skip
    assert (outcome.events, outcome.matches, outcome.truncated) == (4, 4, True)


def test_it_is_explained_why_not_with_the_actual_value(alice_api, charlie_api, paid):
    (event_id,) = paid(500)
    asked = {"event_id": str(event_id), "rule": LARGE}
    told = alice_api.post(f"{PATH}explain/", asked, format="json").json()
    assert told["fires"] is False
    assert told["tree"]["why"] == "amount is 500.0, and that is not > 1000."
    assert told["tree"]["values"]["value"] == 500
    refused = charlie_api.post(f"{PATH}explain/", asked, format="json").json()
    assert refused["code"] == "event_not_stored"


def test_a_saved_subscription_is_explained_too(alice_api, paid):
    (event_id,) = paid(5000)
    one = f"{PATH}{made(alice_api)['id']}/explain/"
    assert alice_api.post(one, {"event_id": str(event_id)}, format="json").json()["fires"] is True


@pytest.mark.parametrize(
    ("rule", "fires"),
    [
        ({"type": "pattern", "min_count": 2}, [False, True, False]),
        ({"type": "pattern", "min_count": 3}, [False, False, True]),
        ({"type": "pattern", "min_count": 2, "where": LARGE}, [False, False, True]),
        (
            {"type": "aggregate", "function": "sum", "field": "amount", "threshold": 10_000},
            [False, False, True],
        ),
        (
            {
                "type": "absence", "within_hours": 1,
                "first": {"event_type": "PAYMENT_DUE"}, "then": {"event_type": "CASH_LOW"},
            },
            [True, True, True],
        ),
    ],
)  # fmt: skip
def test_windows_are_explained_from_what_is_stored(alice_api, paid, rule, fires):
    ids = paid(500, 5000, 7000)
    asked = [{"event_id": str(each), "rule": rule} for each in ids]
    told = [alice_api.post(f"{PATH}explain/", each, format="json").json() for each in asked]
    assert [each["fires"] for each in told] == fires
