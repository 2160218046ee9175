"""`manage.py event_schemas`: hold the declared event types against what was promised."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.events import handbook, schemas


class Command(BaseCommand):
    help = "Check the declared event types against the stored schemas, or store what is new."

    def add_arguments(self, parser: ArgumentParser) -> None:
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--check", action="store_true", help="only look (the default)")
        action.add_argument(
            "--write", action="store_true", help="store new versions and compatible changes"
        )
        action.add_argument("--docs", action="store_true", help="write docs/events.md only")

    def handle(self, *args: Any, write: bool, docs: bool, **options: Any) -> None:
        if write:
            schemas.write(schemas.renewed(schemas.stored(), schemas.declared()))
        if write or docs:
            handbook.path().write_text(handbook.page(schemas.declared()))
        if not docs:
            self._check()

    def _check(self) -> None:
        kinds = schemas.declared()
        if found := schemas.findings(schemas.stored(), kinds):
            raise CommandError("\n".join(map(str, found)))
        self.stdout.write(f"{len(kinds)} event types are as promised.")
