"""Loads the demo's data, empties and loads it anew, or breaks something for the tour."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from axiom import demo


class Command(BaseCommand):
    help = "Load the demo, begin it anew, or let a consumer fail and mend it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["load", "reset", "break", "mend"])
        parser.add_argument(
            "--once", action="store_true", help="not where it was loaded before, even if emptied"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(self._do(options["action"], options["once"]))
        except demo.NotInProduction as error:
            raise CommandError(str(error), returncode=2) from None

    def _do(self, action: str, once: bool) -> str:
        if action == "reset":
            demo.reset()
            return "The demo's data is as new."
        if action == "break":
            demo.break_something()
            return "Notifications of new cases now fail. Open a case, and mend it afterwards."
        if action == "mend":
            demo.mend()
            return "Notifications work again. Redrive what failed meanwhile."
        if once and not demo.load_once():
            return "The demo was loaded here before."
        if not once:
            demo.load()
        return f"The demo is loaded: login {demo.LOGIN} / {demo.PASSWORD}"
