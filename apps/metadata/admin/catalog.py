"""Tables and columns: looked up, described and tagged."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from apps.metadata import services, wording
from apps.metadata.admin.acts import CatalogAdmin, OfSource
from apps.metadata.models import CatalogChange, CatalogColumn, CatalogTable
from axiom.console.admin import NOBODY, ReadOnly, TenantTabularInline
from axiom.console.groups import Group

WORDS = {"description", "tags"}


class EnrichedAdmin(CatalogAdmin):
    """The structure is read from the database; people add what it means."""

    may_add = may_delete = NOBODY

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return tuple(name for name in self.fields if name not in WORDS)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = form.cleaned_data
        if "description" in form.changed_data:
            services.describe(target=obj, description=given["description"])
        if "tags" in form.changed_data:
            _retag(type(obj).objects.get(pk=obj.pk), given["tags"] or {})


def _retag(row: Any, wanted: dict[str, Any]) -> None:
    for name in row.tags.keys() - wanted.keys():
        services.untag(target=row, name=name)
    for name, value in wanted.items():
        services.tag(target=row, name=name, value=value)


class ColumnsOfTable(ReadOnly, TenantTabularInline):
    model = CatalogColumn
    fields = readonly_fields = ("name", "dtype", "nullable", "default", "description", "comment")
    ordering = ("position",)
    show_change_link = True
    extra = 0


@admin.register(CatalogTable)
class CatalogTableAdmin(EnrichedAdmin):
    """The tables and views of all data sources."""

    group, icon, position = Group.CATALOG, "table", 12
    list_display = ("name", "schema", "datasource", "kind", "columns_count", "description")
    list_filter = (OfSource, "kind")
    exclude = ("tenant", "fingerprint")  # and what is Axiom's own bookkeeping
    search_fields = ("name", "description", "comment")
    list_select_related = ("datasource", "tenant")
    ordering = ("schema", "name")
    fields = (
        "datasource", "schema", "name", "kind", "description", "tags", "comment", "row_count",
        "partitions_count", "primary_key", "foreign_keys", "indexes", "definition",
    )  # fmt: skip
    inlines = (ColumnsOfTable,)
    actions = ("generate",)

    @admin.action(description=_("Have these described"), permissions=["change"])
    def generate(self, request: HttpRequest, tables: QuerySet[CatalogTable]) -> None:
        ask = lambda table: services.request_descriptions(table=table)
        self.act(request, tables, "descriptions requested", ask)


@admin.register(CatalogColumn)
class CatalogColumnAdmin(EnrichedAdmin):
    """The columns of all tables."""

    group, icon, position = Group.CATALOG, "view_column", 13
    list_display = ("name", "table", "dtype", "nullable", "description")
    search_fields = ("name", "description", "comment")
    list_select_related = ("table", "tenant")
    ordering = ("name",)
    fields = (
        "table", "name", "dtype", "nullable", "default", "description", "tags", "comment",
    )  # fmt: skip


@admin.register(CatalogChange)
class CatalogChangeAdmin(ReadOnly, CatalogAdmin):
    """What changed, newest first."""

    group, icon, position = Group.CATALOG, "difference", 16
    list_display = (
        "kind", "datasource", "schema", "table", "name", "was", "now", "breaking", "actor",
        "created_at",
    )  # fmt: skip
    list_filter = ("breaking", "kind", OfSource)
    search_fields = ("table", "name")
    list_select_related = ("datasource", "tenant")
    ordering = ("-created_at",)

    @display(description=_("before"))
    def was(self, change: CatalogChange) -> str:
        return wording.value(change.kind, change.before)

    @display(description=_("after"))
    def now(self, change: CatalogChange) -> str:
        return wording.value(change.kind, change.after)
