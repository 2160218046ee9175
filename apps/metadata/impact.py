"""What in the catalog itself depends on a table or a column: foreign keys and terms."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metadata.models import CatalogTable, GlossaryTerm
from apps.metadata.selectors import impact
from apps.metadata.selectors.impact import Affected, Target

Wanted = dict[tuple[str, str], list[Target]]


@impact.affects("foreign_key", label=gettext_lazy("foreign keys"), page="metadata_catalogtable")
def links_to(datasource: str, targets: Sequence[Target]) -> Iterator[Affected]:
    """Foreign keys of other tables that point here."""
    wanted = _by_table(targets)
    for row in _referring(datasource, wanted).only("id", "schema", "name", "foreign_keys"):
        for link in row.foreign_keys:
            target = _hit(link, wanted)
            if target and (row.schema, row.name) != target[:2]:
                how = _("It refers to %(table)s.") % {"table": ".".join(target[:2])}
                yield Affected("foreign_key", str(row.pk), f"{row}.{link['name']}", how, target)


def _by_table(targets: Sequence[Target]) -> Wanted:
    wanted: Wanted = defaultdict(list)
    for target in targets:
        wanted[target[:2]].append(target)
    return wanted


# However many tables are asked for, each key is looked at once.
_POINTS_THERE = """
EXISTS (
    SELECT FROM jsonb_to_recordset(foreign_keys) AS link("schema" text, "table" text)
    WHERE (link."schema", link."table") IN (SELECT * FROM unnest(%s::text[], %s::text[]))
)
"""


def _referring(datasource: str, wanted: Wanted) -> QuerySet[Any]:
    rows = CatalogTable.objects.filter(datasource__name=datasource)
    if len(wanted) == 1:  # As most ask: there is an index for it.
        ((schema, table),) = wanted
        return rows.filter(foreign_keys__contains=[{"schema": schema, "table": table}])
    schemas, tables = [schema for schema, _ in wanted], [table for _, table in wanted]
    return rows.exclude(foreign_keys=[]).extra(where=[_POINTS_THERE], params=[schemas, tables])


def _hit(link: dict[str, Any], wanted: Wanted) -> Target | None:
    for target in wanted.get((link["schema"], link["table"]), ()):
        if target[2] is None or target[2] in link["referred"]:
            return target
    return None


@impact.affects("glossary_term", label=gettext_lazy("glossary terms"), page="metadata_glossaryterm")
def terms_of(datasource: str, targets: Sequence[Target]) -> Iterator[Affected]:
    """Terms that are found in these columns."""
    places = {_place(target): target for target in targets}
    rows = GlossaryTerm.objects.filter(datasource__name=datasource).exclude(related_columns=[])
    for term in rows:
        for target, column in _used(term.related_columns, places).items():
            how = _("It is found in %(column)s.") % {"column": column}
            yield Affected("glossary_term", str(term.pk), term.term, how, target)


def _place(target: Target) -> str:
    """A whole table ends with a dot, as does what is before a column's name."""
    schema, table, column = target
    return f"{schema}.{table}.{column or ''}"


def _used(columns: Sequence[str], places: dict[str, Target]) -> dict[Target, str]:
    """Targets among these columns, each with the first that hits it. Names may hold dots."""
    used: dict[Target, str] = {}
    for column in columns:
        for text in (
            column,
            *(column[: dot + 1] for dot, sign in enumerate(column) if sign == "."),
        ):
            if target := places.get(text):
                used.setdefault(target, column)
    return used
