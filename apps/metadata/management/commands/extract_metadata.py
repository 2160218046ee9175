"""`manage.py extract_metadata NAME`: read a data source now and see how far it is."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.metadata import services
from apps.metadata.introspection import Progress as Step
from apps.metadata.models import CatalogChange, DataSource, ExtractionRun
from axiom.errors import AxiomError

LISTED = 50


class Command(BaseCommand):
    help = "Reads the structure of a data source into the catalog."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the data source")
        parser.add_argument("--tenant", help="the tenant's slug, where several have such a source")

    def handle(self, *args: Any, name: str, tenant: str | None, **options: Any) -> None:
        datasource = _found(name, tenant)
        console = Console(file=getattr(self.stdout, "_out", sys.stdout))
        with acting(tenant_id=datasource.tenant_id, actor="command line"):
            try:
                run = services.request_extraction(datasource=datasource, here=True)
                with _bar(console) as bar:
                    run = services.run_extraction(run.pk, _Watcher(bar))
            except AxiomError as error:
                raise CommandError(error.message) from None
            _tell(console, run)
        if run.state != ExtractionRun.State.DONE:
            sys.exit(1)


def _found(name: str, tenant: str | None) -> DataSource:
    rows = DataSource.across_tenants.filter(name=name)
    if tenant:
        rows = rows.filter(tenant__in=accounts.active_tenants().filter(slug=tenant))
    found = list(rows[:2])
    if not found:
        raise CommandError(f"No data source is called {name}.")
    if len(found) > 1:
        raise CommandError(f"Several tenants have a data source {name}: choose with --tenant.")
    return found[0]


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console,
    )  # fmt: skip


class _Watcher:
    """Shows each step as a bar of its own."""

    def __init__(self, bar: Progress) -> None:
        self.bar, self.tasks = bar, dict[str, Any]()

    def __call__(self, step: Step) -> None:
        if step.step not in self.tasks:
            label = str(ExtractionRun.Step(step.step).label)
            self.tasks[step.step] = self.bar.add_task(label, total=None)
        total = step.total or None
        self.bar.update(self.tasks[step.step], completed=step.done, total=total)


def _tell(console: Console, run: ExtractionRun) -> None:
    console.print(
        f"{run.get_state_display()}: {run.tables_count} tables, {run.columns_count} columns; "
        f"{run.added_count} added, {run.removed_count} removed, {run.changed_count} changed, "
        f"{run.breaking_count} breaking"
    )
    if run.error or run.held_because:
        console.print(run.error or run.held_because)
    changes = CatalogChange.objects.filter(run=run).exclude(kind="table_added")[:LISTED]
    if changes:
        console.print(_table(changes))


def _table(changes: Any) -> Table:
    table = Table("what", "where", "breaking", "why")
    for each in changes:
        place = ".".join(part for part in (each.schema, each.table, each.name) if part)
        table.add_row(each.get_kind_display(), place, "yes" if each.breaking else "", each.reason)
    return table
