from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MetadataConfig(AppConfig):
    name = "apps.metadata"
    verbose_name = _("Metadata")

    def ready(self) -> None:
        from apps.metadata import impact  # noqa: F401  (importing it registers it)
        from apps.metadata.pages import BROWSER, COMPARE, IMPACT
        from axiom.console.navigation import add_page

        for page in (BROWSER, COMPARE, IMPACT):
            add_page(page)
