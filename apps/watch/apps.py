from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WatchConfig(AppConfig):
    name = "apps.watch"
    verbose_name = _("Watch")

    def ready(self) -> None:
        from apps.cases.selectors import timeline
        from apps.watch import gauges, impact  # noqa: F401  (they register what others ask)
        from apps.watch.pages import SLA
        from apps.watch.panels import ALERTS
        from apps.watch.timeline import ON_CASES
        from axiom.console.navigation import add_page
        from axiom.console.panels import add_panel

        add_page(SLA)
        add_panel(ALERTS)
        timeline.add(ON_CASES)
