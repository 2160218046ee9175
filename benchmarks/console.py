"""What the lists of the console cost when their tables hold a million rows."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.apps import apps
from django.db import models
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Tenant, User

from .figure import Figure, Size, quantile
from .rows import empty, fill
from .stage import stage

ROWS, REQUESTS, MOST_MS = 1_000_000, 15, 300.0
TENANT = "(SELECT id FROM accounts_tenant WHERE slug = 'bench')"
_PENDING = {"settled_at": "CASE WHEN n %% 3 <> 0 THEN now() END",
            "status": "CASE WHEN n %% 3 = 0 THEN 'pending' ELSE 'cancelled' END"}  # fmt: skip
_ENDED = {"state": "CASE WHEN n %% 20 = 0 THEN 'FAILED' ELSE 'DONE' END"}
_RECENTLY = "now() - (%(count)s::int - n) * interval '0.5 seconds'"


class Listing(NamedTuple):
    """A list: its model, what is searched in it, a filter that people use, what its rows hold."""

    model: str
    filter: str = ""
    q: str = "{n}"
    columns: Mapping[str, str] = {}
    is_there: bool = False

    @property
    def name(self) -> str:
        return self.model.split(".")[1].lower()


_LETTER = {
    "event_id": "uuidv7((n - %(count)s::int) * interval '20 seconds')", "event_type": "'CASE_CREATED'",
    "tenant_id": TENANT, "fingerprint": "'f' || n %% 50", "fields": "'{}'::jsonb",
    "status": "(ARRAY['open', 'redriven', 'replaced', 'discarded'])[n %% 4 + 1]",
    "group": "'notification_group'", "stream": "'axiom:events'", "trace_id": "md5(n::text)",
    "aggregate_id": "md5(n::text)", "stack": "repeat('x', 500)",
}  # fmt: skip
_EVENT = {
    "seq": "", "tenant_id": TENANT, "status": "'PUBLISHED'", "stream": "'axiom:events'",
    "event_type": "'CASE_CREATED'", "created_at": _RECENTLY, "occurred_at": _RECENTLY,
    "published_at": _RECENTLY, "next_retry_at": "NULL", "causation_id": "NULL",
    "replaces_id": "NULL", "trace_id": "md5(n::text)", "aggregate_id": "md5((n / 10)::text)",
}  # fmt: skip
LISTINGS = [
    Listing("events.OutboxEvent", "status__exact=PUBLISHED", "0", _EVENT),
    Listing("events.DeadLetter", "status=discarded&fingerprint=f3", "0", _LETTER),
    Listing("events.FailedAttempt", "group=bpm_engine", "00000000-0000-4000-8000-000000000000"),
    Listing("events.Retry", "group=bpm_engine", "00000000-0000-4000-8000-000000000000"),
    Listing("events.Redrive", "status__exact=done", "", {"tenant_id": TENANT, "rate": "1"}),
    Listing("watch.Alert", "status__exact=unread"),
    Listing("watch.Subscription", "severity__exact=HIGH"),
    Listing("notifications.Notification", "severity__exact=HIGH"),
    Listing(
        "notifications.Delivery", "state__exact=failed", columns={"endpoint": "NULL", "turn": "n"}
    ),
    Listing("cases.Case", "status__exact=open", columns={"reference": "'R-' || n"}),
    Listing("cases.Deadline", "status__exact=pending", columns=_PENDING),
    Listing("cases.Payment", "status__exact=pending", columns=_PENDING),
    Listing("cases.Review", "status__exact=scheduled"),
    Listing("cases.Approval", "status__exact=pending", columns=_PENDING),
    Listing("cases.CashPosition"),
    Listing("cases.Dataset"),
    Listing("cases.Comment", "deleted_at__isempty=1"),
    Listing("cases.WatchMark", "event_type=CASH_LOW", "00000000-0000-4000-8000-000000000000"),
    Listing("processes.ProcessInstance", "status__exact=RUNNING"),
    Listing("processes.WorkItem", "status__exact=TODO"),
    Listing("processes.AgentFeedback", "verdict__exact=approved"),
    Listing("documents.Document"),
    Listing("documents.Job", "state__exact=FAILED", columns=_ENDED),
    Listing("metadata.CatalogTable", "kind=VIEW"),
    Listing("metadata.CatalogColumn"),
    Listing("metadata.CatalogChange", "breaking__exact=1"),
    Listing("metadata.ExtractionRun", "state__exact=FAILED", "", _ENDED),
    Listing("metadata.GlossaryTerm"),
    Listing("oracle.CachedQuery", "status__exact=INVALID"),
    Listing("synapse.OntologyLink", "status__exact=INVALID"),
    Listing("chat.ChatMessage"),
    Listing("accounts.Membership", "role__exact=manager"),
    # Those that the memberships point to.
    Listing("accounts.User", "is_staff__exact=1", is_there=True),
    Listing("accounts.LoginSession", "kind__exact=browser"),
    Listing("axes.AccessAttempt"),
]
"""Another list that can grow is one more row."""


def console_lists(size: Size) -> Iterator[Figure]:
    """The slowest of a list's first page, a search and a filter: 95 of 100 in so much time."""
    with stage("here", 0):
        client, rows = _operator(), size.of(ROWS, 200)
        for listing in LISTINGS:
            yield _measured(listing, client, rows, size.of(REQUESTS, 1))


def _operator() -> Client:
    """Runs the platform, because some lists are for the platform only, and acts for a tenant."""
    tenant = Tenant.objects.create(name="Bench", slug="bench")
    user = User.objects.create_superuser("alice@bench.example", "correct horse", name="Alice")
    client = Client()
    client.force_login(user)
    client.post(reverse("admin:tenant"), {"tenant": str(tenant.pk)})
    return client


def _measured(listing: Listing, client: Client, rows: int, times: int) -> Figure:
    model = apps.get_model(listing.model)
    if not listing.is_there:
        fill(model, rows, {**listing.columns, **_of_the_tenant(model)})
    asked = {name: _times(client, url, times) for name, url in _pages(model, listing, rows)}
    if model._meta.app_label != "accounts":
        empty(model)
    slowest = max(asked, key=lambda name: quantile(asked[name], 0.95))
    times_ms, value = asked[slowest], quantile(asked[slowest], 0.95)
    return Figure(
        bench="console_lists", value=value, unit=f"ms p95, {listing.name}, {slowest}",
        against="the bar", against_value=MOST_MS, ratio=value / MOST_MS,
        bar=f"p95 <= {MOST_MS:.0f} ms", met=value <= MOST_MS,
        p50_ms=quantile(times_ms, 0.5), p99_ms=quantile(times_ms, 0.99),
    )  # fmt: skip


def _of_the_tenant(model: type[models.Model]) -> dict[str, str]:
    names = {field.name for field in model._meta.concrete_fields}
    return {"tenant": TENANT} if "tenant" in names else {}


def _pages(model: type[models.Model], listing: Listing, rows: int) -> Iterator[tuple[str, str]]:
    base = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    yield "first page", base
    if listing.q:
        yield "search", f"{base}?q={listing.q.format(n=rows // 2)}"
    if listing.filter:
        yield "filter", f"{base}?{listing.filter}"


def _times(client: Client, url: str, times: int) -> list[float]:
    """Milliseconds of each request, once everything is warm; one alone measures nothing anyway."""
    if times > 1:
        client.get(url)
    return [_milliseconds(client, url) for _ in range(times)]


def _milliseconds(client: Client, url: str) -> float:
    begin = time.perf_counter()
    answer: Any = client.get(url)
    passed = (time.perf_counter() - begin) * 1000
    assert answer.status_code == 200, (url, answer.status_code)
    return passed
