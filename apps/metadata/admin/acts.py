"""What the pages of the catalog share: actions that go row by row."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from apps.metadata.models import DataSource
from axiom.console.admin import TenantAdmin
from axiom.errors import AxiomError


class OfSource(admin.SimpleListFilter):
    """The data sources that this person may see: Django's own filter would ask for a tenant."""

    title, parameter_name = _("data source"), "datasource"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        sources = admin.site.get_model_admin(DataSource).get_queryset(request)
        return [(str(pk), name) for pk, name in sources.order_by("name").values_list("pk", "name")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(datasource_id=self.value()) if self.value() else rows


class CatalogAdmin(TenantAdmin):
    """Rows of the catalog; an action that is refused for one goes on with the others."""

    show_full_result_count = False

    def act(self, request: HttpRequest, rows: Any, what: str, do: Callable[[Any], Any]) -> None:
        done = 0
        for row in rows:
            try:
                do(row)
            except AxiomError as refusal:
                self.message_user(request, f"{row}: {gettext(refusal.message)}", messages.ERROR)
                continue
            self.log_change(request, row, what)
            done += 1
        said = ngettext("%(count)d was done.", "%(count)d were done.", done)
        self.message_user(request, said % {"count": done}, messages.SUCCESS)
