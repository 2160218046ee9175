from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MetadataConfig(AppConfig):
    name = "apps.metadata"
    verbose_name = _("Metadata")

    def ready(self) -> None:
        from apps.metadata import impact  # noqa: F401  (importing it registers it)
