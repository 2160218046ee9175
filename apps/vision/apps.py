from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class VisionConfig(AppConfig):
    name = "apps.vision"
    verbose_name = _("Vision")

    def ready(self) -> None:
        from apps.vision import impact  # noqa: F401
