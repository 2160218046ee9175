"""How fast alerts are answered and how often they are right, by whom and against what."""

import pytest

from apps.watch import selectors
from apps.watch.selectors import By
from apps.watch.services import acknowledge, dismiss, resolve
from axiom import metrics

from .conftest import at

pytestmark = pytest.mark.django_db
SLA = "/api/v1/alerts/sla/"


@pytest.fixture
def figures(acme):
    def look(by=By.ALL, now=None, **given):
        span = {"since": at(-24 * 60), "until": at(24 * 60), "now": now or at(1)}
        return selectors.sla(by=by, **span | {"tenant_ids": [acme.pk]} | given)

    return look


@pytest.fixture
def answered(happens, in_acme, alice):
    """Alerts that were acknowledged after so many minutes and resolved after so many hours."""

    def make(*answers, **given):
        for number, (minutes, hours) in enumerate(answers):
            name = f"{given.get('event_type', '')}{number}{minutes}{hours}"
            alert = happens(0, aggregate_id=name, **given)
            if minutes is not None:
                acknowledge(alert=alert, by=alice, now=at(minutes=minutes))
            if hours is not None:
                resolve(alert=alert, by=alice, root_cause="x", now=at(hours))

    return make


def test_half_and_most_of_the_answers_came_within(answered, figures):
    answered(*[(5 * n, 5 * n) for n in range(1, 21)])
    (row,) = figures(now=at(200))
    assert row.acknowledged.p50_seconds == pytest.approx(52.5 * 60)
    assert row.acknowledged.p95_seconds == pytest.approx(95.25 * 60)
    assert row.resolved.p95_seconds == pytest.approx(95.25 * 3600)
    assert (row.acknowledged.late, row.acknowledged.due) == (17, 20)
    assert (row.resolved.late, row.resolved.due) == (16, 20)


@pytest.mark.parametrize(("minutes", "late"), [(15, 0), (15.01, 1), (None, 1)])
def test_the_promise_is_fifteen_minutes_and_silence_is_late_too(answered, figures, minutes, late):
    answered((minutes, None))
    (row,) = figures(now=at(1))
    assert (row.acknowledged.late, row.acknowledged.due) == (late, 1)
    assert row.acknowledged.burn == pytest.approx(20 * late)


def test_an_answer_that_is_not_due_yet_counts_neither_way(answered, figures):
    answered((None, None))
    (row,) = figures(now=at(minutes=14))
    assert (row.acknowledged.due, row.acknowledged.burn, row.acknowledged.p95_seconds) == (
        0, 0.0, None,
    )  # fmt: skip


def test_exactly_what_is_tolerated_burns_at_one(answered, figures):
    answered(*[(n / 2, None) for n in range(19)], (20, None))
    (row,) = figures(now=at(2))
    assert row.acknowledged.burn == pytest.approx(1.0)


def test_false_positives_are_counted_among_what_was_judged(happens, in_acme, alice, figures):
    for number, wrong in enumerate([True, False, False, False]):
        dismiss(alert=happens(0, aggregate_id=f"c{number}"), by=alice, false_positive=wrong)
    happens(0, aggregate_id="open")
    (row,) = figures()
    assert (row.alerts, row.judged, row.false_positive_share) == (5, 4, 0.25)
    assert row.false_positive_burn == pytest.approx(2.5)


def test_what_was_dismissed_had_nothing_to_resolve(happens, in_acme, alice, figures):
    dismiss(alert=happens(0), by=alice, false_positive=True, now=at(0.1))
    (row,) = figures(now=at(100))
    assert (row.resolved.count, row.resolved.due) == (0, 0)


@pytest.mark.parametrize(("minutes", "late"), [(10, 0), (40, 1)])
def test_what_went_away_by_itself_waited_for_an_answer_until_then(
    happens, in_acme, figures, minutes, late
):
    resolve(alert=happens(0), by=None, root_cause="Gone.", now=at(minutes=minutes))
    (row,) = figures(now=at(5))
    assert (row.acknowledged.count, row.acknowledged.late, row.acknowledged.due) == (0, late, late)
    assert (row.resolved.count, row.resolved.late) == (1, 0)


def test_a_recurrence_keeps_the_first_acknowledgement_and_waits_for_the_last_resolution(
    happens, in_acme, alice, figures
):
    resolve(alert=happens(0), by=alice, root_cause="x", now=at(minutes=10))
    resolve(alert=happens(1), by=alice, root_cause="x", now=at(5))
    (row,) = figures(now=at(6))
    assert (row.acknowledged.p50_seconds, row.resolved.p50_seconds) == (600, 5 * 3600)


def test_by_month_of_the_tenants_own_calendar(happens, figures):
    happens(24 * 27 + 11, aggregate_id="a")  # 31 March, 23:00 UTC
    happens(24 * 27 + 13, aggregate_id="b")  # 1 April, 01:00 UTC
    assert [(r.key, r.alerts) for r in figures(By.MONTH)] == [("2026-03", 1), ("2026-04", 1)]
    assert [r.key for r in figures(By.MONTH, zone="Asia/Seoul")] == ["2026-04"]


def test_by_team_rule_and_severity(happens, subscribe, case, figures, dana):
    other = subscribe(name="Other rule")
    happens(0, case_id=case.pk, aggregate_id="a")
    happens(0, aggregate_id="b", subscription_id=other.pk, severity="LOW")
    happens(0, aggregate_id="c", subscription_id=None, severity="LOW")
    assert {r.label: r.alerts for r in figures(By.TEAM)} == {"Dana": 1, "Nobody's": 2}
    assert {r.label: r.alerts for r in figures(By.RULE)} == {
        "Cash": 1, "Other rule": 1, "Nobody's": 1,
    }  # fmt: skip
    assert {r.key: r.alerts for r in figures(By.SEVERITY)} == {"HIGH": 1, "LOW": 2}


def test_by_tenant_for_who_looks_at_all(happens, rival, figures):
    happens(0)
    happens(0, tenant_id=rival.pk, subscription_id=None)
    assert {r.label for r in figures(By.TENANT, tenant_ids=None)} == {"Acme", "Rival"}
    assert [r.label for r in figures(By.TENANT)] == ["Acme"]


def test_the_api_tells_the_tenants_own(happens, rival, alice_api, charlie_api):
    from django.utils import timezone

    happens(0, occurred_at=timezone.now(), now=timezone.now())
    told = alice_api.get(SLA, {"by": "rule"}).json()
    assert told["targets"]["acknowledge_seconds"] == 900
    assert [(row["label"], row["alerts"]) for row in told["results"]] == [("Cash", 1)]
    assert charlie_api.get(SLA).json()["results"] == []


def test_one_team_or_one_rule_month_by_month(happens, subscribe, case, dana, figures):
    other = subscribe(name="Other rule")
    happens(0, case_id=case.pk, aggregate_id="a")
    happens(24 * 30, case_id=case.pk, aggregate_id="b")
    happens(0, aggregate_id="c", subscription_id=other.pk)
    of_team = figures(By.MONTH, team=dana.pk)
    assert [(r.key, r.alerts) for r in of_team] == [("2026-03", 1), ("2026-04", 1)]
    assert [(r.key, r.alerts) for r in figures(By.MONTH, rule=other.pk)] == [("2026-03", 1)]
    assert figures(By.MONTH, rule=other.pk, team=dana.pk) == []


def test_the_api_tells_of_one_rule_too(happens, subscribe, alice_api, charlie_api):
    from django.utils import timezone

    now, other = timezone.now(), subscribe(name="Other rule")
    happens(0, occurred_at=now, now=now)
    happens(0, occurred_at=now, now=now, aggregate_id="o", subscription_id=other.pk)
    told = alice_api.get(SLA, {"rule": str(other.pk), "by": "all"}).json()
    assert [row["alerts"] for row in told["results"]] == [1]
    assert charlie_api.get(SLA, {"rule": str(other.pk)}).json()["results"] == []
    assert alice_api.get(SLA, {"team": "x"}).status_code == 400


@pytest.mark.parametrize(
    "query", [{"by": "tenant"}, {"by": "moon"}, {"since": "2026-03-05", "until": "2026-03-04"}]
)
def test_a_question_that_makes_no_sense_is_refused(alice_api, query):
    assert alice_api.get(SLA, query).status_code == 400


def test_the_metrics_tell_it_too(happens, in_acme, alice, django_capture_on_commit_callbacks):
    from django.utils import timezone

    now = timezone.now()
    with django_capture_on_commit_callbacks(execute=True):
        alert = happens(0, occurred_at=now, now=now, severity="CRITICAL")
        acknowledge(alert=alert, by=alice)
    text = metrics.scrape().decode()
    assert 'axiom_alerts_open{severity="CRITICAL",status="acknowledged"} 1.0' in text
    assert 'axiom_alert_sla_burn{target="acknowledge",tenant="acme"} 0.0' in text
    assert 'axiom_alert_ack_seconds_count{severity="CRITICAL"}' in text
    answered = 'axiom_alert_answer_seconds{quantile="0.5",target="acknowledge",tenant="acme"}'
    assert answered in text
    assert 'axiom_alert_false_positive_share{tenant="acme"} 0.0' in text


def test_the_metrics_tell_how_many_teams_and_rules_break_a_promise(
    happens, in_acme, alice, case, subscribe
):
    """One rule and one team are never wrong, the other rule always is."""
    from django.utils import timezone

    now, wrong = timezone.now(), subscribe(name="Wrong")
    good = happens(0, occurred_at=now, now=now, case_id=case.pk)
    bad = happens(0, occurred_at=now, now=now, aggregate_id="w", subscription_id=wrong.pk)
    dismiss(alert=good, by=alice, false_positive=False)
    dismiss(alert=bad, by=alice, false_positive=True)
    text = metrics.scrape().decode()
    broken = 'axiom_alert_sla_broken{by=%s,target=%s,tenant="acme"} %s'
    assert broken % ('"rule"', '"false_positives"', "1.0") in text
    assert broken % ('"team"', '"false_positives"', "0.0") in text
    assert broken % ('"rule"', '"acknowledge"', "0.0") in text
