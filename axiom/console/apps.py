from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    """Django's admin, with our site in place of its own."""

    default_site = "axiom.console.site.ConsoleSite"
