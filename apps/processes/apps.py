from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProcessesConfig(AppConfig):
    name = "apps.processes"
    verbose_name = _("Processes")
