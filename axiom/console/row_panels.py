"""What apps add to the page of a row that belongs to an app below them.

An alert's page shows how it was delivered, and watch knows nothing of deliveries: whoever does
puts a panel there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db.models import Model
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from axiom.permissions import may
from axiom.roles import EVERYONE, Roles


class RowPanel(NamedTuple):
    """A part of the page of one row: what `contents` finds about it, as `template` shows it."""

    model: str
    """Whose rows, as "watch.alert"."""
    position: int
    template: str
    contents: Callable[[HttpRequest, Any], dict[str, Any]]
    roles: Roles = EVERYONE


_panels: list[RowPanel] = []


def add_row_panel(panel: RowPanel) -> None:
    """Put a panel on the pages of a model's rows; called from an AppConfig.ready()."""
    _panels.append(panel)


def panels_of(request: HttpRequest, row: Model) -> list[SafeString]:
    """What others know of this row and this person may see, from top to bottom."""
    mine = [each for each in _panels if each.model == row._meta.label_lower]
    return [
        render_to_string(panel.template, panel.contents(request, row), request=request)
        for panel in sorted(mine, key=lambda panel: panel.position)
        if may(request, panel.roles)
    ]
