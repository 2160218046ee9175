"""The admin of things that are held against the catalog: whether they work, and why not."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import action, display

from axiom.console.admin import TenantAdmin
from axiom.console.groups import Group
from axiom.references import Checked, Report, Status
from axiom.roles import ADMINS, Role

COLOURS = {Status.VALID.label: "success", Status.INVALID.label: "danger"}
FOUND = ("shown_status", "shown_reason", "checked_at")


class CheckedAdmin(TenantAdmin):
    """Derive from it, name the fields that people write, and say how it is saved and checked."""

    group = Group.CATALOG
    may_add = may_change = may_delete = ADMINS | {Role.MANAGER, Role.ANALYST, Role.ENGINEER}
    written: ClassVar[tuple[str, ...]] = ()
    list_filter: Any = ("status", "datasource_name")
    readonly_fields: Any = FOUND
    actions: Any = ("check_now",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [*self.written, *(FOUND if obj else ())]

    @display(description=_("status"), ordering="status", label=COLOURS)
    def shown_status(self, row: Checked) -> str:
        return str(row.get_status_display())

    @display(description=_("what is wrong"))
    def shown_reason(self, row: Checked) -> str:
        return row.reason or "-"

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        self.store(obj)

    def store(self, row: Any) -> None:
        """Call the service that saves it."""
        raise NotImplementedError

    def recheck(self, datasource_name: str) -> Report:
        """Call the service that holds all of a data source against the catalog."""
        raise NotImplementedError

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What it uses goes with it; nobody deletes that otherwise."""
        rows, counts, _forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, set(), protected

    @action(description=_("Hold against the catalog now"), permissions=["change"])
    def check_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        report = Report()
        for name in _sources(queryset):
            report += self.recheck(name)
        count = len(report.changed)
        told = ngettext("%(count)d changed its status.", "%(count)d changed their status.", count)
        self.message_user(request, told % {"count": count})


def _sources(rows: QuerySet[Any]) -> Iterable[str]:
    return sorted(set(rows.values_list("datasource_name", flat=True)))
