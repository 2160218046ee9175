from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DocumentsConfig(AppConfig):
    name = "apps.documents"
    verbose_name = _("Documents")

    def ready(self) -> None:
        from django.conf import settings

        from apps.cases.selectors import timeline
        from apps.documents import runner, signals  # noqa: F401
        from apps.documents.timeline import DOCUMENTS
        from apps.events.workers import run_beside

        for _number in range(settings.DOCUMENTS_JOBS_AT_ONCE):
            run_beside("documents", runner.loop)
        timeline.add(DOCUMENTS)
