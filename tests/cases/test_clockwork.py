"""The clockwork says each thing once: whenever it runs, however often, wherever the tenant is."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.cases import services
from apps.cases.models import Approval, CashPosition, Dataset, Deadline, Payment, WatchMark
from apps.cases.services.scan import midnight, scan
from apps.events import failpoints
from apps.events.context import acting
from apps.events.models import OutboxEvent

pytestmark = pytest.mark.django_db

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def unarmed():
    yield
    failpoints.disarm()


def deadline_in(case, days, **more):
    return services.add_deadline(case=case, now=NOW, title="Plan", due_at=NOW + days * DAY, **more)


def marks(said, event_type="DEADLINE_APPROACHING"):
    return [told["days_before"] for told in said(event_type)]


class TestDeadlines:
    def test_each_mark_is_said_on_its_day_and_once(self, case, said):
        deadline_in(case, 30)
        for hours in range(0, 32 * 24, 11):
            scan(NOW + timedelta(hours=hours))
        assert marks(said) == [7, 3, 1]

    def test_the_event_tells_which_deadline_of_which_case(self, case, said, acme):
        deadline = deadline_in(case, 7)
        scan(NOW)
        (event,) = OutboxEvent.objects.filter(event_type="DEADLINE_APPROACHING")
        assert said("DEADLINE_APPROACHING") == [
            {
                "case_id": str(case.pk), "deadline_id": str(deadline.pk), "title": "Plan",
                "deadline": "2026-03-09T09:00:00Z", "days_before": 7,
            }
        ]  # fmt: skip
        assert (event.tenant_id, event.occurred_at, event.stream) == (
            acme.pk, NOW, "axiom:watches",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("away_until", "said_then"),
        [(24, [7]), (27, [3]), (28, [3]), (29, [1]), (30, [1]), (33, [1]), (90, [])],
    )
    def test_a_clockwork_that_stood_still_says_the_tightest_mark_only(
        self, case, said, away_until, said_then
    ):
        deadline_in(case, 30)
        scan(NOW + away_until * DAY)
        scan(NOW + away_until * DAY)
        assert marks(said) == said_then

    def test_another_date_arms_the_marks_anew(self, case, said):
        deadline = deadline_in(case, 7)
        scan(NOW)
        services.revise(item=deadline, now=NOW, due_at=NOW + 6 * DAY)
        scan(NOW)
        services.revise(item=deadline, now=NOW, due_at=NOW + 40 * DAY)
        scan(NOW)
        scan(NOW + 33 * DAY)
        assert marks(said) == [7, 7, 7]

    def test_another_title_does_not(self, case, said):
        deadline = deadline_in(case, 7)
        scan(NOW)
        services.revise(item=deadline, title="Other")
        scan(NOW)
        assert marks(said) == [7]

    def test_what_is_settled_or_closed_is_left_alone(self, case, said, alice):
        services.settle(item=deadline_in(case, 5), status="met")
        other = services.open_case(title="other", opened_by=alice)
        deadline_in(other, 5)
        services.close_case(case=other)
        scan(NOW)
        assert marks(said) == []
        services.reopen_case(case=other)
        scan(NOW)
        assert marks(said) == [7]

    def test_a_tenant_that_was_shut_is_left_alone(self, case, said, acme):
        deadline_in(case, 5)
        acme.is_active = False
        acme.save()
        scan(NOW)
        assert marks(said) == []


class TestDays:
    def test_they_are_the_days_of_the_tenant(self, case, rival, said, charlie):
        """At 16:00 UTC it is the next day in Seoul: there, one day less is left."""
        case.tenant.timezone = "Asia/Seoul"
        case.tenant.save()
        due = datetime(2026, 3, 10, 10, tzinfo=UTC)
        services.add_deadline(case=case, now=NOW, title="in Seoul", due_at=due)
        with acting(tenant_id=rival.pk):
            other = services.open_case(title="in London", opened_by=charlie)
            services.add_deadline(case=other, now=NOW, title="in London", due_at=due)
        scan(datetime(2026, 3, 2, 14, 59, tzinfo=UTC))
        assert said("DEADLINE_APPROACHING") == []
        scan(datetime(2026, 3, 2, 15, 0, tzinfo=UTC))
        assert [told["title"] for told in said("DEADLINE_APPROACHING")] == ["in Seoul"]
        scan(datetime(2026, 3, 3, 0, 0, tzinfo=UTC))
        assert len(said("DEADLINE_APPROACHING")) == 2

    @pytest.mark.parametrize(
        ("zone", "last_night", "first"),
        [
            # Clocks go forward on March 29th 2026: the week has an hour less.
            ("Europe/London", "2026-03-22T23:59:59+00:00", "2026-03-23T00:00:00+00:00"),
            # Clocks go back on November 1st 2026: it has one more.
            ("America/New_York", "2026-10-25T03:59:59+00:00", "2026-10-25T04:00:00+00:00"),
        ],
    )
    def test_a_changed_clock_moves_no_mark(self, case, said, zone, last_night, first):
        case.tenant.timezone = zone
        case.tenant.save()
        first = datetime.fromisoformat(first)
        day = first.astimezone(ZoneInfo(zone)).date() + 7 * DAY
        due = datetime.combine(day, time(23, 30), tzinfo=ZoneInfo(zone))
        services.add_deadline(case=case, now=NOW, title="Plan", due_at=due)
        scan(datetime.fromisoformat(last_night))
        assert marks(said) == []
        scan(first)
        assert marks(said) == [7]

    def test_a_day_that_begins_at_one_begins_at_one(self):
        """In Beirut the clocks go forward at midnight: that day has no 00:00."""
        saturday = datetime(2026, 3, 28, 12, tzinfo=UTC)
        assert midnight(saturday, "Asia/Beirut", 1) == datetime(2026, 3, 28, 22, tzinfo=UTC)

    @settings(deadline=None, max_examples=300)
    @given(
        st.sampled_from(["UTC", "Asia/Seoul", "Europe/London", "America/New_York", "Asia/Beirut",
                         "Pacific/Apia", "Australia/Lord_Howe"]),
        st.integers(0, 20 * 365 * 24 * 60).map(
            lambda minutes: datetime(2011, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
        ),
        st.integers(0, 9),
    )  # fmt: skip
    def test_a_day_begins_with_its_first_moment(self, zone, now, days):
        begins = midnight(now, zone, days).astimezone(ZoneInfo(zone))
        before = (begins.astimezone(UTC) - timedelta(microseconds=1)).astimezone(ZoneInfo(zone))
        day = now.astimezone(ZoneInfo(zone)).date() + timedelta(days=days)
        assert before.date() < day <= begins.date()

    def test_a_zone_that_nobody_knows_does_not_stop_the_others(self, case, rival, charlie, said):
        deadline_in(case, 7)
        rival.timezone = "Mars/Olympus"
        rival.save()
        scan(NOW)
        assert marks(said) == [7]


class TestTheOthers:
    def test_a_payment_is_told_on_the_morning_of_its_day(self, case, said):
        due = datetime(2026, 3, 5, 23, 0, tzinfo=UTC)
        services.add_payment(
            case=case, now=NOW, title="Second", amount=Decimal("12.50"), currency="KRW", due_at=due
        )
        scan(datetime(2026, 3, 4, 23, 59, tzinfo=UTC))
        assert said("PAYMENT_DUE") == []
        scan(datetime(2026, 3, 5, 0, 0, tzinfo=UTC))
        scan(datetime(2026, 3, 6, 0, 0, tzinfo=UTC))
        (told,) = said("PAYMENT_DUE")
        assert (told["amount"], told["currency"]) == (12.5, "KRW")

    def test_a_payment_missed_by_a_week_is_told_late_and_once(self, case, said):
        services.add_payment(
            case=case, now=NOW, title="x", amount=1, currency="KRW", due_at=NOW + DAY
        )
        scan(NOW + 8 * DAY)
        scan(NOW + 9 * DAY)
        assert len(said("PAYMENT_DUE")) == 1

    def test_a_paid_one_is_not(self, case, said):
        payment = services.add_payment(
            case=case, now=NOW, title="x", amount=1, currency="KRW", due_at=NOW + DAY
        )
        services.settle(item=payment, status="paid")
        scan(NOW + DAY)
        assert said("PAYMENT_DUE") == []

    def test_a_review_is_told_three_days_before_but_not_when_it_is_over(self, case, said):
        for title, days in (("coming", 5), ("over", 1)):
            services.schedule_review(
                case=case, now=NOW, title=title, stakeholder="Court", scheduled_at=NOW + days * DAY
            )
        scan(NOW + 2 * DAY)
        scan(NOW + 3 * DAY)
        assert [told["title"] for told in said("REVIEW_SCHEDULED")] == ["coming"]

    def test_an_approval_is_missed_only_after_its_moment(self, case, said, dana):
        services.request_approval(
            case=case, now=NOW, title="Sale", due_at=NOW + DAY, approver_id=dana.pk
        )
        scan(NOW + DAY)
        assert said("APPROVAL_DEADLINE_MISSED") == []
        scan(NOW + DAY + timedelta(seconds=1))
        scan(NOW + 2 * DAY)
        (told,) = said("APPROVAL_DEADLINE_MISSED")
        assert told["approver_id"] == str(dana.pk)

    def test_an_approval_that_was_given_is_not_missed(self, case, said, alice):
        approval = services.request_approval(case=case, now=NOW, title="Sale", due_at=NOW + DAY)
        services.approve(approval=approval, by=alice)
        scan(NOW + 2 * DAY)
        assert said("APPROVAL_DEADLINE_MISSED") == []

    def test_levels_that_others_changed_are_found_and_told_once_per_crossing(self, case, said):
        CashPosition.objects.create(case=case, balance=10, threshold=50, currency="KRW")
        Dataset.objects.create(case=case, name="a", records_count=10, issues_count=3)
        for balance, issues in ((10, 3), (10, 3), (60, 1), (10, 3)):
            CashPosition.objects.update(balance=balance)
            Dataset.objects.update(issues_count=issues)
            scan(NOW)
        assert (len(said("CASH_LOW")), len(said("ISSUE_RATIO_HIGH"))) == (2, 2)
        assert said("ISSUE_RATIO_HIGH")[0]["issue_ratio"] == 0.3

    def test_what_a_service_told_the_scan_does_not_repeat(self, case, said):
        services.record_cash(case=case, balance=Decimal(1), threshold=Decimal(2), now=NOW)
        services.register_data(case=case, name="a", records_count=1, issues_count=1)
        scan(NOW)
        assert (len(said("CASH_LOW")), len(said("ISSUE_RATIO_HIGH"))) == (1, 1)


class TestManyAndAtOnce:
    def test_more_than_a_batch_is_said_in_batches(self, case, said):
        due = NOW + 6 * DAY
        Deadline.objects.bulk_create(
            Deadline(case=case, title=str(i), due_at=due) for i in range(25)
        )
        assert scan(NOW, batch=10)["DEADLINE_APPROACHING"] == 25
        assert scan(NOW, batch=10)["DEADLINE_APPROACHING"] == 0
        assert len(said("DEADLINE_APPROACHING")) == 25

    def test_the_number_of_queries_does_not_grow_with_what_is_due(
        self, case, django_assert_num_queries
    ):
        counts = []
        for due in (NOW + 6 * DAY, NOW + 5 * DAY):
            rows = 2 if not counts else 200
            Deadline.objects.bulk_create(
                Deadline(case=case, title=str(i), due_at=due) for i in range(rows)
            )
            with django_assert_num_queries(100, exact=False) as queries:
                scan(NOW)
            counts.append(len(queries))
        assert counts[0] == counts[1]

    @pytest.mark.parametrize("place", ["scan.marked", "scan.published"])
    def test_a_scan_that_dies_leaves_nothing_and_the_next_says_it(self, case, said, place):
        deadline_in(case, 7)
        failpoints.arm(place, lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            scan(NOW)
        failpoints.disarm()
        assert (marks(said), WatchMark.objects.count()) == ([], 0)
        scan(NOW)
        assert marks(said) == [7]

    def test_a_scan_that_dies_between_batches_goes_on_where_it_was(self, case, said):
        Deadline.objects.bulk_create(
            Deadline(case=case, title=str(i), due_at=NOW + 6 * DAY) for i in range(5)
        )
        failpoints.arm("scan.batch_committed", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            scan(NOW, batch=2)
        failpoints.disarm()
        assert len(marks(said)) == 2
        scan(NOW, batch=2)
        assert len(marks(said)) == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("with_lock", [True, False])
def test_scans_at_the_same_time_say_it_once(case, said, with_lock):
    """The lock keeps the second away; without it, the unique mark does."""
    for number in range(40):
        services.add_deadline(case=case, now=NOW, title=str(number), due_at=NOW + 6 * DAY)
        Approval.objects.create(case=case, title=str(number), due_at=NOW - DAY)
        Payment.objects.create(
            case=case, title=str(number), amount=1, currency="KRW", due_at=NOW - DAY
        )
    if not with_lock:
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE FUNCTION public.pg_try_advisory_xact_lock(int) RETURNS bool "
                "LANGUAGE sql AS 'SELECT true'"
            )
    together = threading.Barrier(6)

    def one():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET search_path = public, pg_catalog")
            together.wait(10)
            return scan(NOW, batch=7)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(one) for _ in range(6)]
    assert sum(each.result()["DEADLINE_APPROACHING"] for each in done) == 40
    if not with_lock:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION public.pg_try_advisory_xact_lock(int)")
    for event_type in ("DEADLINE_APPROACHING", "APPROVAL_DEADLINE_MISSED", "PAYMENT_DUE"):
        assert len(said(event_type)) == 40


def test_the_days_of_a_leap_year_are_days_too():
    now = datetime(2028, 2, 27, 12, tzinfo=UTC)
    assert midnight(now, "UTC", 2).date() == date(2028, 2, 29)
