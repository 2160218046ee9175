"""What each condition means, as a table: on the left the event, on the right what is said."""

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.watch.rules import compile_condition, parse
from apps.watch.rules.explaining import explain
from tests.watch.stories import at, happened

UTC = ZoneInfo("UTC")
YES, NO, UNKNOWN = True, False, None


def verdict(rule, event, zone=UTC):
    """What the rule says of the event: the compiled function and the explanation agree."""
    condition = parse(rule)
    told = explain(condition, event, zone)
    assert compile_condition(condition, zone)(event.payload, event) is (told.matched is True)
    return told.matched


def threshold(field, operator, limit):
    return {"type": "threshold", "field": field, "operator": operator, "threshold": limit}


@pytest.mark.parametrize(
    ("payload", "field", "operator", "limit", "expected"),
    [
        ({"amount": 99}, "amount", ">", 100, NO),
        ({"amount": 100}, "amount", ">", 100, NO),
        ({"amount": 100.01}, "amount", ">", 100, YES),
        ({"amount": 100}, "amount", ">=", 100, YES),
        ({"amount": 100}, "amount", "<", 100, NO),
        ({"amount": 99.99}, "amount", "<", 100, YES),
        ({"amount": 100}, "amount", "<=", 100, YES),
        ({"amount": 100.0}, "amount", "==", 100, YES),
        ({"amount": 101}, "amount", "!=", 100, YES),
        ({"amount": 100}, "amount", "!=", 100, NO),
        ({"currency": "KRW"}, "currency", "==", "KRW", YES),
        ({"currency": "EUR"}, "currency", "!=", "KRW", YES),
        ({"name": "b"}, "name", ">", "a", YES),
        ({"open": True}, "open", "==", True, YES),
        ({"open": False}, "open", "!=", True, YES),
        ({"open": True}, "open", ">", False, UNKNOWN),  # true is not more than false
        ({"manager": None}, "manager", "==", None, YES),
        # A number is no text, and true is no number: nothing matches, not even "is not".
        ({"amount": "100"}, "amount", ">", 100, UNKNOWN),
        ({"amount": "100"}, "amount", "!=", 100, UNKNOWN),
        ({"amount": 100}, "amount", "==", "100", UNKNOWN),
        ({"amount": True}, "amount", "==", 1, UNKNOWN),
        ({"amount": None}, "amount", ">", 100, UNKNOWN),
        ({"amount": [100]}, "amount", "==", 100, UNKNOWN),
        ({"amount": {}}, "amount", "!=", 100, UNKNOWN),
        ({}, "amount", ">", 100, UNKNOWN),
        ({}, "amount", "!=", 100, UNKNOWN),
        # Paths reach into objects and lists.
        ({"result": {"score": 0.3}}, "result.score", "<", 0.5, YES),
        ({"result": {"a": {"b": 1}}}, "result.a.b", "==", 1, YES),
        ({"result": {}}, "result.score", "<", 0.5, UNKNOWN),
        ({"result": 5}, "result.score", "<", 0.5, UNKNOWN),
        ({"result": None}, "result.score", "<", 0.5, UNKNOWN),
        ({"items": [{"n": 1}, {"n": 2}]}, "items.1.n", "==", 2, YES),
        ({"items": [{"n": 1}]}, "items.1.n", "==", 2, UNKNOWN),
        # With * one of them is enough.
        ({"items": [{"n": 1}, {"n": 9}]}, "items.*.n", ">", 5, YES),
        ({"items": [{"n": 1}, {"n": 2}]}, "items.*.n", ">", 5, NO),
        ({"items": [{"n": 1}, {"n": "x"}]}, "items.*.n", ">", 5, UNKNOWN),
        ({"items": [{"n": "x"}, {"n": 9}]}, "items.*.n", ">", 5, YES),
        ({"items": []}, "items.*.n", ">", 5, UNKNOWN),
        ({"by": {"x": 1, "y": 7}}, "by.*", ">", 5, YES),
        # Against another value of the same event.
        ({"balance": 5, "limit": 9}, "balance", "<", {"field": "limit"}, YES),
        ({"balance": 9, "limit": 9}, "balance", "<", {"field": "limit"}, NO),
        ({"balance": 5}, "balance", "<", {"field": "limit"}, UNKNOWN),
        ({"balance": 5, "limit": "9"}, "balance", "<", {"field": "limit"}, UNKNOWN),
        # Of the envelope.
        ({}, "@actor", "==", "alice@acme.example", YES),
        ({}, "@event_type", "==", "PAYMENT_DUE", YES),
        ({}, "@aggregate_id", "!=", "p1", NO),
        ({}, "@nothing", "==", "x", UNKNOWN),
    ],
)
def test_threshold(payload, field, operator, limit, expected):
    assert verdict(threshold(field, operator, limit), happened(**payload)) is expected


SEOUL, BERLIN, NEW_YORK = "Asia/Seoul", "Europe/Berlin", "America/New_York"


@pytest.mark.parametrize(
    ("zone", "moment", "deadline", "days_before", "expected"),
    [
        # Days are those of the calendar, not periods of 24 hours.
        (UTC.key, "2026-02-20T00:00", "2026-02-27T23:59:59Z", 7, YES),
        (UTC.key, "2026-02-19T23:59:59", "2026-02-27T00:00:00Z", 7, NO),
        (UTC.key, "2026-02-27T23:00", "2026-02-27T09:00:00Z", 0, YES),  # today, some hours ago
        (UTC.key, "2026-02-26T23:59:59", "2026-02-27T00:00:00Z", 0, NO),
        (UTC.key, "2026-03-10T00:00", "2026-02-27T09:00:00Z", 0, YES),  # long past
        # 14:59 UTC is 23:59 in Seoul; a minute later the next day begins there.
        (SEOUL, "2026-02-19T14:59:00", "2026-02-27T09:00:00+09:00", 7, NO),
        (SEOUL, "2026-02-19T15:00:00", "2026-02-27T09:00:00+09:00", 7, YES),
        # A date is that day where the tenant is; a moment without a zone is a moment there.
        (SEOUL, "2026-02-19T15:00:00", "2026-02-27", 7, YES),
        (SEOUL, "2026-02-19T14:59:59", "2026-02-27", 7, NO),
        (SEOUL, "2026-02-19T15:00:00", "2026-02-27T00:00:00", 7, YES),
        # Berlin, 29 March 2026: a day of 23 hours. One day before is one day before.
        (BERLIN, "2026-03-27T22:59:59", "2026-03-29T23:30:00+02:00", 1, NO),
        (BERLIN, "2026-03-27T23:00:00", "2026-03-29T23:30:00+02:00", 1, YES),
        (BERLIN, "2026-03-28T22:59:59", "2026-03-30T00:00:00+02:00", 1, NO),
        (BERLIN, "2026-03-28T23:00:00", "2026-03-30T00:00:00+02:00", 1, YES),
        # New York, 1 November 2026: a day of 25 hours.
        (NEW_YORK, "2026-10-31T03:59:59", "2026-11-01T23:30:00-05:00", 1, NO),
        (NEW_YORK, "2026-10-31T04:00:00", "2026-11-01T23:30:00-05:00", 1, YES),
        (NEW_YORK, "2026-11-01T03:59:59", "2026-11-02T00:00:00-05:00", 1, NO),
        (NEW_YORK, "2026-11-01T04:00:00", "2026-11-02T00:00:00-05:00", 1, YES),
        # What is no date matches nothing.
        (UTC.key, "2026-02-20T00:00", "soon", 7, UNKNOWN),
        (UTC.key, "2026-02-20T00:00", "", 7, UNKNOWN),
        (UTC.key, "2026-02-20T00:00", 20260227, 7, UNKNOWN),
        (UTC.key, "2026-02-20T00:00", None, 7, UNKNOWN),
        (SEOUL, "2026-02-20T00:00", "9999-12-31T23:59:59Z", 7, UNKNOWN),  # no such day in Seoul
    ],
)
def test_deadline(zone, moment, deadline, days_before, expected):
    rule = {"type": "deadline", "days_before": days_before}
    event = happened(moment, deadline=deadline)
    assert verdict(rule, event, ZoneInfo(zone)) is expected


def test_a_deadline_may_be_in_another_field():
    rule = {"type": "deadline", "days_before": 1, "field": "review.at"}
    event = happened("2026-02-20T10:00", review={"at": "2026-02-21T10:00:00Z"})
    assert verdict(rule, event) is YES


HOLDS, FAILS = threshold("n", "==", 1), threshold("n", "!=", 1)
UNTOLD = threshold("missing", "==", 1)


@pytest.mark.parametrize(
    ("kind", "conditions", "expected"),
    [
        ("all", [HOLDS], YES),
        ("all", [HOLDS, HOLDS], YES),
        ("all", [HOLDS, FAILS], NO),
        ("all", [HOLDS, UNTOLD], UNKNOWN),
        ("all", [UNTOLD, FAILS], NO),
        ("any", [FAILS], NO),
        ("any", [FAILS, HOLDS], YES),
        ("any", [UNTOLD, HOLDS], YES),
        ("any", [FAILS, UNTOLD], UNKNOWN),
    ],
)
def test_all_and_any(kind, conditions, expected):
    assert verdict({"type": kind, "conditions": conditions}, happened(n=1)) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (HOLDS, NO),
        (FAILS, YES),
        (UNTOLD, UNKNOWN),  # a misspelt field does not match everything
        ({"type": "always"}, NO),
        ({"type": "all", "conditions": [HOLDS, FAILS]}, YES),
        ({"type": "all", "conditions": [UNTOLD, FAILS]}, YES),
        ({"type": "any", "conditions": [FAILS, UNTOLD]}, UNKNOWN),
        ({"type": "not", "condition": HOLDS}, YES),
    ],
)
def test_not(condition, expected):
    assert verdict({"type": "not", "condition": condition}, happened(n=1)) is expected


def test_always():
    assert verdict({"type": "always"}, happened()) is YES


_fields = st.sampled_from(["a", "b", "a.b", "a.*", "b.0", "@actor", "@aggregate_id"])
_values = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, "1", "x", True, False, None, "2026-02-10", "2026-02-14T00:00:00Z"]),
)
_payloads = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.recursive(
        _values,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner)
        ),
        max_leaves=5,
    ),
)
_limits = _values | st.builds(lambda path: {"field": path}, st.sampled_from(["a", "b", "a.b"]))
_conditions = st.recursive(
    st.builds(threshold, _fields, st.sampled_from([">", "<", ">=", "<=", "==", "!="]), _limits)
    | st.just({"type": "always"})
    | st.builds(lambda f, d: {"type": "deadline", "field": f, "days_before": d}, _fields,
                st.integers(0, 5)),
    lambda inner: (
        st.builds(lambda c: {"type": "not", "condition": c}, inner)
        | st.builds(lambda k, c: {"type": k, "conditions": c}, st.sampled_from(["all", "any"]),
                    st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=6,
)  # fmt: skip


@given(_conditions, _payloads)
def test_the_compiled_rule_and_its_explanation_never_disagree(rule, payload):
    verdict(rule, happened(**payload))
    # And a thing and its opposite never match both.
    opposite = verdict({"type": "not", "condition": rule}, happened(**payload))
    assert not (verdict(rule, happened(**payload)) and opposite)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"amount": 5}, "amount is 5, and that is not > 100."),
        ({"amount": 500}, "amount is 500, and that is > 100."),
        ({"amount": "500"}, "amount is “500”: text cannot be compared by > with a number."),
        ({"amount": None}, "amount is None: null cannot be compared by > with a number."),
        ({}, "amount: the event has no such value."),
    ],
)
def test_it_is_told_why_with_the_actual_value(payload, why):
    assert explain(parse(threshold("amount", ">", 100)), happened(**payload), UTC).why == why


def test_the_explanation_is_a_tree_with_the_actual_values():
    rule = {"type": "all", "conditions": [threshold("amount", ">", 100), {"type": "deadline"}]}
    event = happened("2026-02-20T10:00", amount=500, deadline="2026-02-22")
    told = explain(parse(rule), event, UTC)
    assert [part.matched for part in told.parts] == [True, True]
    assert told.parts[0].values == {
        "field": "amount", "value": 500, "operator": ">", "threshold": 100,
    }  # fmt: skip
    assert told.parts[1].values["days_left"] == 2
    assert told.parts[1].why == "It is due in 2 days."


def test_a_clock_ahead_of_ours_is_set_back_to_the_moment_of_publication():
    event = happened(at("13:00"), late=-(at("13:00") - at("12:00")))
    assert event.occurred_at == at("12:00")


@pytest.mark.parametrize(("late", "too_late"), [("13:00", False), ("13:00:00.001", True)])
def test_what_is_told_more_than_an_hour_later_is_too_late_for_windows(late, too_late):
    assert happened("12:00", late=at(late) - at("12:00")).too_late is too_late
