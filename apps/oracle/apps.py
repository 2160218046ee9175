from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OracleConfig(AppConfig):
    name = "apps.oracle"
    verbose_name = _("Oracle")
