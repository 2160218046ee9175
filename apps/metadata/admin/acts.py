"""What the pages of the catalog share: actions that go row by row."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from axiom.console.admin import TenantAdmin
from axiom.errors import AxiomError


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
