"""Subscriptions that show what rules can say, in both languages of the demo."""

from typing import Any

from apps.accounts import selectors as accounts
from apps.events.context import acting
from axiom.roles import Role

from . import services
from .models import Subscription

EVERY_ONE = {"type": "always"}
LARGE = {"type": "threshold", "field": "amount", "operator": ">=", "threshold": 10_000_000}
SMALL = {"type": "threshold", "field": "amount", "operator": ">=", "threshold": 10_000}
BELOW = {
    "type": "threshold", "field": "cash_balance", "operator": "<",
    "threshold": {"field": "threshold"},
}  # fmt: skip

# Short name of the company, then name, role that is told, event types, rule, severity.
SUBSCRIPTIONS: list[tuple[str, list[tuple[str, Role, list[str], dict[str, Any], str]]]] = [
    (
        "hanbit",
        [
            ("천만 원 이상 지급", Role.MANAGER, ["PAYMENT_DUE"], LARGE, "HIGH"),
            ("새 사건", Role.ADMIN, ["CASE_CREATED"], EVERY_ONE, "MEDIUM"),
            ("현금 부족", Role.ADMIN, ["CASH_LOW"], BELOW, "CRITICAL"),
            (
                "한 사건에 하루 세 번 이상 상태 변경",
                Role.MANAGER,
                ["CASE_STATUS_CHANGED"],
                {"type": "pattern", "min_count": 3, "window_hours": 24, "group_by": "case_id"},
                "MEDIUM",
            ),
            (
                "접수 후 이틀 안에 담당자 미지정",
                Role.MANAGER,
                [],
                {
                    "type": "absence",
                    "first": {"event_type": "case.created"},
                    "then": {"event_type": "case.assigned"},
                    "within_hours": 48,
                },
                "HIGH",
            ),
        ],
    ),
    (
        "harbor",
        [
            ("New cases", Role.ADMIN, ["CASE_CREATED"], EVERY_ONE, "MEDIUM"),
            ("Payments of ten thousand and more", Role.MANAGER, ["PAYMENT_DUE"], SMALL, "HIGH"),
            (
                "More than fifty thousand due in a week",
                Role.ADMIN,
                ["PAYMENT_DUE"],
                {
                    "type": "aggregate", "function": "sum", "field": "amount", "operator": ">",
                    "threshold": 50_000, "window_hours": 168,
                },
                "HIGH",
            ),
            (
                "Closed and opened again within a week",
                Role.ATTORNEY,
                [],
                {
                    "type": "sequence",
                    "first": {"event_type": "case.status_changed", "where": {
                        "type": "threshold", "field": "new_status", "operator": "==",
                        "threshold": "closed"}},
                    "then": {"event_type": "case.status_changed", "where": {
                        "type": "threshold", "field": "old_status", "operator": "==",
                        "threshold": "closed"}},
                    "within_hours": 168,
                },
                "MEDIUM",
            ),
        ],
    ),
]  # fmt: skip


def load() -> None:
    for slug, wanted in SUBSCRIPTIONS:
        tenant = accounts.active_tenants().filter(slug=slug).first()
        if tenant:
            with acting(tenant_id=tenant.pk):
                services.seed_tenant()
                _subscribe(wanted)


def _subscribe(wanted: list[tuple[str, Role, list[str], dict[str, Any], str]]) -> None:
    """What is there already stays as changed by hand."""
    known = set(Subscription.objects.values_list("name", flat=True))
    for name, role, types, rule, severity in wanted:
        if name not in known:
            services.subscribe(
                name=name, role=role.value, event_types=types, rule=rule, severity=severity
            )
