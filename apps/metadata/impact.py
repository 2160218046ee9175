"""What in the catalog itself depends on a table or a column: foreign keys and terms."""

from collections.abc import Iterator, Sequence

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.metadata.models import CatalogTable, GlossaryTerm
from apps.metadata.selectors import impact
from apps.metadata.selectors.impact import Affected, Target


@impact.affects("foreign_key")
def links_to(datasource: str, targets: Sequence[Target]) -> Iterator[Affected]:
    """Foreign keys of other tables that point here."""
    named = Q(pk=None)
    for schema, table in {target[:2] for target in targets}:
        named |= Q(foreign_keys__contains=[{"schema": schema, "table": table}])
    rows = CatalogTable.objects.filter(named, datasource__name=datasource)
    for row in rows.only("id", "schema", "name", "foreign_keys"):
        for link in row.foreign_keys:
            target = _hit(link, targets)
            if target and (row.schema, row.name) != target[:2]:
                how = _("It refers to %(table)s.") % {"table": ".".join(target[:2])}
                yield Affected("foreign_key", str(row.pk), f"{row}.{link['name']}", how, target)


def _hit(link: dict[str, object], targets: Sequence[Target]) -> Target | None:
    for target in targets:
        here = (link["schema"], link["table"]) == target[:2]
        if here and (target[2] is None or target[2] in link["referred"]):  # type: ignore[operator]
            return target
    return None


@impact.affects("glossary_term")
def terms_of(datasource: str, targets: Sequence[Target]) -> Iterator[Affected]:
    """Terms that are found in these columns."""
    for term in GlossaryTerm.objects.filter(datasource__name=datasource).exclude(
        related_columns=[]
    ):
        for schema, table, column in targets:
            place = f"{schema}.{table}."
            used = [c for c in term.related_columns if c.startswith(place)]
            if column is not None:
                used = [c for c in used if c == place + column]
            if used:
                how = _("It is found in %(column)s.") % {"column": used[0]}
                target = (schema, table, column)
                yield Affected("glossary_term", str(term.pk), term.term, how, target)
