from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OracleConfig(AppConfig):
    name = "apps.oracle"
    verbose_name = _("Oracle")

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from apps.oracle import finding, impact, vectors  # noqa: F401

        post_migrate.connect(vectors.add_where_possible, sender=self)
