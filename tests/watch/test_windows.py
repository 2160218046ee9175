"""What rules over several events mean, as tables: what happened when, and when they fire."""

import itertools
import random

import pytest

from tests.watch.stories import at, happened

pytestmark = pytest.mark.django_db


def pattern(count=3, hours=1, **more):
    return {"type": "pattern", "min_count": count, "window_hours": hours, **more}


def times(*moments):
    return [happened(moment) for moment in moments]


def fired(matches):
    return [match.occurred_at for match in matches]


PATTERNS = [
    # what happened, when three within an hour fire
    (["12:00"], []),
    (["12:00", "12:10"], []),
    (["12:00", "12:10", "12:20"], ["12:20"]),
    (["12:00", "12:10", "12:20", "12:30", "12:40"], ["12:20"]),  # once, not at each further event
    (["12:00", "12:30", "13:00"], []),  # an hour ago is no longer within the hour
    (["12:00", "12:30", "12:59:59.999"], ["12:59:59.999"]),
    (["12:00", "12:00", "12:00"], ["12:00"]),  # at the same instant
    (["12:00", "12:00", "12:00", "12:00"], ["12:00"]),
    (["12:00", "12:20", "12:40", "14:00", "14:20", "14:40"], ["12:40", "14:40"]),  # once more
    (["12:00", "12:20", "12:40", "13:00", "13:20", "13:40"], ["12:40"]),  # never fell below three
    (["12:00", "12:20", "12:40", "13:00:01", "13:20:02"], ["12:40", "13:00:01", "13:20:02"]),
]


@pytest.mark.parametrize(("moments", "expected"), PATTERNS)
def test_three_within_an_hour(tower, moments, expected):
    tower.watch(pattern())
    assert fired(tower.deliver(*times(*moments))) == [at(moment) for moment in expected]


@pytest.mark.parametrize(("moments", "expected"), PATTERNS)
def test_the_same_in_one_batch(tower, moments, expected):
    tower.watch(pattern())
    found = tower.deliver(*times(*moments), together=True)
    assert fired(found) == [at(moment) for moment in expected]


def test_once_is_a_pattern_too(tower):
    tower.watch(pattern(count=1))
    found = tower.deliver(*times("12:00", "12:30", "13:29", "14:29", "15:29:01"))
    assert fired(found) == [at("12:00"), at("15:29:01")]


# Clocks go forward in Berlin at 01:00 UTC of 29 March 2026 and back in New York at 06:00 UTC of
# 1 November 2026. An hour stays an hour.
@pytest.mark.parametrize(
    ("moments", "fires"),
    [
        (["2026-03-29T00:30+00:00", "2026-03-29T03:10+02:00", "2026-03-29T03:29:59+02:00"], True),
        (["2026-03-29T00:30+00:00", "2026-03-29T03:10+02:00", "2026-03-29T03:30+02:00"], False),
        (["2026-11-01T01:45-04:00", "2026-11-01T01:15-05:00", "2026-11-01T01:44:59-05:00"], True),
        (["2026-11-01T01:45-04:00", "2026-11-01T01:15-05:00", "2026-11-01T01:45-05:00"], False),
    ],
)
def test_windows_do_not_care_about_daylight_saving(tower, moments, fires):
    tower.watch(pattern())
    assert bool(tower.deliver(*times(*moments))) is fires


def test_an_event_counts_once_however_often_it_is_delivered(tower):
    tower.watch(pattern(count=2))
    event, other = times("12:00", "12:10")
    assert tower.deliver(event, event, event) == []
    assert len(tower.deliver(other, event, other)) == 1


def test_in_whatever_order_they_come_it_fires_where_it_should(tower):
    events = times("12:00", "12:10", "12:20")
    for order in itertools.permutations(events):
        subscription = tower.watch(pattern())
        assert fired(tower.deliver(*order)) == [at("12:20")]
        subscription.delete()


def test_a_late_event_is_counted_where_it_belongs(tower):
    tower.watch(pattern())
    assert tower.deliver(*times("12:00", "12:20", "13:10")) == []
    # It makes three of what had happened by 12:20, which is told now.
    assert fired(tower.deliver(*times("12:10"))) == [at("12:20")]


def test_what_is_told_more_than_an_hour_later_does_not_count(tower):
    tower.watch(pattern(count=2))
    tower.deliver(happened("12:00"))
    assert tower.deliver(happened("12:10", late=at("13:10:01") - at("12:10:00"))) == []
    assert len(tower.deliver(happened("12:10", late=at("13:09:59") - at("12:10:00")))) == 1


def test_our_own_delay_makes_nobody_late(tower):
    tower.watch(pattern(count=2))
    assert len(tower.deliver(*times("12:00", "12:10"), now="2026-02-12T12:00")) == 1


def test_a_clock_that_runs_ahead_is_set_back(tower):
    tower.watch(pattern(count=2))
    ahead = at("2027-01-01T00:00") - at("12:10")
    found = tower.deliver(happened("12:00"), happened("2027-01-01T00:00", late=-ahead))
    assert fired(found) == [at("12:10")]


def test_each_group_counts_for_itself(tower):
    tower.watch(pattern(count=2, group_by="case.id"))
    events = [happened("12:00", case={"id": c}) for c in ("a", "b", "a", "c", 7, 7)]
    found = tower.deliver(*events)
    assert [(m.aggregate_type, m.aggregate_id) for m in found] == [
        ("case.id", "a"),
        ("case.id", "7"),
    ]


def test_what_has_no_group_is_not_counted(tower):
    tower.watch(pattern(count=2, group_by="case_id"))
    assert tower.deliver(*[happened(case_id=c) for c in (None, None, {}, [], "")]) == []


def test_without_groups_an_alert_is_about_the_subscription(tower):
    subscription = tower.watch(pattern(count=1))
    (match,) = tower.deliver(happened())
    assert match.aggregate_id == f"subscription:{subscription.pk}"


def test_only_what_fits_is_counted(tower):
    large = {"type": "threshold", "field": "amount", "threshold": 10}
    tower.watch(pattern(count=2, where=large))
    found = tower.deliver(*[happened(amount=n) for n in (1, 11, 2, "11", 12)])
    assert [match.facts["value"] for match in found] == [2]


def test_tenants_and_subscriptions_do_not_mix(tower):
    tower.watch(pattern(count=2), "PAYMENT_DUE")
    tower.watch(pattern(count=2), "CASH_LOW")
    assert tower.deliver(happened(event_type="PAYMENT_DUE"), happened(event_type="CASH_LOW")) == []


def test_what_happened_before_the_rule_alerts_nobody_but_counts(tower):
    tower.watch(pattern(count=2), since="12:30")
    assert tower.deliver(*times("12:10", "12:20")) == []
    tower.watch(pattern(count=3), since="12:30")
    assert len(tower.deliver(*times("12:05", "12:15", "12:40"))) == 1


def aggregate(function, operator, threshold, **more):
    return {"type": "aggregate", "function": function, "field": "amount", "operator": operator,
            "threshold": threshold, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "operator", "threshold", "amounts", "expected"),
    [
        # one amount every ten minutes from 12:00, within an hour -> which of them fire
        ("sum", ">", 100, [50, 50, 1, 200], [2]),
        ("sum", ">=", 100, [50, 50, 1], [1]),
        ("sum", ">", 100, [90, 0, 0, 0, 0, 0, 20, 90], [7]),  # the first 90 has left by then
        ("sum", "<", 10, [5, 4, 3], [0]),
        ("sum", "==", 0.3, [0.1, 0.2], [1]),  # as people add, not as floating point does
        ("avg", ">", 10, [10, 12, 1, 30], [1, 3]),
        ("avg", ">", 10, [11, 30, 10.1], [0]),
        ("min", "<", 5, [9, 4, 3, 9], [1]),
        ("min", ">=", 5, [9, 4, 9, 9, 9, 9, 9, 9], [0, 7]),  # when the 4 has left
        ("max", ">", 5, [1, 6, 7], [1]),
        ("max", "!=", 5, [5, 6], [1]),
        ("distinct", ">=", 3, [1, 1, 2, 2, 3, 4], [4]),
        ("distinct", ">=", 2, ["x", "x", "y"], [2]),
        ("sum", ">", 10, ["20", None, True, {}, 1e300, 11], [5]),  # only numbers are added up
        ("min", "<", 5, [float("nan"), 9, 4], [2]),  # what is no number is neither more nor less
    ],
)
def test_aggregate(tower, function, operator, threshold, amounts, expected):
    tower.watch(aggregate(function, operator, threshold))
    moments = [f"{12 + n // 6}:{n % 6}0" for n in range(len(amounts))]
    events = [happened(m, amount=a) for m, a in zip(moments, amounts, strict=True)]
    assert fired(tower.deliver(*events)) == [at(moments[n]) for n in expected]


def test_an_aggregate_says_what_it_is(tower):
    tower.watch(aggregate("sum", ">", 100, group_by="payee"))
    (match,) = tower.deliver(*[happened(amount=60.5, payee="우리은행") for _ in range(2)])
    assert match.message == "Payment due: the sum of amount is 121 within 1 hour (우리은행)"
    assert len(match.facts["events"]) == 2


def sequence(**more):
    return {
        "type": "sequence",
        "first": {"event_type": "CASE_CREATED"},
        "then": {"event_type": "CASE_ASSIGNED"},
        "within_hours": 1,
        **more,
    }


A, B = "CASE_CREATED", "CASE_ASSIGNED"


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ([(A, "12:00"), (B, "12:30")], ["12:30"]),
        ([(A, "12:00"), (B, "13:00")], ["13:00"]),  # within an hour: that is still in it
        ([(A, "12:00"), (B, "13:00:00.001")], []),
        ([(B, "12:00"), (A, "12:30")], []),
        ([(A, "12:00")], []),
        ([(B, "12:00")], []),
        ([(A, "12:00"), (B, "12:10"), (B, "12:20")], ["12:10"]),  # the second B ends nothing
        ([(A, "12:00"), (A, "12:05"), (B, "12:10")], ["12:10"]),
        ([(A, "12:00"), (B, "12:10"), (A, "12:20"), (B, "12:30")], ["12:10", "12:30"]),
    ],
)
def test_sequence(tower, story, expected):
    for order in itertools.permutations(story) if len(story) < 4 else [story]:
        subscription = tower.watch(sequence())
        events = [happened(moment, kind) for kind, moment in order]
        found = tower.deliver(*events)
        # In another order an end may be seen before the one that came earlier.
        assert set(fired(found)) >= {at(moment) for moment in expected}
        assert bool(found) is bool(expected)
        subscription.delete()


def test_a_sequence_is_of_one_aggregate_unless_it_says_otherwise(tower):
    tower.watch(sequence())
    assert tower.deliver(happened("12:00", A, about="x"), happened("12:10", B, about="y")) == []
    tower.watch(sequence(group_by="team"))
    first = happened("12:00", A, about="x", team="law")
    (match,) = tower.deliver(first, happened("12:10", B, about="y", team="law"))
    assert (match.aggregate_type, match.aggregate_id) == ("team", "law")


def test_the_steps_of_a_sequence_may_be_of_the_same_type(tower):
    def step(status):
        where = {"type": "threshold", "field": "to", "operator": "==", "threshold": status}
        return {"event_type": "CASE_STATUS_CHANGED", "where": where}

    tower.watch(sequence(first=step("closed"), then=step("open")))
    events = [
        happened(moment, "CASE_STATUS_CHANGED", to=to)
        for moment, to in [("12:00", "open"), ("12:10", "closed"), ("12:20", "open")]
    ]
    assert fired(tower.deliver(*events)) == [at("12:20")]


def test_any_event_twice_is_a_sequence_too(tower):
    tower.watch(sequence(then={"event_type": A}))
    found = tower.deliver(*[happened(m, A) for m in ("12:00", "12:30", "14:00")])
    assert fired(found) == [at("12:30")]


def test_a_crowd_in_shuffled_batches_is_counted_once_each(tower):
    tower.watch(pattern(count=40))
    events = times(*[f"12:{n:02}" for n in range(40)])
    chance = random.Random(7)
    chance.shuffle(events)
    found = tower.deliver(*events[:25], together=True) + tower.deliver(*events, together=True)
    assert fired(found) == [at("12:39")]
