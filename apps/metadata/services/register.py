"""Which databases are read, and how to come in."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.events.context import current
from apps.metadata import credentials, introspection
from apps.metadata.errors import FileOutside, PasswordNeeded
from apps.metadata.events import TableRemoved
from apps.metadata.introspection import Address
from apps.metadata.models import CatalogTable, DataSource, Engine
from apps.metadata.services import announce


@transaction.atomic
def add_datasource(*, password: str = "", **facts: Any) -> DataSource:
    """Name a database to be read. Its password is sealed and never told again."""
    datasource = DataSource(created_by=current().actor, **facts)
    datasource.sealed_password = credentials.seal(password)
    return _checked(datasource)


@transaction.atomic
def change_datasource(
    *, datasource: DataSource, password: str | None = None, **facts: Any
) -> DataSource:
    """Change where it is or how it is read; without a password the old one stays."""
    if password is None and datasource.has_password and _leads_elsewhere(datasource, facts):
        raise PasswordNeeded
    for name, value in facts.items():
        setattr(datasource, name, value)
    if password is not None:
        datasource.sealed_password = credentials.seal(password)
    return _checked(datasource, replan="every_minutes" in facts)


_WHERE = ("engine", "host", "port", "ssl_mode")


def _leads_elsewhere(datasource: DataSource, facts: dict[str, Any]) -> bool:
    """Whoever points a source at a server of their own shall not be sent its password."""
    return any(name in facts and facts[name] != getattr(datasource, name) for name in _WHERE)


def _checked(datasource: DataSource, *, replan: bool = True) -> DataSource:
    if replan:
        minutes = datasource.every_minutes
        datasource.next_run_at = timezone.now() + timedelta(minutes=minutes) if minutes else None
    datasource.full_clean()
    if datasource.engine == Engine.SQLITE:
        _must_be_ours(datasource)
    datasource.save()
    return datasource


def _must_be_ours(datasource: DataSource) -> None:
    address = Address(Engine.SQLITE, datasource.database)
    if not address.file.name:
        raise FileOutside


@transaction.atomic
def remove_datasource(*, datasource: DataSource) -> None:
    """Forget a database and all that is known of it; its readers are told table by table."""
    tables = CatalogTable.objects.filter(datasource=datasource).values_list("schema", "name")
    announce.announce(
        datasource,
        (
            TableRemoved(**announce.whose(datasource), schema=schema, table_name=name)
            for schema, name in tables.iterator(5_000)
        ),
    )
    datasource.delete()


def try_connection(*, datasource: DataSource) -> str:
    """What the database says it is; raises why it cannot be talked to."""
    return introspection.try_connection(Address.of(datasource))


def reseal_passwords() -> int:
    """Seal every password with the newest key, so that older ones can go; says how many."""
    count = 0
    for datasource in DataSource.across_tenants.exclude(sealed_password=""):
        sealed = credentials.resealed(datasource.sealed_password)
        DataSource.across_tenants.filter(pk=datasource.pk).update(sealed_password=sealed)
        count += 1
    return count
