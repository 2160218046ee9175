"""The ontology in the console, with what it stands for in data sources."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.synapse import services
from apps.synapse.models import EventLogBinding, OntologyLink, OntologyNode
from axiom.console.admin import NOBODY, TenantAdmin, TenantTabularInline
from axiom.console.checked import CheckedAdmin
from axiom.console.groups import Group
from axiom.references import Report


class LinkInline(TenantTabularInline):
    model = OntologyLink
    fields = readonly_fields = (
        "datasource_name", "schema_name", "table_name", "column_name", "status",
    )  # fmt: skip
    may_add = may_change = may_delete = NOBODY


@admin.register(OntologyNode)
class OntologyNodeAdmin(TenantAdmin):
    group, icon, position = Group.CATALOG, "hub", 70
    may_add = may_change = may_delete = CheckedAdmin.may_change

    list_display = ("name", "layer", "created_by", "created_at")
    list_filter = ("layer",)
    search_fields = ("name",)
    ordering = ("layer", "name")
    fields = ("layer", "name", "description")
    inlines = (LinkInline,)

    def save_model(self, request: HttpRequest, obj: OntologyNode, form: Any, change: bool) -> None:
        services.change_node(obj)

    def get_inlines(self, request: HttpRequest, obj: Any) -> tuple[Any, ...]:
        return self.inlines if obj else ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Links go with their node."""
        rows, counts, _forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, set(), protected


class OfSynapse(CheckedAdmin):
    def recheck(self, datasource_name: str) -> Report:
        return services.check_ontology(datasource_name)


@admin.register(OntologyLink)
class OntologyLinkAdmin(OfSynapse):
    icon, position = "link", 72
    written = ("node", "datasource_name", "schema_name", "table_name", "column_name")

    list_display = ("node", "datasource_name", "__str__", "shown_status", "shown_reason")
    list_select_related = ("node",)
    search_fields = ("node__name", "table_name", "column_name")
    ordering = ("-created_at",)

    def store(self, row: OntologyLink) -> None:
        services.change_link(row)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        if "node" in form.base_fields:
            form.base_fields["node"].queryset = OntologyNode.objects.order_by("layer", "name")
        return form


@admin.register(EventLogBinding)
class EventLogBindingAdmin(OfSynapse):
    icon, position = "timeline", 74
    written = (
        "name", "datasource_name", "schema_name", "table_name", "case_column", "activity_column",
        "timestamp_column", "resource_column",
    )  # fmt: skip

    list_display = ("name", "datasource_name", "table_name", "shown_status", "shown_reason")
    search_fields = ("name", "table_name")
    ordering = ("name",)

    def store(self, row: EventLogBinding) -> None:
        services.change_binding(row)
