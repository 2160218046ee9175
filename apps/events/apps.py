from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class EventsConfig(AppConfig):
    name = "apps.events"
    verbose_name = _("Events")

    def ready(self) -> None:
        # Declaring an event or a consumer is enough: importing the module registers it.
        autodiscover_modules("events")
        autodiscover_modules("consumers")
        self._add_pages()
        self._add_gauges()

    def _add_pages(self) -> None:
        from apps.events.pages import EVENT_TYPES, JOURNEY, KINDS, STREAMS
        from apps.events.panels import BACKBONE
        from axiom.console.navigation import add_page
        from axiom.console.panels import add_panel

        for page in (KINDS, JOURNEY, STREAMS, EVENT_TYPES):
            add_page(page)
        add_panel(BACKBONE)

    def _add_gauges(self) -> None:
        # Importing it is enough.
        from apps.events import gauges  # noqa: F401
