"""Who is affected when a table or a column changes."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from apps.metadata import selectors
from apps.metadata.models import CatalogColumn, DataSource
from apps.metadata.pages.show import acts, asked, grouped, page
from apps.metadata.selectors import browse as known


def impact(request: HttpRequest) -> HttpResponse:
    """`?source=&schema=&table=`, and `&column=` for one column of it."""
    names = ("source", "schema", "table", "column")
    given = dict(zip(names, asked(request, *names), strict=True))
    context: dict[str, Any] = {"title": _("Impact of a change"), "given": given}
    if acts():
        context["sources"] = [each.row for each in known.sources()]
        if all((given["source"], given["schema"], given["table"])):
            context |= _found(**given)
    return page(request, "metadata/impact.html", context)


def _found(source: str, schema: str, table: str, column: str) -> dict[str, Any]:
    affected = selectors.impact.affected_by(source, [(schema, table, column or None)])
    columns = _columns(source, schema, table)
    return {"asked": True, "columns": columns, "groups": grouped(affected)}


def _columns(source: str, schema: str, table: str) -> list[CatalogColumn]:
    datasource = DataSource.objects.filter(name=source).first()
    row = known.table_called(datasource, schema, table) if datasource else None
    return known.columns_of(row) if row else []
