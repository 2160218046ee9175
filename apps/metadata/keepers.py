"""Who decides which databases are read, and what may go from the catalog."""

from axiom.roles import ADMINS, Role

KEEPERS = ADMINS | {Role.ENGINEER}
