"""What apps show on the console's first page: how things stand now."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from axiom.permissions import may
from axiom.roles import EVERYONE, Roles


class Panel(NamedTuple):
    """A part of the first page: what `contents` finds, as `template` shows it."""

    position: int
    template: str
    contents: Callable[[HttpRequest], dict[str, Any]]
    roles: Roles = EVERYONE


_panels: list[Panel] = []


def add_panel(panel: Panel) -> None:
    """Put a panel on the first page; called from an AppConfig.ready()."""
    _panels.append(panel)


def shown_panels(request: HttpRequest) -> list[SafeString]:
    """The panels this person may see, from top to bottom."""
    mine = [panel for panel in _panels if may(request, panel.roles)]
    return [
        render_to_string(panel.template, panel.contents(request), request=request)
        for panel in sorted(mine, key=lambda panel: panel.position)
    ]
