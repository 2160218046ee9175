"""Axiom watches itself: what is wrong becomes an alert like any other, until it is gone."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

import redis
from django.conf import settings
from django.db.models import Count, Max
from django.utils import translation

from apps.accounts import selectors as accounts
from apps.events import selectors as events
from apps.events.bus import BusUnavailable

from .. import system
from ..matches import Match
from ..models import Alert
from ..system import Sign
from .raise_alerts import raise_alerts
from .resolve_gone import resolve_gone

Told = tuple[UUID, Sign]


def watch_system(*, now: datetime) -> int:
    """Raise an alert for everything that is wrong now, and resolve those of what is gone.

    Returns how many signs were news.
    """
    with translation.override(settings.LANGUAGE_CODE):
        signs, judged = _signs(now)
        found = [*_of_platform(signs), *_of_letters()]
        news = [told for told in found if not _is_known(*told)]
        raise_alerts([_match(tenant_id, sign, now) for tenant_id, sign in news], now=now)
        resolve_gone(
            judged | {system.DEAD_LETTER},
            present={(tenant_id, sign.kind, sign.place) for tenant_id, sign in found},
            now=now,
        )
    return len(news)


def _signs(now: datetime) -> tuple[list[Sign], set[str]]:
    """What is wrong, and of which kinds we can say so at all."""
    try:
        return list(system.signs(events.health(now))), {system.UNREACHABLE, *system.MEASURED}
    except (redis.RedisError, BusUnavailable) as error:
        return [system.unreachable(type(error).__name__)], {system.UNREACHABLE}


def _of_platform(signs: Iterable[Sign]) -> Iterator[Told]:
    """What concerns the installation is told to the tenants that run it: all, if none is named."""
    found = list(signs)
    if found:
        yield from ((tenant_id, sign) for tenant_id in _platform_tenants() for sign in found)


def _platform_tenants() -> list[UUID]:
    tenants = accounts.active_tenants()
    if settings.WATCH_SYSTEM_TENANTS:
        tenants = tenants.filter(slug__in=settings.WATCH_SYSTEM_TENANTS)
    return list(tenants.values_list("pk", flat=True))


def _of_letters() -> Iterator[Told]:
    """A dead letter is its tenant's; what nobody can read is the platform's."""
    letters = events.letters_of(None).filter(status="open").order_by()
    rows = letters.values_list("tenant_id", "group", "stream").annotate(
        Count("pk"), Max("created_at")
    )
    known, platform = set(accounts.active_tenants().values_list("pk", flat=True)), None
    for tenant_id, group, stream, count, newest in rows:
        sign = system.dead_letters(group, stream, count, newest)
        if tenant_id not in known and platform is None:
            platform = _platform_tenants()
        for each in [tenant_id] if tenant_id in known else platform or []:
            yield each, sign


def _is_known(tenant_id: UUID, sign: Sign) -> bool:
    """Whether these very letters were told before: as long as none is added, once is enough."""
    if sign.at is None:
        return False
    alerts = Alert.across_tenants.filter(
        tenant_id=tenant_id,
        event_type=sign.kind,
        aggregate_id=sign.place,
        last_seen_at__gte=sign.at,
    )
    return bool(alerts.exists())


def _match(tenant_id: UUID, sign: Sign, now: datetime) -> Match:
    return Match(
        tenant_id=tenant_id, subscription_id=None, severity=sign.severity, event_type=sign.kind,
        aggregate_type="system", aggregate_id=sign.place, case_id=None, event_id=None,
        occurred_at=sign.at or now, message=sign.message, facts={"rule": "system", **sign.facts},
    )  # fmt: skip
