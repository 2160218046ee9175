"""Tells who asks about a table which subscriptions would hear of its change."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metadata.selectors import impact
from apps.watch.models import Subscription

ABOUT_TABLES = ["metadata.table.removed", "metadata.column.modified"]


@impact.affects("subscription", label=gettext_lazy("subscriptions"), page="watch_subscription")
def subscriptions_on(
    datasource: str, targets: Sequence[impact.Target]
) -> Iterator[impact.Affected]:
    """Those in force whose rule is about one of these tables, or about no table in particular."""
    found = Subscription.objects.filter(
        is_active=True, quarantined_at=None, event_types__overlap=ABOUT_TABLES
    )
    called = {target[1]: target for target in reversed(targets)}
    for subscription in found:
        named = set(_named(subscription.rule))
        told = next((called[name] for name in named if name in called), None)
        told = told if named or not targets else targets[0]
        if told:
            how = _("It is told of changes of %(table)s.") % {"table": ".".join(told[:2])}
            key = str(subscription.pk)
            yield impact.Affected("subscription", key, subscription.name, how, told)


def _named(rule: Any) -> Iterator[str]:
    """The tables that a rule compares with, however deep."""
    if isinstance(rule, list):
        for each in rule:
            yield from _named(each)
    if isinstance(rule, dict):
        if rule.get("field") == "table_name" and isinstance(rule.get("threshold"), str):
            yield rule["threshold"]
        for each in rule.values():
            yield from _named(each)
