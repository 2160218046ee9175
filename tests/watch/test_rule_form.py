"""What the form for rules asks of the server: the rule in words, its faults, and its trial."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone, translation

from apps.watch.admin.trials import told
from apps.watch.models import Subscription
from apps.watch.rules import parse
from apps.watch.rules.wording import sentence
from apps.watch.services.try_rule import Outcome

SUBSCRIPTIONS = "/admin/watch/subscription/"
LOW_CASH = {"type": "threshold", "field": "cash_balance", "operator": "<", "threshold": 1_000_000}
SMALL = {"type": "threshold", "field": "threshold", "operator": "==", "threshold": {"field": "x"}}
CREATED, ASSIGNED = {"event_type": "CASE_CREATED"}, {"event_type": "CASE_ASSIGNED"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"type": "always"}, "Alert at every event."),
        (LOW_CASH, "Alert when cash_balance < 1,000,000."),
        ({**LOW_CASH, "operator": "==", "threshold": "KRW"}, "Alert when cash_balance == “KRW”."),
        ({**LOW_CASH, "threshold": True}, "Alert when cash_balance < true."),
        ({**LOW_CASH, "threshold": None}, "Alert when cash_balance < nothing."),
        ({**LOW_CASH, "field": "a.*.b"}, "Alert when for one of them a.*.b < 1,000,000."),
        (
            {"type": "deadline", "days_before": 1},
            "Alert when at most 1 day is left until deadline, or it has passed.",
        ),
        (
            {"type": "all", "conditions": [LOW_CASH, {"type": "any", "conditions": [SMALL, SMALL]}]},
            "Alert when cash_balance < 1,000,000 and (threshold == x or threshold == x).",
        ),
        ({"type": "not", "condition": LOW_CASH}, "Alert when not (cash_balance < 1,000,000)."),
        (
            {"type": "pattern", "min_count": 1, "window_hours": 48},
            "Alert when it happens 1 time within 2 days.",
        ),
        (
            {"type": "pattern", "min_count": 3, "window_hours": 0.5, "where": LOW_CASH,
             "group_by": "case_id"},
            ("Alert when it happens 3 times within 30 minutes, for each case_id by itself, "
            "counting only events where cash_balance < 1,000,000."),
        ),
        (
            {"type": "aggregate", "function": "sum", "field": "amount", "threshold": 5,
             "window_hours": 24},
            "Alert when the sum of amount within 1 day is > 5.",
        ),
        (
            {"type": "sequence", "first": CREATED, "then": {**ASSIGNED, "where": LOW_CASH},
             "within_hours": 2},
            ("Alert when “Case opened” is followed by “Case assigned (where cash_balance < "
            "1,000,000)” within 2 hours, both of the same thing."),
        ),
        (
            {"type": "absence", "first": CREATED, "then": ASSIGNED, "within_hours": 2,
             "group_by": "@actor"},
            ("Alert when “Case opened” is not followed by “Case assigned” within 2 hours, "
            "both with the same @actor."),
        ),
    ],
)  # fmt: skip
def test_every_rule_is_said_in_words(rule, said):
    assert sentence(parse(rule)) == said


def test_in_korean_the_events_are_korean_too():
    with translation.override("ko"):
        said = sentence(
            parse({"type": "sequence", "first": CREATED, "then": ASSIGNED, "within_hours": 48})
        )
    assert "사건" in said
    assert "2일" in said


def asked(console, what, **given):
    return console.post(
        f"{SUBSCRIPTIONS}{what}/", json.dumps(given), content_type="application/json"
    )


@pytest.mark.django_db
def test_the_preview_says_the_rule_or_where_it_is_wrong(console_of, alice):
    console = console_of(alice)
    told = asked(console, "preview", rule=LOW_CASH, event_types=["watch.cash_low"]).json()
    assert told["sentences"]["en"] == "Alert when cash_balance < 1,000,000."
    assert set(told["sentences"]) == {"en", "ko"}
    assert told["events"] == {"CASH_LOW": "Cash running low"}
    told = asked(console, "preview", rule={**LOW_CASH, "field": "a b"}, event_types=[]).json()
    assert [fault["pointer"] for fault in told["errors"]] == ["#/rule/field"]
    told = asked(console, "preview", rule=LOW_CASH, event_types=["NOPE"]).json()
    assert [fault["pointer"] for fault in told["errors"]] == ["#/event_types"]


@pytest.mark.django_db
def test_nonsense_is_an_unfinished_rule_and_no_failure(console_of, alice):
    console = console_of(alice)
    for body in ("", "[]", "{", '{"rule": 3, "days": "x"}'):
        answer = console.post(f"{SUBSCRIPTIONS}preview/", body, content_type="application/json")
        assert answer.status_code == 200
        assert answer.json()["errors"]


@pytest.mark.django_db
def test_a_viewer_reads_and_tries_nothing(console_of, bob):
    console = console_of(bob)
    given = {"rule": LOW_CASH, "event_types": ["CASH_LOW"]}
    assert asked(console, "preview", **given).status_code == 200
    assert asked(console, "try", **given).status_code == 403


@pytest.mark.django_db
def test_others_than_admins_change_their_own_and_nobody_elses(
    console_of, acme, alice, member_of, in_acme
):
    from apps.watch.services import subscribe

    dana = member_of(acme, "dana", "manager")
    owners = {"hers": dana, "theirs": alice}
    rows = {
        name: subscribe(name=name, user=user, rule=LOW_CASH, event_types=["CASH_LOW"])
        for name, user in owners.items()
    }
    fields = {"name": "New", "event_types": "CASH_LOW", "rule": json.dumps(LOW_CASH),
              "severity": "HIGH", "channels": ["in_app"], "is_active": "on"}  # fmt: skip
    console = console_of(dana)
    found = {
        name: console.post(f"{SUBSCRIPTIONS}{row.pk}/change/", fields).status_code
        for name, row in rows.items()
    }
    assert found == {"hers": 302, "theirs": 403}
    chosen = {"action": "pause", "_selected_action": [str(row.pk) for row in rows.values()]}
    console.post(SUBSCRIPTIONS, chosen)
    active = dict(Subscription.across_tenants.values_list("name", "is_active"))
    assert active == {"New": False, "theirs": True}


def outcome(since, until, *moments):
    return Outcome(since, until, 9, len(moments), 1, False, [], list(moments))


@pytest.mark.parametrize(("days", "slots"), [(1, 25), (7, 8)])
def test_the_chart_has_a_column_for_each_hour_or_day(days, slots):
    until = timezone.now().replace(hour=12, minute=30, second=0, microsecond=0)
    since = until - timedelta(days=days)
    chart = told(outcome(since, until, since, until, until), days)["chart"]
    assert len(chart.bars) == slots
    assert [bar.value for bar in chart.bars if bar.height] == ["1", "2"]
    assert chart.most == 2


def test_an_hour_that_comes_twice_has_two_columns():
    import zoneinfo
    from datetime import UTC, datetime

    until = datetime(2026, 10, 25, 6, 0, tzinfo=UTC)
    with timezone.override(zoneinfo.ZoneInfo("Europe/Berlin")):
        found = told(outcome(until - timedelta(days=1), until), 1)
    assert len(found["chart"].bars) == 25
