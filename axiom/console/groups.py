"""What an operator does: the groups of the sidebar, from top to bottom."""

from enum import Enum
from typing import Any

from django.utils.translation import gettext_lazy as _


class Group(Enum):
    ALERTS = "alerts"
    EVENTS = "events"
    CATALOG = "catalog"
    WORK = "work"
    PEOPLE = "people"

    @property
    def title(self) -> Any:
        return _TITLES[self]


_TITLES = {
    Group.ALERTS: _("Alerts"),
    Group.EVENTS: _("Events"),
    Group.CATALOG: _("Catalog"),
    Group.WORK: _("Work"),
    Group.PEOPLE: _("People"),
}
