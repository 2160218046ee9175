"""Matches become alerts: one per aggregate and 24 hours, whatever the order they come in."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.events.ids import uuid7
from apps.events.models import OutboxEvent
from apps.watch.matches import Match
from apps.watch.models import Alert, AlertEvent, AlertHistory, AlertWatcher
from apps.watch.services import acknowledge, dismiss, raise_alerts, resolve
from apps.watch.services.fold import fold, idempotency_key
from apps.watch.severity import Severity

from .conftest import at

pytestmark = pytest.mark.django_db


def watchers(alert):
    return list(AlertWatcher.across_tenants.filter(alert=alert))


def test_a_match_becomes_an_alert_that_says_so(happens, acme, watcher, said, kinds):
    alert = happens()
    assert (alert.status, alert.severity, alert.count) == ("unread", "HIGH", 1)
    assert (alert.detected_at, alert.last_seen_at, alert.tenant_id) == (at(), at(), acme.pk)
    assert alert.idempotency_key == idempotency_key(acme.pk, "CASH_LOW", "c1", at())
    (told,) = said()
    assert told["alert_id"] == str(alert.pk)
    assert told["subscription_id"] == str(watcher.pk)
    assert told["event_id"] == str(alert.event_id)
    assert kinds(alert) == ["raised"]


def test_what_happens_again_is_counted_and_not_told_again(happens, said, kinds):
    happens(0)
    alert = happens(23.9)
    assert (Alert.across_tenants.count(), alert.count) == (1, 2)
    assert (alert.detected_at, alert.last_seen_at) == (at(0), at(23.9))
    assert len(said()) == 1
    assert kinds(alert) == ["raised"]


@pytest.mark.parametrize(
    ("times", "began"),
    [
        ([0, 24], [0, 24]),
        ([0, timedelta(hours=24) - timedelta(microseconds=1)], [0]),
        ([0, 23, 25], [0, 25]),
        ([1, 0], [0]),  # an hour late: the alert begins earlier
        ([1.001, 0], [0]),  # later than that, but on the same day: the same alert
        ([12.5, 11.75], [11.75]),  # late across midnight
        ([13.5, 11.75], [11.75, 13.5]),  # too late, and of another day
        ([0, -0.5, -1.25], [-1.25]),  # step by step
        ([0, 24.5, 23.9], [0, 24.5]),  # late, but the first alert covers it
    ],
)
def test_which_alerts_come_of_which_moments(happens, times, began):
    for hours in times:
        hours = hours / timedelta(hours=1) if isinstance(hours, timedelta) else hours
        happens(hours)
    found = Alert.across_tenants.order_by("detected_at").values_list("detected_at", flat=True)
    assert list(found) == [at(hours) for hours in began]
    assert sum(Alert.across_tenants.values_list("count", flat=True)) == len(times)


def test_other_aggregates_types_and_tenants_have_alerts_of_their_own(match, rival):
    from apps.watch.models import Subscription

    theirs = Subscription.across_tenants.create(
        tenant=rival, role="admin", name="x", event_types=["CASH_LOW"], rule={}
    )
    other = match(tenant_id=rival.pk, subscription_id=theirs.pk)
    raise_alerts(
        [match(), match(aggregate_id="c2"), match(event_type="PAYMENT_DUE"), other], now=at()
    )
    assert Alert.across_tenants.count() == 4


def test_a_graver_match_breaks_through(happens, alice, acme, said, kinds, in_acme):
    acknowledge(alert=happens(0, severity="MEDIUM"), by=alice, now=at(0.1))
    alert = happens(1, severity="CRITICAL", message="Cash is gone.")
    assert (alert.severity, alert.status, alert.message) == (
        "CRITICAL", "unread", "Cash is gone.",
    )  # fmt: skip
    assert (alert.acknowledged_at, alert.first_acknowledged_at) == (None, at(0.1))
    assert [told["severity"] for told in said()] == ["MEDIUM", "CRITICAL"]
    assert kinds(alert) == ["raised", "acknowledged", "graver"]
    assert alert.history.last().facts == {"from": "MEDIUM", "to": "CRITICAL"}


def test_a_milder_match_changes_nothing_but_the_count(happens, said):
    happens(0, severity="HIGH")
    alert = happens(1, severity="LOW", message="Nothing much.")
    assert (alert.severity, alert.count, len(said())) == ("HIGH", 2, 1)
    assert alert.message == "Cash is low at 0."


def test_one_batch_raises_at_its_highest_severity(match, said):
    raise_alerts([match(0, severity="LOW"), match(0.1, severity="CRITICAL")], now=at(1))
    alert = Alert.across_tenants.get()
    assert (alert.severity, alert.count, alert.event_id) == (
        "CRITICAL", 2, alert.events.last().event_id,
    )  # fmt: skip
    assert len(said()) == 1
    assert alert.history.get().facts == {"severity": "CRITICAL"}


def test_several_rules_about_one_event_share_an_alert_and_count_it_once(match, subscribe, said):
    other, event_id = subscribe(name="Other"), uuid7()
    raise_alerts(
        [match(event_id=event_id), match(event_id=event_id, subscription_id=other.pk)], now=at()
    )
    alert = Alert.across_tenants.get()
    assert (alert.count, len(watchers(alert)), alert.events.count()) == (1, 2, 2)
    assert {told["subscription_id"] for told in said()} == {
        str(w.subscription_id) for w in watchers(alert)
    }


def test_who_begins_to_watch_an_open_alert_is_told_and_nobody_else(happens, subscribe, said):
    happens(0)
    other = subscribe(name="Other")
    alert = happens(1, subscription_id=other.pk)
    happens(2, subscription_id=other.pk)
    assert [told["subscription_id"] for told in said()][1:] == [str(other.pk)]
    assert len(watchers(alert)) == 2


def test_a_muted_watcher_is_marked_and_told_of_what_is_critical(happens, subscribe):
    quiet = subscribe(name="Quiet", mute_from="11:00", mute_until="13:00")
    alert = happens(0, subscription_id=quiet.pk)
    assert watchers(alert)[0].muted
    happens(0.5, subscription_id=quiet.pk, severity="CRITICAL")
    assert not watchers(alert)[0].muted


def test_what_was_resolved_and_happens_again_is_opened_again(happens, alice, in_acme, said, kinds):
    resolve(alert=happens(0), by=alice, root_cause="A leak", now=at(1))
    alert = happens(2)
    assert (alert.status, alert.resolved_at, alert.false_positive) == ("unread", None, None)
    assert (alert.reopened, alert.count, len(said())) == (1, 2, 2)
    assert kinds(alert) == ["raised", "resolved", "recurred"]


def test_what_happened_before_it_was_resolved_does_not_open_it_again(happens, alice, in_acme):
    resolve(alert=happens(0), by=alice, root_cause="A leak", now=at(1))
    alert = happens(0.9, now=at(1.1))
    assert (alert.status, alert.count) == ("resolved", 2)


def test_a_flapping_alert_is_recognised_and_no_longer_told_each_time(
    happens, alice, in_acme, said, kinds
):
    alert = happens(0)
    for hour in range(1, 6):
        resolve(alert=alert, by=alice, root_cause="A leak", now=at(hour))
        alert = happens(hour + 0.5)
    assert (alert.reopened, alert.flapping_since, alert.status) == (5, at(3.5), "unread")
    # Raised, and back three times; the third says that it flaps, and then it is quiet.
    assert len(said()) == 4
    assert kinds(alert).count("recurred") == 5
    assert kinds(alert).count("flapping") == 1


def test_a_dismissed_alert_is_only_counted_until_it_gets_graver(happens, alice, in_acme, said):
    dismiss(alert=happens(0), by=alice, false_positive=True, now=at(1))
    assert (happens(2).status, len(said())) == ("dismissed", 1)
    alert = happens(3, severity="CRITICAL")
    assert (alert.status, alert.dismissed_at, alert.false_positive) == ("unread", None, None)
    assert len(said()) == 2


def test_who_begins_to_watch_a_dismissed_alert_is_not_told(
    happens, alice, in_acme, subscribe, said
):
    dismiss(alert=happens(0), by=alice, false_positive=True, now=at(1))
    happens(2, subscription_id=subscribe(name="Other").pk)
    assert len(said()) == 1


def test_the_first_hundred_events_are_kept_and_all_are_counted(match):
    raise_alerts([match(n / 1000) for n in range(150)], now=at(1))
    raise_alerts([match(1 + n / 1000) for n in range(10)], now=at(2))
    alert = Alert.across_tenants.get()
    assert (alert.count, alert.events.count()) == (160, 100)


def test_a_system_alert_has_no_watcher_and_is_told_all_the_same(happens, said):
    alert = happens(subscription_id=None)
    assert (len(watchers(alert)), said()[0]["subscription_id"]) == (0, None)


def test_what_follows_from_an_event_belongs_to_its_trace(happens):
    alert = happens(trace_id="a" * 32)
    (told,) = OutboxEvent.objects.all()
    assert (told.trace_id, told.causation_id) == ("a" * 32, alert.event_id)


def test_a_clock_that_is_ahead_makes_no_alert_of_the_future(happens):
    assert happens(5, now=at(0)).detected_at == at(0)


def test_a_subscription_that_is_gone_meanwhile_hinders_nobody(happens):
    assert watchers(happens(subscription_id=uuid7())) == []


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "한국어 🚨"])
def test_what_json_can_say_and_postgresql_cannot_hold_is_stored_all_the_same(happens, text):
    alert = happens(message=text, facts={"seen": [text, {text: 1}]})
    assert alert.message.replace("�", "?") == text.replace("\0", "?").replace("\ud800", "?")


def test_an_endless_name_is_cut_and_still_told_apart(match):
    raise_alerts([match(aggregate_id="x" * 5000 + end) for end in ("1", "2", "1")], now=at())
    assert sorted(Alert.across_tenants.values_list("count", flat=True)) == [1, 2]


def test_the_team_is_the_one_of_the_cases_manager(happens, case, dana):
    assert happens(case_id=case.pk).team_lead == dana


def test_a_case_of_another_tenant_or_of_nobody_is_no_obstacle(happens, case, rival):
    theirs = {"tenant_id": rival.pk, "subscription_id": None, "aggregate_id": "r1"}
    assert happens(case_id=case.pk, **theirs).team_lead is None
    assert happens(case_id=uuid7(), aggregate_id="gone").team_lead is None


def test_a_storm_takes_as_many_statements_as_a_breeze(match, django_assert_max_num_queries):
    """The number of statements depends on what is new, never on how much there is."""

    def storm(aggregates, each, hours=0.0):
        return [match(hours + n / 1000, aggregate_id=f"c{a}", severity="CRITICAL")
                for a in range(aggregates) for n in range(each)]  # fmt: skip

    with django_assert_max_num_queries(12):
        raise_alerts(storm(1, 1), now=at(1))
    with django_assert_max_num_queries(14):
        raise_alerts(storm(200, 5), now=at(1))
    with django_assert_max_num_queries(6):
        raise_alerts(storm(200, 5, hours=2), now=at(3))
    assert Alert.across_tenants.count() == 200
    assert sum(Alert.across_tenants.values_list("count", flat=True)) == 2001
    assert AlertEvent.objects.count() == 2001
    assert AlertHistory.objects.count() == 200


TENANT = uuid7()
MOMENTS = st.lists(
    st.tuples(
        st.floats(0, 60), st.sampled_from(["LOW", "HIGH", "CRITICAL"]), st.sampled_from("ab")
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(moments=MOMENTS, chance=st.randoms(use_true_random=False))
def test_shuffled_within_the_hour_the_same_alerts_come_out(moments, chance):
    """Whatever arrives within an hour of its time, in whatever batches, makes no difference."""
    matches = [_match(hours, severity, name) for hours, severity, name in moments]
    in_order = sorted(matches, key=lambda m: m.occurred_at)
    late = sorted(matches, key=lambda m: m.occurred_at + timedelta(hours=chance.random()))
    assert _alerts(in_order, [1] * len(matches)) == _alerts(
        late, [chance.randint(1, 5) for _ in matches]
    )


def _match(hours, severity, name):
    return Match(
        tenant_id=TENANT, subscription_id=None, severity=Severity(severity), event_type="T",
        aggregate_type="case", aggregate_id=name, case_id=None, event_id=uuid7(),
        occurred_at=at(hours), message=str(hours), facts={},
    )  # fmt: skip


def _alerts(matches, sizes):
    known, rest = {}, list(matches)
    for size in sizes:
        batch, rest = rest[:size], rest[size:]
        for alert in fold(batch, known.values(), keep=100, now=at(100)):
            known[alert.id] = alert
            alert.is_new = False
    return sorted(
        (a.aggregate_id, a.detected_at, a.last_seen_at, a.count, str(a.severity), a.message)
        for a in known.values()
    )


@settings(max_examples=300, deadline=None)
@given(moments=MOMENTS, chance=st.randoms(use_true_random=False))
def test_however_late_anything_comes_no_two_alerts_have_one_key(moments, chance):
    """The database refuses a second one, and the whole batch with it."""
    matches = [_match(hours, severity, name) for hours, severity, name in moments]
    chance.shuffle(matches)
    known = {}
    for match in matches:
        for alert in fold([match], known.values(), keep=100, now=at(100)):
            known[alert.id] = alert
            alert.is_new = False
        keys = [
            idempotency_key(a.tenant_id, a.event_type, a.aggregate_id, a.detected_at)
            for a in known.values()
        ]
        assert len(keys) == len(set(keys))
    assert sum(alert.count for alert in known.values()) == len(matches)
