"""Cached queries in the console."""

from django.contrib import admin

from apps.oracle import services
from apps.oracle.models import CachedQuery
from axiom.console.checked import CheckedAdmin
from axiom.references import Report


@admin.register(CachedQuery)
class CachedQueryAdmin(CheckedAdmin):
    icon, position = "manage_search", 65
    written = ("datasource_name", "question", "sql", "engine", "default_schema")

    list_display = ("question", "datasource_name", "shown_status", "shown_reason", "created_at")
    search_fields = ("question",)
    ordering = ("-created_at",)

    def store(self, row: CachedQuery) -> None:
        services.change_query(row)

    def recheck(self, datasource_name: str) -> Report:
        return services.check_queries(datasource_name)
