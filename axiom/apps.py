from django.apps import AppConfig


class AxiomConfig(AppConfig):
    """The project itself: its commands and system checks."""

    name = "axiom"
    verbose_name = "Axiom"

    def ready(self) -> None:
        # Tasks declared with shared_task find their app here, in every process.
        from axiom import timestamps  # noqa: F401
        from axiom.celery import app as celery_app  # noqa: F401
