from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CasesConfig(AppConfig):
    name = "apps.cases"
    verbose_name = _("Cases")

    def ready(self) -> None:
        from apps.cases.selectors import timeline
        from apps.cases.timeline import TOPICS

        for topic in TOPICS:
            timeline.add(topic)
