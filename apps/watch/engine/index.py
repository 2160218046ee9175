"""Which rules look at which events: compiled once per process, by tenant and event type."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from apps.events.statements import preparing_cursor
from apps.watch.models import Subscription
from apps.watch.severity import Severity

from .compiled import Compiled, Plain, compile_text


@dataclass(frozen=True, slots=True)
class Watcher:
    """A subscription with its rule compiled."""

    id: UUID
    tenant_id: UUID
    name: str
    severity: Severity
    event_types: tuple[str, ...]
    since: datetime
    revision: int
    language: str
    compiled: Compiled


class Watching(NamedTuple):
    """Who looks at an event: at it alone, or at it among others."""

    plain: tuple[tuple[datetime, Any, Watcher], ...]
    """Since when, the check, and whose it is: what the inner loop needs, ready to be unpacked."""
    windowed: tuple[Watcher, ...]


NOBODY = Watching((), ())
Broken = tuple[UUID, Exception]


@dataclass(slots=True)
class _Tenant:
    version: int
    rows: dict[str, list[Any]] = field(default_factory=dict)
    watching: dict[str, Watching] = field(default_factory=dict)


# Two texts and, nearly always, no row: arrays of a batch's tenants and a row for each of them
# take longer than holding the batch against the rules.
_STALE = """
SELECT tenant_id, coalesce(v.version, 0)
FROM unnest(string_to_array(%s, ',')::uuid[], string_to_array(%s, ',')::bigint[])
     AS k(tenant_id, version)
LEFT JOIN watch_ruleversion v USING (tenant_id)
WHERE coalesce(v.version, 0) <> k.version
"""
_COLUMNS = (
    "id", "tenant_id", "name", "severity", "event_types", "rule_since", "revision",
    "user__language", "tenant__timezone", "text",
)  # fmt: skip


class RuleIndex:
    """The rules in force. Once per batch it asks which tenants' rules changed, and reads those.

    The version is read in the batch's own transaction: a change that was committed before the
    batch began is seen by it, in every process, and no timer is involved.
    """

    def __init__(self) -> None:
        self._tenants: dict[UUID, _Tenant] = {}
        self.broken: list[Broken] = []
        """Rules that could not be compiled, until somebody asks."""

    def refresh(self, tenant_ids: Iterable[UUID]) -> None:
        wanted = set(tenant_ids)
        if stale := self._stale(wanted) if wanted else {}:
            self._load(stale)

    def watching(self, tenant_id: UUID, event_type: str) -> Watching:
        """Who looks at events of this type; compiled when the first one comes."""
        tenant = self._tenants.get(tenant_id)
        if tenant is None or event_type not in tenant.rows:
            return NOBODY
        known = tenant.watching.get(event_type)
        if known is None:
            known = tenant.watching[event_type] = self._compiled(tenant.rows[event_type])
        return known

    def forget(self, tenant_id: UUID) -> None:
        """Read this tenant's rules again at the next batch."""
        self._tenants.pop(tenant_id, None)

    def take_broken(self) -> list[Broken]:
        broken, self.broken = self.broken, []
        return broken

    def _known(self, tenant_id: UUID) -> int:
        tenant = self._tenants.get(tenant_id)
        return tenant.version if tenant else -1

    def _stale(self, tenant_ids: Collection[UUID]) -> dict[UUID, int]:
        """The tenants whose rules are not those that we know, and the version they are at."""
        names = ",".join([tenant_id.hex for tenant_id in tenant_ids])
        known = ",".join([str(self._known(tenant_id)) for tenant_id in tenant_ids])
        with preparing_cursor() as cursor:
            cursor.execute(_STALE, [names, known])
            return dict(cursor.fetchall())

    def _load(self, versions: dict[UUID, int]) -> None:
        # The version was read before the rows: what changes in between is read again next time.
        fresh = {tenant_id: _Tenant(version) for tenant_id, version in versions.items()}
        for row in rows_in_force(tenant_id__in=[t for t, v in versions.items() if v]):
            for event_type in row[4]:
                fresh[row[1]].rows.setdefault(event_type, []).append(row)
        self._tenants.update(fresh)

    def _compiled(self, rows: list[Any]) -> Watching:
        watchers = [watcher for row in rows if (watcher := self._watcher(row)) is not None]
        plain = tuple(
            (w.since, w.compiled.check, w) for w in watchers if isinstance(w.compiled, Plain)
        )
        windowed = tuple(w for w in watchers if not isinstance(w.compiled, Plain))
        return Watching(plain, windowed)

    def _watcher(self, row: Any) -> Watcher | None:
        try:
            return watcher_of(row)
        except Exception as error:  # noqa: BLE001  (whatever is wrong with it, the others go on)
            self.broken.append((row[0], error))
            return None


def watchers_of(rows: Iterable[Any]) -> tuple[dict[UUID, Watcher], dict[UUID, Exception]]:
    """The watchers of these rows, and what is wrong with those that cannot be made."""
    watchers, broken = {}, {}
    for row in rows:
        try:
            watchers[row[0]] = watcher_of(row)
        except Exception as error:  # noqa: BLE001  (whatever is wrong with it, the others go on)
            broken[row[0]] = error
    return watchers, broken


def rows_in_force(**which: Any) -> Iterable[Any]:
    """Subscriptions in force, as the columns that a watcher is made of."""
    return (
        Subscription.across_tenants.filter(is_active=True, quarantined_at=None, **which)
        .annotate(text=Cast("rule", TextField()))
        .order_by("id")
        .values_list(*_COLUMNS)
    )


def watcher_of(row: Any) -> Watcher:
    (id_, tenant_id, name, severity, types, since, revision, language, zone, text) = row
    return Watcher(
        id_, tenant_id, name, Severity(severity), tuple(types), since, revision, language or "",
        compile_text(text, zone),
    )  # fmt: skip
