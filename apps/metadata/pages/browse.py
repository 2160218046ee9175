"""The browser of the catalog: a tree on the left, what was chosen on the right."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.metadata import services, wording
from apps.metadata.models import CatalogColumn, CatalogTable, DataSource, ExtractionRun
from apps.metadata.pages.show import acts, asked, link, may_keep, page, refuse
from apps.metadata.selectors import browse as known
from apps.metadata.selectors import finding
from apps.metadata.selectors.browse import Reach, Source
from apps.metadata.structure import VIEWS
from axiom.errors import AxiomError


@dataclass(frozen=True, slots=True)
class Branch:
    """What is below something: its nodes, and where there are more of them."""

    nodes: list["Node"] = field(default_factory=list)
    earlier: str = ""
    later: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the tree. `inside` fetches what is below it, `branch` is that where it is open."""

    key: str
    label: str
    hint: Any
    icon: str
    link: str = ""
    inside: str = ""
    branch: Branch | None = None

    @property
    def opens(self) -> str:
        """What a screen reader calls the button that opens it."""
        return _("What is in %(name)s") % {"name": self.label}


def browse(request: HttpRequest) -> HttpResponse:
    """`?source=&schema=&table=&column=` chooses, `?q=` searches."""
    source, schema, table, q = asked(request, "source", "schema", "table", "q")
    context: dict[str, Any] = {"title": _("Catalog browser"), "q": q.strip(), "source": source}
    if acts():
        sources = known.sources()
        context |= {"sources": sources, "tree": _tree(sources, source, schema, table)}
        context |= _searched(q.strip(), source) if q.strip() else _chosen(request, sources)
    return page(request, "metadata/browse.html", context)


def _searched(q: str, source: str) -> dict[str, Any]:
    return {"found": finding.find(q, source or None), "most": finding.MOST}


def _chosen(request: HttpRequest, sources: list[Source]) -> dict[str, Any]:
    source, schema, table, column = asked(request, "source", "schema", "table", "column")
    if not source:
        return {"overview": True}
    found = known.source_called(source)
    if found is None:
        return {"gone": source}
    return _of_table(found.row, schema, table, column) if table else _of_source(found)


def _of_source(source: Source) -> dict[str, Any]:
    changes = [(each, wording.tell(each)) for each in known.changes_of(source.row)]
    error = wording.what_went_wrong(source.newest) if source.newest else ""
    return {"chosen_source": source, "changes": changes, "error": error}


def _of_table(datasource: DataSource, schema: str, name: str, column: str) -> dict[str, Any]:
    table = known.table_called(datasource, schema, name)
    if table is None:
        return {"gone": f"{schema}.{name}"}
    changes = [(each, wording.tell(each)) for each in known.changes_of(datasource, schema, name)]
    columns = [(each, _marks(table, each)) for each in known.columns_of(table)]
    return {"table": table, "datasource": datasource, "columns": columns, "chosen": column,
            "changes": changes, "is_view": table.kind in VIEWS}  # fmt: skip


def _marks(table: CatalogTable, column: CatalogColumn) -> dict[str, Any]:
    """What keys make of a column."""
    links = [each for each in table.foreign_keys if column.name in each["columns"]]
    return {"primary": column.name in table.primary_key, "links": links}


def branch(request: HttpRequest) -> HttpResponse:
    """What is below a node, for the tree to put there."""
    source, schema, table = asked(request, "source", "schema", "table")
    if not acts():
        found = Branch()
    elif not source:
        found = _tree(known.sources())
    else:
        datasource = get_object_or_404(DataSource.objects.all(), name=source)
        found = _below(datasource, schema, table, _reach(request))
    return render(request, "metadata/branch.html", {"branch": found})


def _reach(request: HttpRequest) -> Reach:
    start, end, after, before = asked(request, "start", "end", "after", "before")
    return Reach(start, end, after, before, again="again" in request.GET)


def _tree(sources: Iterable[Source], source: str = "", schema: str = "", table: str = "") -> Branch:
    """The sources; on the way to what was chosen the tree is open."""
    return Branch([_of(each.row, source, schema, table) for each in sources])


def _of(datasource: DataSource, source: str, schema: str, table: str) -> Node:
    below = _schemas(datasource, schema, table) if datasource.name == source else None
    name = datasource.name
    return Node(
        name, datasource.title or name, datasource.tables_count, "database",
        link("catalog", source=name), link("catalog-branch", source=name), below,
    )  # fmt: skip


def _below(datasource: DataSource, schema: str, table: str, reach: Reach) -> Branch:
    if not schema:
        return _schemas(datasource)
    if not table:
        return _tables(datasource, schema, reach)
    row = known.table_called(datasource, schema, table)
    return _columns(datasource, row) if row else Branch()


def _schemas(datasource: DataSource, schema: str = "", table: str = "") -> Branch:
    name, found = datasource.name, known.schemas_of(datasource)
    # One schema is what everybody wants to see.
    opened = schema or (found[0][0] if len(found) == 1 else "")
    around = Reach(around=table if schema else "")
    return Branch([
        Node(f"{name}/{each}", each, count, "schema",
             inside=link("catalog-branch", source=name, schema=each),
             branch=_tables(datasource, each, around) if each == opened else None)
        for each, count in found
    ])  # fmt: skip


def _tables(datasource: DataSource, schema: str, reach: Reach) -> Branch:
    portion = known.tables_of(datasource, schema, reach)
    where = {"source": datasource.name, "schema": schema}
    nodes = [
        Node(each.name, each.name, each.columns_count, _icon(each),
             link("catalog", **where, table=each.name),
             link("catalog-branch", **where, table=each.name))
        for each in portion.tables
    ]  # fmt: skip
    more = lambda **side: link("catalog-branch", **where, **side)
    earlier = more(before=nodes[0].key) if portion.earlier else ""
    return Branch(nodes, earlier, more(after=nodes[-1].key) if portion.later else "")


def _icon(table: CatalogTable) -> str:
    return "table_view" if table.kind in VIEWS else "table"


def _columns(datasource: DataSource, table: CatalogTable) -> Branch:
    where = {"source": datasource.name, "schema": table.schema, "table": table.name}
    return Branch([
        Node(each.name, each.name, each.dtype,
             "key" if each.name in table.primary_key else "view_column",
             link("catalog", **where, column=each.name))
        for each in known.columns_of(table)
    ])  # fmt: skip


@require_POST
def read_now(request: HttpRequest) -> HttpResponse:
    """Put a reading of a data source in line, and show how far it is."""
    if not may_keep(request):
        raise PermissionDenied
    name = request.POST.get("source", "").replace("\0", "")
    datasource = get_object_or_404(DataSource.objects.all(), name=name)
    try:
        run = services.request_extraction(datasource=datasource)
    except AxiomError as refusal:
        refuse(request, refusal)
        return HttpResponseRedirect(link("catalog", source=name))
    rows: Any = admin.site.get_model_admin(DataSource)
    rows.log_change(request, datasource, "extraction requested")
    messages.success(request, _("It is in line, and read as soon as a worker is free."))
    return HttpResponseRedirect(run_page(run))


def run_page(run: ExtractionRun) -> str:
    return reverse("admin:metadata_extractionrun_change", args=[run.pk])
