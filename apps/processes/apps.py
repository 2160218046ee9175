from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProcessesConfig(AppConfig):
    name = "apps.processes"
    verbose_name = _("Processes")

    def ready(self) -> None:
        from apps.cases.selectors import timeline
        from apps.processes.pages import MY_WORK
        from apps.processes.timeline import TOPICS
        from axiom.console.navigation import add_page

        for topic in TOPICS:
            timeline.add(topic)
        add_page(MY_WORK)
