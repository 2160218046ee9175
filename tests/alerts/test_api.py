"""Alerts in the API: found, understood, acted on by those who may, and refused in words."""

import pytest

from apps.watch.models import EscalationStep
from apps.watch.services import dismiss, escalate_due

from .conftest import at

pytestmark = pytest.mark.django_db
ALERTS = "/api/v1/alerts/"
STEPS = "/api/v1/escalation-steps/"


@pytest.fixture
def alert(happens):
    return happens(0, severity="CRITICAL")


def names(answer):
    return [row["aggregate_id"] for row in answer.json()["results"]]


def test_alerts_are_listed_newest_first_and_found_by_what_they_are(happens, alice_api):
    happens(0, aggregate_id="old", severity="CRITICAL")
    happens(1, aggregate_id="new", severity="LOW", event_type="PAYMENT_DUE")
    assert names(alice_api.get(ALERTS)) == ["new", "old"]
    assert names(alice_api.get(ALERTS, {"ordering": "-severity"})) == ["old", "new"]
    for query, found in {
        "severity=CRITICAL": ["old"],
        "severity=CRITICAL&severity=LOW": ["new", "old"],
        "event_type=PAYMENT_DUE": ["new"],
        "event_type=NO_SUCH": [],
        "status=resolved": [],
        "aggregate_id=old": ["old"],
        "flapping=true": [],
        "flapping=false": ["new", "old"],
        "since=2026-03-04T12:30:00Z": ["new"],
        "until=2026-03-04T12:30:00Z": ["old"],
    }.items():
        assert names(alice_api.get(f"{ALERTS}?{query}")) == found, query


def test_alerts_are_found_by_who_watches(happens, subscribe, alice_api):
    other = subscribe(name="Other")
    happens(0)
    happens(0, aggregate_id="watched", subscription_id=other.pk)
    assert names(alice_api.get(ALERTS, {"subscription_id": str(other.pk)})) == ["watched"]


def test_an_alert_says_what_happens_next_and_when(alert, alice_api):
    told = alice_api.get(f"{ALERTS}{alert.pk}/").json()
    assert told["escalates_at"] == "2026-03-04T13:00:00Z"
    assert [(s["level"], s["state"], s["due_at"], s["audience"]) for s in told["escalation"]] == [
        (1, "waiting", "2026-03-04T13:00:00Z", "case_manager"),
        (2, "planned", "2026-03-04T15:00:00Z", "admin"),
    ]
    escalate_due(now=at(1.5))
    told = alice_api.get(f"{ALERTS}{alert.pk}/").json()
    assert [(s["level"], s["state"]) for s in told["escalation"]] == [(1, "sent"), (2, "waiting")]
    assert told["escalates_at"] == "2026-03-04T15:30:00Z"


def test_the_loop_is_closed_through_the_api(alert, alice_api, alice):
    def post(what, **given):
        return alice_api.post(f"{ALERTS}{alert.pk}/{what}/", given)

    told = post("acknowledge", note="Mine.").json()
    assert (told["status"], told["acknowledged_by_id"]) == ("acknowledged", str(alice.pk))
    assert told["escalates_at"] is None
    assert post("root-cause", root_cause="Paid twice.").json()["root_cause"] == "Paid twice."
    assert post("team-notified", note="By phone.").json()["team_notified_at"]
    assert post("actions", action="Asked for it back.").status_code == 200
    assert post("resolve").json()["status"] == "resolved"
    history = alice_api.get(f"{ALERTS}{alert.pk}/history/").json()["results"]
    assert [(entry["kind"], entry["actor"]) for entry in history[1:]] == [
        (kind, alice.email)
        for kind in ("acknowledged", "root_cause", "team_notified", "action", "resolved")
    ]


def test_the_team_is_told_through_the_api_and_strangers_are_refused(
    alert, alice_api, bob, charlie, said
):
    path = f"{ALERTS}{alert.pk}/team-notified/"
    told = alice_api.post(path, {"note": "Look.", "recipient_ids": [str(bob.pk)]})
    assert told.json()["team_notified_at"]
    assert said("ALERT_TEAM_NOTIFIED")[0]["recipient_ids"] == [str(bob.pk)]
    refused = alice_api.post(path, {"recipient_ids": [str(charlie.pk)]})
    assert (refused.status_code, refused.json()["code"]) == (400, "not_a_colleague")


def test_what_made_an_alert_is_told(happens, alice_api):
    happens(0)
    alert = happens(1)
    events = alice_api.get(f"{ALERTS}{alert.pk}/events/").json()["results"]
    assert [event["facts"]["seen"] for event in events] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("first", "then", "status", "code"),
    [
        (("acknowledge", {}), ("acknowledge", {}), 409, "alert_already_acknowledged"),
        (("dismiss", {"false_positive": True}), ("resolve", {}), 409, "alert_settled"),
        (("acknowledge", {}), ("resolve", {}), 409, "root_cause_missing"),
        (("acknowledge", {}), ("dismiss", {}), 400, "invalid"),
    ],
)
def test_what_cannot_be_is_refused_in_words(alert, alice_api, first, then, status, code):
    for what, given in (first, then):
        answer = alice_api.post(f"{ALERTS}{alert.pk}/{what}/", given)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    "what", ["acknowledge", "dismiss", "resolve", "root-cause", "team-notified", "actions"]
)
def test_viewers_look_and_do_not_touch(alert, bob_api, what):
    assert bob_api.get(f"{ALERTS}{alert.pk}/").status_code == 200
    assert bob_api.post(f"{ALERTS}{alert.pk}/{what}/", {}).status_code == 403
    assert bob_api.post(f"{ALERTS}bulk/", {}).status_code == 403


def test_many_at_once_with_a_reason_for_each_refusal(happens, alice, in_acme, alice_api):
    alerts = [happens(aggregate_id=f"c{n}") for n in range(3)]
    dismiss(alert=alerts[1], by=alice, false_positive=False)
    answer = alice_api.post(
        f"{ALERTS}bulk/",
        {"action": "resolve", "root_cause": "x", "ids": [str(a.pk) for a in alerts]},
    )
    told = answer.json()
    assert told["done"] == [str(alerts[0].pk), str(alerts[2].pk)]
    assert [(r["id"], r["code"]) for r in told["refused"]] == [(str(alerts[1].pk), "alert_settled")]


def test_many_need_a_verdict_too(alert, alice_api):
    answer = alice_api.post(f"{ALERTS}bulk/", {"action": "dismiss", "ids": [str(alert.pk)]})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/false_positive"


def test_admins_set_the_tenants_own_steps(alice_api, bob_api, happens):
    step = {"severity": "HIGH", "level": 1, "after_minutes": 10, "audience": "admin",
            "channels": ["sms"]}  # fmt: skip
    made = alice_api.post(STEPS, step)
    assert (made.status_code, bob_api.post(STEPS, step).status_code) == (201, 403)
    assert alice_api.post(STEPS, step).status_code == 400
    assert happens(0, severity="HIGH").escalations.model.across_tenants.count() == 1
    path = f"{STEPS}{made.json()['id']}/"
    changed = alice_api.patch(path, {"after_minutes": 5}, headers={"If-Match": made["ETag"]})
    assert changed.json()["after_minutes"] == 5
    assert alice_api.delete(path, headers={"If-Match": "*"}).status_code == 204
    assert not EscalationStep.across_tenants.exists()


@pytest.mark.parametrize(
    "wrong",
    [{"level": 0}, {"after_minutes": 0}, {"channels": ["pigeon"]}, {"audience": "nobody"}],
)
def test_a_step_that_makes_no_sense_is_refused(alice_api, wrong):
    step = {"severity": "HIGH", "level": 1, "after_minutes": 10, "audience": "admin",
            "channels": ["sms"]}  # fmt: skip
    assert alice_api.post(STEPS, step | wrong).status_code == 400


def test_an_alert_is_told_in_the_readers_language(happens, alice, alice_api):
    facts = {"rule": "pattern", "value": 3, "window_hours": 2}
    alert = happens(0, facts=facts, message="as it was written")
    english = alice_api.get(f"{ALERTS}{alert.pk}/").json()["message"]
    assert english == "Cash running low: 3 times within 2 hours"
    alice.language = "ko"
    alice.save()
    korean = alice_api.get(f"{ALERTS}{alert.pk}/").json()["message"]
    assert korean not in (english, "as it was written")


@pytest.mark.parametrize("facts", [{}, {"rule": "system"}, {"rule": "pattern"}])
def test_facts_that_make_no_sentence_leave_the_written_one(happens, alice_api, facts):
    alert = happens(0, facts=facts, message="as it was written")
    assert alice_api.get(f"{ALERTS}{alert.pk}/").json()["message"] == "as it was written"
