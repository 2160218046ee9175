"""Rows that belong to a tenant are read and written only through it."""

import uuid
from typing import Any

from django.db import models

from apps.events.context import current
from axiom.errors import AxiomError


class TenantMissing(AxiomError):
    """No tenant is set here: act inside a request, a message or `acting(tenant_id=...)`."""

    code, status = "tenant_missing", 403


class ForeignTenant(AxiomError):
    """This row belongs to another tenant."""

    code, status = "foreign_tenant", 403


def current_tenant_id() -> uuid.UUID:
    tenant_id = current().tenant_id
    if tenant_id is None:
        raise TenantMissing
    return tenant_id


class TenantManager(models.Manager[Any]):
    """Sees the current tenant's rows and no others; without a tenant it refuses."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(tenant_id=current_tenant_id())


class TenantOwned(models.Model):
    """Base of every row that belongs to a tenant.

    `objects` is bound to the current tenant. `across_tenants` is not: it is for workers,
    scans and migrations, which must say so.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.PROTECT, related_name="+")
    tenant_id: uuid.UUID | None

    objects = TenantManager()
    across_tenants = models.Manager()  # noqa: DJ012

    class Meta:
        abstract = True
        # Relations and refresh_from_db follow keys that were already checked.
        base_manager_name = "across_tenants"

    def save(self, *args: Any, **kwargs: Any) -> None:
        here = current().tenant_id
        if self.tenant_id is None:
            self.tenant_id = current_tenant_id()
        if here is not None and self.tenant_id != here:
            raise ForeignTenant
        super().save(*args, **kwargs)
