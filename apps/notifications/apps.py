from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "apps.notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        from apps.notifications import observe  # noqa: F401  (registers itself)
