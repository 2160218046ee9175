"""`manage.py runworker relay watch_cep`: takes the name from Channels on purpose.

Channels has a command of this name that Axiom does not use; `apps.events` stands before
`channels` in INSTALLED_APPS so that this one is found.
"""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.events import workers
from apps.events.groups import RELAY, WORKERS, groups_of
from apps.events.handlers import active_groups
from axiom.startup import settle_garbage


class Command(BaseCommand):
    help = "Run workers until SIGTERM or Ctrl-C: the relay, consumer groups, or all of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "workers", nargs="*", metavar="worker", help=f"all, {', '.join(WORKERS)}"
        )
        parser.add_argument("--list", action="store_true", help="show the workers and their groups")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._show_workers()
            return
        if not options["workers"]:
            raise CommandError("Say which workers: `runworker all`, or see `runworker --list`.")
        try:
            names = workers.names(options["workers"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        settle_garbage()
        workers.run(names, self._stopped_by_signals())

    def _show_workers(self) -> None:
        active = active_groups()
        for worker in WORKERS:
            groups = [
                f"{g.name}{' (ordered)' if g.ordered else ''}{'' if g.name in active else ' -'}"
                for g in groups_of(worker)
            ]
            what = "outbox -> streams, housekeeping" if worker == RELAY else ", ".join(groups)
            self.stdout.write(f"{worker:<16}{what}")
        self.stdout.write("A group marked - has no handler yet.")

    @staticmethod
    def _stopped_by_signals() -> threading.Event:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        return stop
