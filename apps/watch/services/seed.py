"""Default subscriptions by role: given once, renewed while untouched, never forced on anybody."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.events.message import Message
from apps.watch.defaults import Default, defaults_of
from apps.watch.models import SeededDefault, Subscription

from .subscribe import change_subscription, subscribe

Settings = dict[str, Any]


def seed_new_person(message: Message) -> None:
    """Give somebody who was just created what people in their role usually want to know."""
    member = accounts.members_of(message.tenant_id).filter(user_id=message.payload["user_id"])
    if person := member.first():
        with acting(tenant_id=message.tenant_id):
            seed_defaults(user=person.user, role=person.role)


@transaction.atomic
def seed_defaults(*, user: Any, role: str) -> int:
    """Give or renew a person's defaults in the current tenant; returns how many changed.

    What they changed is theirs, and what they deleted stays deleted.
    """
    given = {row.key: row for row in SeededDefault.objects.filter(user=user)}
    return sum(_seed(user, default, given.get(default.key)) for default in defaults_of(role))


def seed_tenant() -> int:
    """The same for everybody in the current tenant."""
    from axiom.tenancy import current_tenant_id

    members = accounts.members_of(current_tenant_id())
    return sum(seed_defaults(user=member.user, role=member.role) for member in members)


def _seed(user: Any, default: Default, given: SeededDefault | None) -> bool:
    wanted = _settings(default, user.language)
    if given is None:
        made = subscribe(user=user, **wanted)
        SeededDefault.objects.create(
            user=user, key=default.key, subscription=made, fingerprint=fingerprint(made)
        )
        return True
    return _renew(given, wanted)


def _renew(given: SeededDefault, wanted: Settings) -> bool:
    subscription = given.subscription
    if subscription is None or _is_their_own(subscription, given):
        return False
    change_subscription(subscription=subscription, **wanted)
    before, given.fingerprint = given.fingerprint, fingerprint(subscription)
    given.save(update_fields=["fingerprint"])
    return before != given.fingerprint


def _is_their_own(subscription: Subscription, given: SeededDefault) -> bool:
    """Whether somebody changed it, or gave it to somebody else."""
    other = subscription.user_id != given.user_id
    return other or fingerprint(subscription) != given.fingerprint


def _settings(default: Default, language: str) -> Settings:
    with translation.override(language):
        name = gettext(default.name)
    return {
        "name": name,
        "event_types": list(default.event_types),
        "rule": default.rule,
        "severity": default.severity,
        "channels": list(default.channels),
    }


def fingerprint(subscription: Subscription) -> str:
    """Changes when its owner changes anything but a snooze."""
    return hashlib.sha256(json.dumps(list(_told(subscription))).encode()).hexdigest()


def _told(subscription: Subscription) -> Iterator[Any]:
    yield from (subscription.name, sorted(subscription.event_types), subscription.severity)
    yield json.dumps(subscription.rule, sort_keys=True)
    yield from (sorted(subscription.channels), subscription.is_active)
    yield from (str(subscription.mute_from), str(subscription.mute_until))
