"""How much something matters."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Severity(models.TextChoices):
    """Kept as its name; compared by `rank`."""

    LOW = "LOW", _("Information")
    MEDIUM = "MEDIUM", _("Warning")
    HIGH = "HIGH", _("Urgent")
    CRITICAL = "CRITICAL", _("Critical")

    @property
    def rank(self) -> int:
        return _RANKS[self.value]


_RANKS = {name: rank for rank, name in enumerate(Severity.values)}
