"""The words of the business, and the columns they are found in."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.events.outbox import publish
from apps.metadata.diff import Change
from apps.metadata.errors import NoSuchColumn
from apps.metadata.events import GlossaryUpdated
from apps.metadata.models import CatalogColumn, DataSource, GlossaryTerm
from apps.metadata.services import announce
from apps.metadata.services.store import remember


@transaction.atomic
def define_term(
    *,
    datasource: DataSource,
    term: str,
    definition: str,
    synonyms: Sequence[str] = (),
    related_columns: Sequence[str] = (),
) -> GlossaryTerm:
    """Define a term, or redefine it."""
    datasource = DataSource.objects.select_for_update().get(pk=datasource.pk)
    _must_be_there(datasource, related_columns)
    known = GlossaryTerm.objects.filter(datasource=datasource, term=term).first()
    before = _facts(known) if known else None
    row = known or GlossaryTerm(datasource=datasource, term=term)
    row.definition = definition
    row.synonyms, row.related_columns = _once(synonyms), _once(related_columns)
    if before == _facts(row):
        return row
    row.full_clean()
    row.save()
    remember(datasource, [Change("term_changed", "", "", term, before, _facts(row))])
    publish(_updated(row, "upsert", str(before["definition"]) if before else None))
    return row


@transaction.atomic
def delete_term(*, term: GlossaryTerm) -> None:
    """Take a term out of the glossary."""
    datasource = DataSource.objects.select_for_update().get(pk=term.datasource_id)
    term = GlossaryTerm.objects.select_related("datasource").get(pk=term.pk)
    remember(datasource, [Change("term_changed", "", "", term.term, _facts(term), None)])
    publish(_updated(term, "delete", term.definition))
    term.delete()


def _updated(row: GlossaryTerm, action: Any, previous: str | None) -> GlossaryUpdated:
    there = action == "upsert"
    return GlossaryUpdated(
        **announce.whose(row.datasource), action=action,
        term=row.term, definition=row.definition if there else None,
        synonyms=tuple(row.synonyms), related_columns=tuple(row.related_columns),
        previous_definition=previous or None,
    )  # fmt: skip


def _facts(row: GlossaryTerm) -> dict[str, object]:
    return {
        "definition": row.definition,
        "synonyms": list(row.synonyms),
        "related_columns": list(row.related_columns),
    }


def _once(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _must_be_there(datasource: DataSource, columns: Sequence[str]) -> None:
    """Names may hold dots: the whole text is compared, not its parts."""
    names = {name.rpartition(".")[2] for name in columns}
    found = CatalogColumn.objects.filter(table__datasource=datasource, name__in=names)
    known = {
        f"{schema}.{table}.{name}"
        for schema, table, name in found.values_list("table__schema", "table__name", "name")
    }
    if missing := sorted(set(columns) - known):
        raise NoSuchColumn(f"{NoSuchColumn.sentence()} {missing[0]}")
