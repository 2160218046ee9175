"""Rows that belong to a tenant are read and written only through it."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import models
from django.db.models.signals import m2m_changed
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from apps.events.context import current
from axiom.errors import AxiomError


class TenantMissing(AxiomError):
    """No tenant is set here: act inside a request, a message or `acting(tenant_id=...)`."""

    code, status = "tenant_missing", 403


class ForeignTenant(AxiomError):
    """There is no such thing in this tenant."""

    # Told like anything that does not exist: others shall not learn that it does elsewhere.
    code, status = "not_found", 404


def current_tenant_id() -> uuid.UUID:
    tenant_id = current().tenant_id
    if tenant_id is None:
        raise TenantMissing
    return tenant_id


class TenantQuerySet(models.QuerySet[Any]):
    """Writes many rows at once under the same rules as one."""

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        return super().bulk_create([row.claimed() for row in objs], *args, **kwargs)

    def bulk_update(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> int:
        return super().bulk_update([row.claimed() for row in objs], *args, **kwargs)

    def update(self, **changes: Any) -> int:
        if {"tenant", "tenant_id"} & set(changes):
            raise ForeignTenant("A row stays in its tenant.")
        return super().update(**changes)


class TenantManager(models.Manager.from_queryset(TenantQuerySet)):  # type: ignore[misc]
    """Sees the current tenant's rows and no others; without a tenant it refuses."""

    def get_queryset(self) -> TenantQuerySet:
        return super().get_queryset().filter(tenant_id=current_tenant_id())


class TenantOwned(models.Model):
    """Base of every row that belongs to a tenant.

    `objects` is bound to the current tenant. `across_tenants` is not: it is for workers,
    scans and migrations, which must say so. While a tenant is set, neither writes another's
    row. `full_clean()` refuses a row that points to another tenant's.
    """

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.PROTECT, related_name="+", verbose_name=_("tenant")
    )

    objects = TenantManager()
    across_tenants = models.Manager.from_queryset(TenantQuerySet)()

    tenant_id: uuid.UUID | None
    _tenant_when_read: uuid.UUID | None = None

    class Meta:
        abstract = True
        # Relations and refresh_from_db follow keys that were already checked.
        base_manager_name = "across_tenants"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.claimed()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        self.claimed()
        return super().delete(*args, **kwargs)

    @classmethod
    def from_db(cls, *args: Any, **kwargs: Any) -> Any:
        row = super().from_db(*args, **kwargs)
        row._tenant_when_read = row.__dict__.get("tenant_id")
        return row

    def claimed(self) -> Any:
        """This row, given to the current tenant if it has none; refused if it has another."""
        here = current().tenant_id
        if self.tenant_id is None:
            self.tenant_id = current_tenant_id()
        mine = uuid.UUID(str(self.tenant_id))
        if mine != (self._tenant_when_read or mine) or mine != (here or mine):
            raise ForeignTenant
        if any(_is_foreign(self, other) for other in _known_relatives(self)):
            raise ForeignTenant
        return self

    def full_clean(self, *args: Any, **kwargs: Any) -> None:
        self.claimed()
        if any(not _exists_beside(self, field) for field in _unknown_relations(self)):
            raise ForeignTenant
        super().full_clean(*args, **kwargs)


@receiver(m2m_changed)
def refuse_foreign_links(
    sender: Any, instance: Any, action: str, model: Any, pk_set: set[Any] | None, **kwargs: Any
) -> None:
    """Many-to-many links are written beside `save()`: the same rule holds for them."""
    both = isinstance(instance, TenantOwned) and issubclass(model, TenantOwned)
    if not both or action != "pre_add" or not pk_set:
        return
    beside = model.across_tenants.filter(pk__in=pk_set, tenant_id=instance.tenant_id)
    if beside.count() != len(pk_set):
        raise ForeignTenant


def _relations(row: TenantOwned) -> Iterator[Any]:
    for field in row._meta.concrete_fields:
        target = field.related_model
        if isinstance(target, type) and issubclass(target, TenantOwned):
            yield field


def _known_relatives(row: TenantOwned) -> Iterator[TenantOwned]:
    """Relatives that are in memory already: looking at them costs nothing."""
    for field in _relations(row):
        other = field.get_cached_value(row, default=None)
        if other is not None:
            yield other


def _is_foreign(row: TenantOwned, other: TenantOwned) -> bool:
    return other.tenant_id is not None and str(other.tenant_id) != str(row.tenant_id)


def _unknown_relations(row: TenantOwned) -> Iterator[Any]:
    for field in _relations(row):
        if not field.is_cached(row) and getattr(row, field.attname) is not None:
            yield field


def _exists_beside(row: TenantOwned, field: Any) -> bool:
    key = {field.target_field.attname: getattr(row, field.attname)}
    beside = field.related_model.across_tenants.filter(tenant_id=row.tenant_id, **key)
    return bool(beside.exists())
