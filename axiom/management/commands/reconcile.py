"""`manage.py reconcile [reader]`: bring the readers of the catalog back to the truth."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.oracle import services as oracle
from apps.synapse import services as synapse
from apps.vision import services as vision
from axiom.references import Report

MOST_SHOWN = 200


class Outcome(NamedTuple):
    """What was looked at, what was wrong, and the sentences about it."""

    checked: int
    wrong: int
    told: list[str]


def _of_report(report: Report) -> Outcome:
    told = [f"{row}: {row.status} {row.reason}".rstrip() for row in report.changed]
    return Outcome(report.checked, len(told), told)


def _oracle() -> Iterator[Outcome]:
    found = oracle.reindex()
    differences = {"added": found.added, "changed": found.changed, "removed": found.removed}
    told = [f"index: {count} {what}" for what, count in differences.items() if count]
    yield Outcome(found.entries, found.differences, told)
    yield _of_report(oracle.check_all_queries())


def _synapse() -> Iterator[Outcome]:
    yield _of_report(synapse.reconcile())


def _vision() -> Iterator[Outcome]:
    yield _of_report(vision.validate_all())


READERS: dict[str, Callable[[], Iterator[Outcome]]] = {
    "oracle": _oracle,
    "synapse": _synapse,
    "vision": _vision,
}


class Command(BaseCommand):
    help = "Holds what oracle, synapse and vision keep against the catalog, and mends what differs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("reader", nargs="?", choices=list(READERS), help="Only this one.")
        parser.add_argument("--tenant", help="Only this tenant, by its short name.")

    def handle(self, *args: Any, reader: str | None, tenant: str | None, **options: Any) -> None:
        out: Any = self.stdout
        console = Console(file=out, soft_wrap=True)
        names = [reader] if reader else list(READERS)
        report = Table("tenant", "reader", "checked", "wrong", "what")
        tenants = _tenants(tenant)
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("Reconciling", total=len(tenants) * len(names))
            for one in tenants:
                for name in names:
                    progress.update(task, description=f"{one.slug}: {name}")
                    _add(report, one, name)
                    progress.advance(task)
        console.print(report)


def _tenants(slug: str | None) -> list[Any]:
    found = accounts.active_tenants()
    tenants = list(found.filter(slug=slug) if slug else found)
    if slug and not tenants:
        raise CommandError(f"There is no active tenant called {slug!r}.")
    return tenants


def _add(report: Table, tenant: Any, reader: str) -> None:
    with acting(tenant_id=tenant.pk, actor="system"):
        outcomes = list(READERS[reader]())
    checked, wrong = sum(each.checked for each in outcomes), sum(each.wrong for each in outcomes)
    told = [line for each in outcomes for line in each.told][:MOST_SHOWN]
    report.add_row(tenant.slug, reader, str(checked), str(wrong), "\n".join(told))
