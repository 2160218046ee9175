"""`manage.py journey ID`: what happened to an event, in a trace, or to an aggregate."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from apps.events import selectors
from apps.events.selectors import Kind, Step

COLOURS = {
    Kind.FAILED: "yellow", Kind.GIVEN_UP: "red", Kind.HANDLED: "green", Kind.WAITING: "cyan",
}  # fmt: skip


class Command(BaseCommand):
    help = "Show everything that happened to an event, in a trace, or to an aggregate, in order."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="of an event, a trace or an aggregate")
        parser.add_argument("--after", type=int, default=0, help="where the page begins")

    def handle(self, *args: Any, **options: Any) -> None:
        told = selectors.journey_of(options["id"], tenant_id=None, after=options["after"])
        if told is None:
            raise CommandError(f"Nothing is known under {options['id']!r}.")
        # In a pipe nobody needs lines to be broken.
        console = Console(width=None if sys.stdout.isatty() else 240)
        with console.capture() as said:
            console.print(_table(told))
        self.stdout.write(said.get().rstrip("\n"))
        if told.next_after:
            self.stdout.write(f"There is more: journey {told.id} --after {told.next_after}")
        elif told.cut:
            self.stdout.write("More happened than is shown here.")


def _table(told: selectors.Journey) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("When (UTC)", "What", "Event", "Group"):
        table.add_column(name, no_wrap=True)
    table.add_column("Details")
    for step in told.steps:
        when = f"{step.at:%Y-%m-%d %H:%M:%S.%f}"[:-3] if step.at else "not yet"
        what = Text(_what(step), style=COLOURS.get(step.kind, ""))
        table.add_row(when, what, step.event_type, step.group, Text(_details(step)))
    return table


def _what(step: Step) -> str:
    return f"{step.kind.label} #{step.attempt}" if step.attempt else str(step.kind.label)


def _details(step: Step) -> str:
    return " · ".join(filter(None, (step.text[:300], step.by)))
