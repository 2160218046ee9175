"""What the lists of the work itself cost beside the SQL that they need."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts import services as accounts
from apps.accounts.models import LoginSession, Membership, Tenant, User
from apps.cases.models import Case, Deadline
from apps.events.context import acting
from apps.events.ids import uuid7
from apps.processes.models import ProcessDefinition, ProcessInstance, ProcessVersion, WorkItem

from .figure import Figure, Size, quantile
from .stage import stage

CASES, ITEMS, REQUESTS = 1_000, 20, 300
MOST = 3.0


class Listing(NamedTuple):
    """A list to ask for. Another app's list of work is one more row of `LISTINGS`."""

    name: str
    url: Callable[[Case], str]


LISTINGS = [
    Listing("cases", lambda case: "/api/v1/cases/"),
    Listing("cases_by_status", lambda case: "/api/v1/cases/?status=open&ordering=title"),
    Listing("work_items", lambda case: "/api/v1/work-items/"),
    Listing("work_items_of_case", lambda case: f"/api/v1/work-items/?case={case.pk}"),
    Listing("my_work", lambda case: "/api/v1/work-items/?mine=true&ordering=due_at"),
    Listing("deadlines_of_case", lambda case: f"/api/v1/cases/{case.pk}/deadlines/"),
]


def work_lists(size: Size) -> Iterator[Figure]:
    """95 of 100 requests for a page, against the same statements without Django."""
    with stage("here", 0):
        tenant, user = _people()
        with acting(tenant_id=tenant.pk):
            case = _fill(tenant, user, size.of(CASES, 60))
        client = _client(user)
        for listing in LISTINGS:
            yield _compared(listing, client, listing.url(case), size.of(REQUESTS, 20))


def _people() -> tuple[Tenant, User]:
    tenant = Tenant.objects.create(name="Bench", slug="bench")
    user = User.objects.create_user("alice@bench.example", "correct horse", name="Alice")
    Membership.objects.create(tenant=tenant, user=user, role="admin")
    return tenant, user


def _fill(tenant: Tenant, user: User, count: int) -> Case:
    now = datetime.now(UTC)
    cases = Case.objects.bulk_create(
        Case(tenant=tenant, title=f"Case {n}", manager=user, opened_at=now - timedelta(minutes=n))
        for n in range(count)
    )
    Deadline.objects.bulk_create(
        Deadline(tenant=tenant, case=case, title=f"Deadline {n}", due_at=now + timedelta(days=n))
        for case in cases
        for n in range(ITEMS)
    )
    _fill_work(tenant, user, cases, now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return cases[count // 2]


def _fill_work(tenant: Tenant, user: User, cases: list[Case], now: datetime) -> None:
    """A process for each case, with work of which half is done."""
    kind = ProcessDefinition.objects.create(tenant=tenant, key="review", name="Review")
    version = ProcessVersion.objects.create(tenant=tenant, definition=kind, number=1, bpmn="")
    instances = ProcessInstance.objects.bulk_create(
        ProcessInstance(tenant=tenant, version=version, case=case, title=case.title, started_at=now)
        for case in cases
    )
    WorkItem.objects.bulk_create(
        [
            _an_item(tenant, user, instance, n, now + timedelta(minutes=n))
            for instance in instances
            for n in range(ITEMS)
        ],
        batch_size=1_000,
    )


def _an_item(
    tenant: Tenant, user: User, instance: ProcessInstance, number: int, at: datetime
) -> WorkItem:
    done = bool(number % 2)
    return WorkItem(
        tenant=tenant, instance=instance, task_id=uuid7(), activity_id=f"task_{number}",
        activity_name=f"Task {number}", performer="person", assignee=user, created_at=at,
        due_at=at + timedelta(days=3), status="DONE" if done else "TODO",
        ended_at=at if done else None,
    )  # fmt: skip


def _client(user: User) -> APIClient:
    login = accounts.open_login(
        user=user,
        membership=user.memberships.first(),
        kind=LoginSession.Kind.TOKEN,
        request=RequestFactory().get("/"),
    )
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {accounts.issue_tokens(login=login).access}")
    return client


def _compared(listing: Listing, client: APIClient, url: str, times: int) -> Figure:
    statements = _statements(client, url)
    pairs = [(_seconds(client.get, url), _seconds(_run, statements)) for _ in range(times)]
    ours, raw = ([pair[side] * 1000 for pair in pairs] for side in (0, 1))
    value, against = quantile(ours, 0.95), quantile(raw, 0.95)
    return Figure(
        bench="work_lists", value=value, unit=f"ms p95, {listing.name}",
        against=f"its {len(statements)} statements alone", against_value=against,
        ratio=value / against, bar=f"ratio <= {MOST}", met=value / against <= MOST,
        p50_ms=quantile(ours, 0.5), p99_ms=quantile(ours, 0.99),
    )  # fmt: skip


def _statements(client: APIClient, url: str) -> list[str]:
    """What one request asks the database, once everything is warm."""
    client.get(url)
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(url)
    assert answer.status_code == 200, answer.content
    asked = [query["sql"].strip() for query in captured]
    return [text for text in asked if text.startswith("SELECT")]


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            cursor.fetchall()


def _seconds(work: Callable[..., Any], *given: Any) -> float:
    begin = time.perf_counter()
    work(*given)
    return time.perf_counter() - begin
