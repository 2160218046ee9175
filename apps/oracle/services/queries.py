"""Questions with the SQL that answers them, and whether it still does."""

from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.context import current
from apps.metadata import selectors as metadata
from apps.oracle import sql
from apps.oracle.errors import QueryRefused
from apps.oracle.models import CachedQuery
from axiom.references import Renames, Report, Status, Use, Where, recheck, refer


@transaction.atomic
def cache_query(**facts: Any) -> CachedQuery:
    """Keep the SQL that answers a question, with every column that it uses."""
    return _save(CachedQuery(created_by=current().actor, **facts))


@transaction.atomic
def change_query(query: CachedQuery, /, **facts: Any) -> CachedQuery:
    for name, value in facts.items():
        setattr(query, name, value)
    return _save(query)


@transaction.atomic
def remove_query(query: CachedQuery) -> None:
    query.delete()


@transaction.atomic
def check_queries(
    datasource_name: str,
    *,
    only: Collection[Where] | None = None,
    renames: Renames | None = None,
) -> Report:
    """Hold queries against the catalog as it is: all of a source, or those on some tables."""
    report = recheck(
        CachedQuery.objects.all(), datasource_name,
        known=metadata.known_tables, only=only, renames=renames,
    )  # fmt: skip
    for query in report.mended:
        _read_again(query)
    return report


def _read_again(query: CachedQuery) -> None:
    """A star may stand for other columns than before its table was away."""
    try:
        refer(query, _uses(query), known=metadata.known_tables)
    except QueryRefused as refusal:
        query.status = Status.INVALID
        query.troubles = [{"code": "unreadable", "detail": refusal.message}]
        query.save()


def check_all_queries(datasource_name: str | None = None) -> Report:
    """Every query of the tenant; also those whose data source is not there any more."""
    names = CachedQuery.objects.order_by().values_list("datasource_name", flat=True).distinct()
    report = Report()
    for name in [datasource_name] if datasource_name else sorted(names):
        report += check_queries(name)
    return report


def _save(query: CachedQuery) -> CachedQuery:
    query.full_clean()
    if query.datasource_name not in metadata.datasource_names():
        raise ValidationError({"datasource_name": _("There is no such data source.")})
    try:
        uses = _uses(query)
    except QueryRefused as refusal:
        raise ValidationError({"sql": refusal.message}) from None
    refer(query, uses, known=metadata.known_tables)
    return query


def _uses(query: CachedQuery) -> set[Use]:
    return sql.uses_of(
        query.sql, engine=query.engine, default_schema=query.default_schema,
        look_up=lambda only: metadata.known_tables(query.datasource_name, only),
    )  # fmt: skip
