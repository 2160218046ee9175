from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WatchConfig(AppConfig):
    name = "apps.watch"
    verbose_name = _("Watch")

    def ready(self) -> None:
        from apps.watch import gauges  # noqa: F401  (registers what /metrics asks)
        from apps.watch.pages import SLA
        from axiom.console.navigation import add_page

        add_page(SLA)
