"""Looks the installation over and says what to do about what is wrong."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from axiom import doctor

COLOURS = {doctor.Verdict.OK: "green", doctor.Verdict.WARN: "yellow", doctor.Verdict.FAIL: "red"}


class Command(BaseCommand):
    help = "Check the installation; every finding comes with its fix."
    # The doctor must be able to speak when the patient is in no state to be checked by Django.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "checks", nargs="*", metavar="check", help="only these, such as database or workers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if unknown := set(options["checks"]) - set(doctor.known()):
            names = ", ".join(doctor.known())
            raise CommandError(f"No check is called {unknown.pop()!r}. There are: {names}.")
        rows = doctor.examine(*options["checks"])
        console = Console()
        with console.capture() as said:
            console.print(_table(rows))
        self.stdout.write(said.get())
        if any(row.verdict is doctor.Verdict.FAIL for row in rows):
            sys.exit(1)


def _table(rows: list[doctor.Row]) -> Table:
    table = Table("Check", "", "Seen", box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(row.name, Text(row.verdict, style=COLOURS[row.verdict]), _seen(row))
    return table


def _seen(row: doctor.Row) -> Text:
    """What was seen and, below it, what to do."""
    fix = [("\n→ " + row.fix, "bold")] if row.fix else []
    return Text.assemble(row.seen, *fix)
