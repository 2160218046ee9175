from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "apps.notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        from apps.notifications import observe  # noqa: F401  (registers itself)
        from apps.notifications.panels import DELIVERIES
        from axiom.console.row_panels import add_row_panel

        add_row_panel(DELIVERIES)
