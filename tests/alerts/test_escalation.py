"""Nobody acknowledges: the case's manager is told, then the admins, each exactly once."""

from datetime import timedelta

import pytest

from apps.cases import services as cases
from apps.watch.models import Escalation, EscalationStep
from apps.watch.services import acknowledge, dismiss, escalate_due, raise_alerts, resolve

from .conftest import at

pytestmark = pytest.mark.django_db


@pytest.fixture
def critical(happens, case):
    return happens(0, severity="CRITICAL", case_id=case.pk)


def levels():
    rows = Escalation.across_tenants.order_by("alert", "level")
    return [(each.level, each.state, each.due_at) for each in rows]


def test_only_what_is_critical_is_put_on_the_clock(happens):
    for name in ("LOW", "MEDIUM", "HIGH", "CRITICAL"):
        happens(0, severity=name, aggregate_id=name)
    assert levels() == [(1, "waiting", at(1))]


def test_the_manager_first_and_two_hours_later_the_admins(critical, alice, dana, said, kinds):
    assert escalate_due(now=at(1) - timedelta(microseconds=1)) == 0
    assert escalate_due(now=at(1)) == 1
    assert escalate_due(now=at(2.9)) == 0
    assert escalate_due(now=at(3)) == 1
    assert escalate_due(now=at(99)) == 0
    first, second = said("ALERT_ESCALATED")
    assert (first["level"], first["recipient_ids"], first["channels"]) == (
        1, [str(dana.pk)], ["email", "in_app"],
    )  # fmt: skip
    assert (second["level"], second["recipient_ids"], second["channels"]) == (
        2, [str(alice.pk)], ["email", "slack"],
    )  # fmt: skip
    assert kinds(critical) == ["raised", "escalated", "escalated"]


def test_a_late_scan_gives_the_manager_their_two_hours_all_the_same(critical, said):
    escalate_due(now=at(10))
    assert levels() == [(1, "sent", at(1)), (2, "waiting", at(12))]


@pytest.mark.parametrize(
    "settle",
    [
        lambda alert, by: acknowledge(alert=alert, by=by, now=at(0.9)),
        lambda alert, by: dismiss(alert=alert, by=by, false_positive=True, now=at(0.9)),
        lambda alert, by: resolve(alert=alert, by=by, root_cause="x", now=at(0.9)),
    ],
)
def test_whoever_looks_in_time_calls_it_off(critical, alice, settle, said):
    settle(critical, alice)
    assert escalate_due(now=at(5)) == 0
    assert levels() == [(1, "cancelled", at(1))]
    assert said("ALERT_ESCALATED") == []


def test_acknowledged_after_the_first_level_the_second_is_called_off(critical, alice, said):
    escalate_due(now=at(1))
    acknowledge(alert=critical, by=alice, now=at(2))
    assert escalate_due(now=at(9)) == 0
    assert len(said("ALERT_ESCALATED")) == 1


def test_an_alert_that_becomes_critical_is_on_the_clock_from_then(happens, case):
    happens(0, severity="MEDIUM", case_id=case.pk)
    happens(2, severity="CRITICAL", case_id=case.pk)
    assert levels() == [(1, "waiting", at(3))]


def test_an_alert_that_is_raised_late_gives_people_their_hour(happens):
    happens(0, severity="CRITICAL", now=at(5))
    assert levels() == [(1, "waiting", at(6))]


def test_what_comes_back_is_on_the_clock_again(happens, critical, alice, case):
    resolve(alert=critical, by=alice, root_cause="x", now=at(0.5))
    happens(2, severity="CRITICAL", case_id=case.pk)
    assert levels() == [(1, "waiting", at(3))]


def test_what_comes_back_goes_on_where_it_was_and_tells_nobody_twice(
    happens, critical, alice, case, said
):
    escalate_due(now=at(1))
    resolve(alert=critical, by=alice, root_cause="x", now=at(2))
    happens(4, severity="CRITICAL", case_id=case.pk)
    assert levels() == [(1, "sent", at(1)), (2, "waiting", at(6))]
    escalate_due(now=at(6))
    assert [told["level"] for told in said("ALERT_ESCALATED")] == [1, 2]


def test_without_a_manager_the_managers_are_told(happens, dana, said):
    happens(0, severity="CRITICAL")
    escalate_due(now=at(1))
    assert said("ALERT_ESCALATED")[0]["recipient_ids"] == [str(dana.pk)]


def test_a_manager_who_left_is_no_longer_told_but_the_admins_are(critical, dana, alice, said):
    dana.is_active = False
    dana.save()
    escalate_due(now=at(1))
    assert said("ALERT_ESCALATED")[0]["recipient_ids"] == [str(alice.pk)]


def test_the_manager_of_the_moment_is_told(critical, case, member_of, acme, said):
    erin = member_of(acme, "erin", "attorney")
    cases.assign(case=case, manager_id=erin.pk)
    escalate_due(now=at(1))
    assert said("ALERT_ESCALATED")[0]["recipient_ids"] == [str(erin.pk)]


def test_a_tenants_own_steps_take_the_place_of_the_installations(happens, acme, rival, said):
    EscalationStep.across_tenants.create(
        tenant=acme, severity="HIGH", level=1, after_minutes=5, audience="admin", channels=["sms"]
    )
    happens(0, severity="HIGH")
    happens(0, severity="HIGH", tenant_id=rival.pk, subscription_id=None, aggregate_id="r")
    assert levels() == [(1, "waiting", at(minutes=5))]
    escalate_due(now=at(1))
    assert said("ALERT_ESCALATED")[0]["channels"] == ["sms"]


def test_an_inactive_step_ends_the_escalation_before_it(happens, acme, said):
    for level, active in ((1, True), (2, False), (3, True)):
        EscalationStep.across_tenants.create(
            tenant=acme, severity="CRITICAL", level=level, after_minutes=5,
            audience="admin", channels=["email"], is_active=active,
        )  # fmt: skip
    happens(0, severity="CRITICAL")
    escalate_due(now=at(1))
    assert escalate_due(now=at(9)) == 0
    assert len(said("ALERT_ESCALATED")) == 1


def test_one_that_fails_stops_no_other_and_is_tried_again(match, said):
    raise_alerts([match(0, severity="CRITICAL", aggregate_id=f"c{n}") for n in range(5)], now=at(0))
    row = Escalation.across_tenants.order_by("id")[2]
    Escalation.across_tenants.filter(pk=row.pk).update(audience="nobody known")
    assert escalate_due(now=at(1)) == 4
    assert len(said("ALERT_ESCALATED")) == 4
    Escalation.across_tenants.filter(pk=row.pk).update(audience="admin")
    assert escalate_due(now=at(1.1)) == 1


def test_many_are_due_and_each_is_told_once(match, said):
    due = [match(0, severity="CRITICAL", aggregate_id=f"c{n}") for n in range(120)]
    raise_alerts(due, now=at(0))
    assert escalate_due(now=at(1)) == 120
    assert len({told["alert_id"] for told in said("ALERT_ESCALATED")}) == 120
