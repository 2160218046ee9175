"""Who is told of what: made, changed, silenced for a while, taken back."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events import catalog
from apps.events.errors import UnknownEventType
from apps.events.groups import GROUPS
from apps.watch.errors import NotAColleague, NothingToWatch, NotWatchable, SnoozeEndsBefore
from apps.watch.models import Subscription
from apps.watch.rules import event_types_of, is_windowed, parse

GROUP = "watch_cep_group"
LONGEST_SNOOZE = timedelta(days=30)


@transaction.atomic
def subscribe(
    *, rule: dict[str, Any], event_types: Iterable[str] = (), **given: Any
) -> Subscription:
    """Tell somebody from now on when this rule matches."""
    subscription = Subscription(rule=rule, event_types=list(event_types), **given)
    _refuse_strangers(subscription)
    _watch_from_now(subscription)
    subscription.full_clean()
    subscription.save(force_insert=True)
    _rebuild_on_commit(subscription)
    return subscription


@transaction.atomic
def change_subscription(*, subscription: Subscription, **changes: Any) -> Subscription:
    """Change a subscription. Another rule begins anew, with what is stored of the past."""
    _hold(subscription)
    before = _what_is_watched(subscription)
    for name, value in changes.items():
        setattr(subscription, name, value)
    _refuse_strangers(subscription)
    subscription.rule, subscription.event_types = _checked(subscription)
    if _what_is_watched(subscription) != before and subscription.is_active:
        subscription.revision += 1
        _watch_from_now(subscription)
    subscription.full_clean()
    subscription.save()
    _rebuild_on_commit(subscription)
    return subscription


def release_from_quarantine(*, subscription: Subscription) -> Subscription:
    """Let a rule that was set aside try again."""
    with transaction.atomic():
        _hold(subscription)
        subscription.revision += 1
        _watch_from_now(subscription)
        subscription.save()
        _rebuild_on_commit(subscription)
    return subscription


def _hold(subscription: Subscription) -> None:
    """Make it what it is now: the watch may have set it aside since somebody looked at it."""
    rows = Subscription.across_tenants.select_for_update(no_key=True)
    subscription.refresh_from_db(from_queryset=rows)


def unsubscribe(*, subscription: Subscription) -> None:
    subscription.delete()


def snooze(*, subscription: Subscription, until: datetime, now: datetime) -> Subscription:
    """Tell its owner nothing until then. Alerts are made all the same."""
    if not now < until <= now + LONGEST_SNOOZE:
        raise SnoozeEndsBefore
    subscription.snoozed_until = until
    subscription.save(update_fields=["snoozed_until", "updated_at"])
    return subscription


def wake(*, subscription: Subscription) -> Subscription:
    """End a snooze before its time."""
    subscription.snoozed_until = None
    subscription.save(update_fields=["snoozed_until", "updated_at"])
    return subscription


def watchable(event_types: Iterable[str]) -> list[str]:
    """The types' own names; those that nobody could be told of are refused."""
    return sorted({_watchable(name) for name in event_types})


def _watchable(name: str) -> str:
    try:
        event_class = catalog.event_class_of(name)
    except UnknownEventType as error:
        raise NotWatchable(error.message) from error
    if event_class.stream not in GROUPS[GROUP].streams:
        raise NotWatchable(f"{event_class.type}: {NotWatchable.sentence()}")
    return event_class.type


def _what_is_watched(subscription: Subscription) -> tuple[Any, ...]:
    return subscription.rule, subscription.event_types, subscription.is_active


def _checked(subscription: Subscription) -> tuple[dict[str, Any], list[str]]:
    """The rule and the types it looks at, in their own names."""
    rule = parse(subscription.rule)
    named = event_types_of(rule)
    types = watchable(named or subscription.event_types or ())
    if not types:
        raise NothingToWatch
    return rule.model_dump(mode="json", exclude_unset=True), types


def _watch_from_now(subscription: Subscription) -> None:
    subscription.rule, subscription.event_types = _checked(subscription)
    subscription.rule_since = timezone.now()
    subscription.rebuild_due = is_windowed(parse(subscription.rule))
    subscription.quarantined_at, subscription.quarantine_reason = None, ""


def _refuse_strangers(subscription: Subscription) -> None:
    """People are told only of what happens where they work."""
    if subscription.user_id is None:
        return
    tenant_id = subscription.claimed().tenant_id
    if not accounts.members_of(tenant_id).filter(user_id=subscription.user_id).exists():
        raise NotAColleague


def _rebuild_on_commit(subscription: Subscription) -> None:
    """Soon; the scan for what is left to rebuild makes sure of it."""
    from apps.watch.tasks import rebuild_windows

    if subscription.rebuild_due:
        key = str(subscription.pk)
        transaction.on_commit(lambda: rebuild_windows.delay(key), robust=True)
