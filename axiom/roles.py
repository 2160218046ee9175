"""What people may do in a tenant."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    ADMIN = "admin", _("Admin")
    MANAGER = "manager", _("Manager")
    ATTORNEY = "attorney", _("Attorney")
    ANALYST = "analyst", _("Analyst")
    ENGINEER = "engineer", _("Engineer")
    VIEWER = "viewer", _("Viewer")


Roles = frozenset[Role]

EVERYONE: Roles = frozenset(Role)
OPERATORS: Roles = EVERYONE - {Role.VIEWER}
ADMINS: Roles = frozenset({Role.ADMIN})
