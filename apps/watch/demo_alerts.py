"""Alerts of the last months, some answered well and some not, so that every view can be tried."""

import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases
from apps.events.context import acting

from . import services
from .matches import Match
from .models import Alert, AlertHistory
from .services.fold import idempotency_key
from .services.remember import entry, remember_all
from .severity import Severity

DAYS, PAST = 150, 150
Kind = AlertHistory.Kind
# What happened, how grave it is, and how it is told in Korean and English.
STORIES = [
    ("CASH_LOW", Severity.CRITICAL, "현금 잔액이 기준 아래로 떨어졌습니다.",
     "Cash fell below its threshold.", "A large payment was booked twice."),
    ("DEADLINE_APPROACHING", Severity.HIGH, "기한까지 하루 남았습니다.",
     "One day is left until the deadline.", "The court moved the date forward."),
    ("PAYMENT_DUE", Severity.MEDIUM, "오늘 지급할 금액이 있습니다.",
     "A payment is due today.", "The approval came late."),
    ("APPROVAL_DEADLINE_MISSED", Severity.HIGH, "승인 기한이 지났습니다.",
     "An approval was not given in time.", "The approver was away."),
    ("ISSUE_RATIO_HIGH", Severity.MEDIUM, "데이터의 문제 비율이 높습니다.",
     "Too much of the data has issues.", "A column was imported twice."),
    ("REVIEW_SCHEDULED", Severity.LOW, "곧 검토가 열립니다.",
     "A review comes up.", "It was held as planned."),
]  # fmt: skip


def load() -> None:
    """Once per company; what is there already stays as it is."""
    for tenant in accounts.active_tenants().filter(slug__in=["hanbit", "harbor"]):
        if not Alert.across_tenants.filter(tenant=tenant).exists():
            with acting(tenant_id=tenant.pk, actor="watch"):
                _fill(tenant, random.Random(tenant.slug))


def _fill(tenant: Any, chance: random.Random) -> None:
    """The past is written down at once and told to nobody; what is open was raised for real."""
    people = [each.user for each in accounts.members_of(tenant.pk).filter(role__in=_WHO)]
    known = dict(cases.cases().values_list("pk", "manager_id")[:20])
    now = timezone.now()
    past = [_past(tenant, number, now, chance, known, people) for number in range(PAST)]
    Alert.across_tenants.bulk_create(past)
    remember_all(line for alert in past for line in _history(alert))
    open_ones = [_match(tenant, n, now - timedelta(minutes=9 * n), chance, known) for n in range(6)]
    services.raise_alerts(open_ones, now=now)


_WHO = ["manager", "attorney"]
Managers = Mapping[UUID, UUID | None]


def _match(tenant: Any, number: int, at: datetime, chance: random.Random, known: Managers) -> Match:
    event_type, severity, korean, english, _ = STORIES[number % len(STORIES)]
    return Match(
        tenant_id=tenant.pk, subscription_id=None, severity=severity, event_type=event_type,
        aggregate_type="case", aggregate_id=f"demo-open-{number}",
        case_id=chance.choice(list(known)) if known else None, event_id=None, occurred_at=at,
        message=korean if tenant.slug == "hanbit" else english, facts={"demo": True},
    )  # fmt: skip


def _past(
    tenant: Any, number: int, now: datetime, chance: random.Random, known: Managers, people: Any
) -> Alert:
    """Most were acknowledged in minutes and resolved in hours."""
    event_type, severity, korean, english, cause = chance.choice(STORIES)
    began = now - timedelta(days=2 + DAYS * chance.random())
    seen = began + timedelta(minutes=chance.expovariate(1 / 5))
    done = min(now, seen + timedelta(hours=chance.expovariate(1 / 6)))
    case_id, by = chance.choice(list(known)) if known else None, chance.choice(people)
    wrong = chance.random() < 0.07
    thing = f"demo-{number}"
    return Alert(
        tenant=tenant, event_type=event_type, severity=severity, aggregate_type="case",
        aggregate_id=thing, case_id=case_id, team_lead_id=known.get(case_id) if case_id else None,
        idempotency_key=idempotency_key(tenant.pk, event_type, thing, began),
        message=korean if tenant.slug == "hanbit" else english, facts={"demo": True},
        caused_at=began, detected_at=began, last_seen_at=began, raised_at=began,
        first_acknowledged_at=seen, acknowledged_at=seen, acknowledged_by=by, settled_by=by,
        status=Alert.Status.DISMISSED if wrong else Alert.Status.RESOLVED,
        dismissed_at=done if wrong else None, resolved_at=None if wrong else done,
        false_positive=wrong, root_cause="" if wrong else cause,
    )  # fmt: skip


def _history(alert: Alert) -> Iterator[AlertHistory]:
    yield entry(alert, Kind.RAISED, at=alert.raised_at, note=alert.message)
    with acting(actor=alert.acknowledged_by.email if alert.acknowledged_by else ""):
        if alert.acknowledged_at:
            yield entry(alert, Kind.ACKNOWLEDGED, at=alert.acknowledged_at)
        if alert.dismissed_at:
            yield entry(alert, Kind.DISMISSED, at=alert.dismissed_at, false_positive=True)
        if alert.resolved_at:
            yield entry(alert, Kind.RESOLVED, at=alert.resolved_at, root_cause=alert.root_cause)
