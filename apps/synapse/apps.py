from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SynapseConfig(AppConfig):
    name = "apps.synapse"
    verbose_name = _("Synapse")

    def ready(self) -> None:
        from apps.synapse import impact  # noqa: F401
