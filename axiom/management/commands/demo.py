"""Loads the demo's data, or empties and loads it anew."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from axiom import demo


class Command(BaseCommand):
    help = "Load the demo's companies and people, or empty them and begin anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["load", "reset"])
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
        if once and not demo.load_once():
            return "The demo was loaded here before."
        if not once:
            demo.load()
        return f"The demo is loaded: login {demo.LOGIN} / {demo.PASSWORD}"
