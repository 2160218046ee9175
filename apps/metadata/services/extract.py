"""Reads a data source into the catalog: asked for, done alone, held when too much would go."""

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop as noop

from apps.events.context import acting, current
from apps.events.outbox import publish
from apps.metadata import introspection
from apps.metadata.differences import Differences, against_catalog
from apps.metadata.errors import (
    AlreadyRunning,
    ExtractionStopped,
    NotHeld,
    NotOpen,
    SourceInactive,
)
from apps.metadata.introspection import Address, Progress, Watcher
from apps.metadata.models import DataSource, ExtractionRun
from apps.metadata.models.knowledge import AFTER_EXTRACTION
from apps.metadata.services import announce
from apps.metadata.services.snapshots import keep_snapshot
from apps.metadata.services.store import counts_of, plain, store
from apps.metadata.structure import Extraction
from axiom.errors import AxiomError

log = structlog.get_logger(__name__)

TOO_MANY_REMOVALS = noop("More tables would go than this data source tolerates.")
SCHEMAS_NOT_SEEN = noop("Schemas that should be read cannot be seen.")
CRASHED = noop("The process that ran it ended: ask for it again.")
BROKE = noop("Something unexpected happened: the log says what.")
LISTED_PENDING = 1_000
TELL_SECONDS = 0.5
LOST_AFTER = timedelta(minutes=2)
State, Step = ExtractionRun.State, ExtractionRun.Step


@transaction.atomic
def request_extraction(
    *,
    datasource: DataSource,
    trigger: str = ExtractionRun.Trigger.REQUEST,
    here: bool = False,
    **facts: Any,
) -> ExtractionRun:
    """Put a reading of the source in line; a worker begins as soon as this is committed.

    Or `here`: who asks does it themselves.
    """
    if not datasource.is_active:
        raise SourceInactive
    run = ExtractionRun(
        tenant_id=datasource.tenant_id, datasource=datasource, trigger=trigger,
        requested_by=current().actor, **facts,
    )  # fmt: skip
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        raise AlreadyRunning from None
    _supersede(datasource)
    if not here:
        _send(run.pk)
    return run


def _supersede(datasource: DataSource) -> None:
    """What an earlier run found is out of date once the source is read again."""
    ExtractionRun.objects.filter(datasource=datasource, state=State.HELD).update(
        state=State.REJECTED, step=Step.OVER, note="superseded", pending=[], removals=[]
    )


def _send(run_id: UUID) -> None:
    from apps.metadata.tasks import extract

    # Should the broker be away, the scan finds the run in line.
    transaction.on_commit(lambda: extract.delay(str(run_id)), robust=True)


@transaction.atomic
def approve(*, run: ExtractionRun, note: str = "") -> ExtractionRun:
    """Let the tables of a held run go. The source is read again: what else would go is asked."""
    run = _decided(run, State.APPROVED, note)
    return request_extraction(
        datasource=run.datasource,
        trigger=ExtractionRun.Trigger.APPROVAL,
        approved_removals=run.removals,
    )


@transaction.atomic
def reject(*, run: ExtractionRun, note: str = "") -> ExtractionRun:
    """Keep the catalog as it is."""
    return _decided(run, State.REJECTED, note)


def _decided(run: ExtractionRun, state: str, note: str) -> ExtractionRun:
    run = ExtractionRun.objects.select_for_update().get(pk=run.pk)
    if run.state != State.HELD:
        raise NotHeld
    run.state, run.note, run.step = state, note, Step.OVER
    run.decided_by, run.decided_at = current().actor, timezone.now()
    run.save()
    return run


@transaction.atomic
def cancel(*, run: ExtractionRun) -> ExtractionRun:
    """Stop a run: at once while it waits, at its next step while it runs."""
    run = ExtractionRun.objects.select_for_update().get(pk=run.pk)
    if run.state not in ExtractionRun.OPEN:
        raise NotOpen
    run.cancel_asked = True
    if run.state == State.QUEUED:
        run.state, run.step, run.finished_at = State.CANCELLED, Step.OVER, timezone.now()
    run.save()
    return run


def run_extraction(run_id: UUID | str, watcher: Watcher | None = None) -> ExtractionRun:
    """Do what is in line; acting for the run's tenant and whoever asked for it."""
    run = ExtractionRun.across_tenants.select_related("datasource").get(pk=run_id)
    with (
        acting(tenant_id=run.tenant_id, actor=run.requested_by),
        _alone(run.datasource_id) as mine,
    ):
        if mine:
            run.refresh_from_db()
            if run.state in ExtractionRun.OPEN:
                _perform(run, watcher or introspection.unwatched)
    return run


@contextlib.contextmanager
def _alone(datasource_id: UUID) -> Iterator[bool]:
    """One reading of a source at a time; the lock goes with the process that holds it."""
    number = int.from_bytes(datasource_id.bytes[-8:], signed=True)
    mine = _lock("SELECT pg_try_advisory_lock(%s)", number)
    try:
        yield mine
    finally:
        if mine and connection.is_usable():
            _lock("SELECT pg_advisory_unlock(%s)", number)


def _lock(statement: str, number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [number])
        return bool(cursor.fetchone()[0])


def _perform(run: ExtractionRun, watcher: Watcher) -> None:
    _set(run, state=State.RUNNING, step=Step.CONNECTING, started_at=timezone.now())
    facts = {"run_id": str(run.pk), "datasource": run.datasource.name}
    try:
        _extract(run, watcher)
    except ExtractionStopped as stopped:
        _end(run, State.CANCELLED, error_code=stopped.code, error=stopped.message)
    except AxiomError as error:
        _end(run, State.FAILED, error_code=error.code, error=error.message[:500])
        log.warning("extraction failed", error=error.message, **facts)
    except Exception:
        _end(run, State.FAILED, error_code="broke", error=BROKE)
        log.exception("extraction broke", **facts)


def _extract(run: ExtractionRun, watcher: Watcher) -> None:
    began, tell = time.monotonic(), _Teller(run, watcher)
    extraction = introspection.read(Address.of(run.datasource), tell)
    tell(Progress(Step.COMPARING, 0, len(extraction.readings)), now=True)
    with transaction.atomic():
        run.datasource = DataSource.objects.select_for_update().get(pk=run.datasource_id)
        differences = against_catalog(run.datasource, extraction)
        tell.measure(differences)
        if because := _held_because(run, extraction, differences):
            return _hold(run, differences, because)
        watcher(Progress(Step.STORING, 0, len(differences.pairs)))
        _keep(run, extraction, differences, began)
    return None


class _Teller:
    """Writes progress into the run, now and then, and hears when it is asked to stop."""

    def __init__(self, run: ExtractionRun, watcher: Watcher) -> None:
        self.run, self.watcher, self.next = run, watcher, 0.0

    def __call__(self, progress: Progress, now: bool = False) -> None:
        self.watcher(progress)
        if now or time.monotonic() >= self.next:
            self.next = time.monotonic() + TELL_SECONDS
            _set(self.run, step=progress.step, done=progress.done, total=progress.total)
            asked = ExtractionRun.objects.filter(pk=self.run.pk, cancel_asked=True)
            if asked.exists():
                raise ExtractionStopped

    def measure(self, differences: Differences) -> None:
        self.run.added_count = len(differences.added)
        self.run.removed_count = len(differences.removed)
        self.run.changed_count = len(differences.changed)
        self.run.breaking_count = differences.breaking_count


def _held_because(
    run: ExtractionRun, extraction: Extraction, differences: Differences
) -> str | None:
    removed = {table.label for table in differences.removed}
    if run.approved_removals is not None and removed <= set(run.approved_removals):
        return None
    if extraction.missing_schemas and removed:
        return f"{SCHEMAS_NOT_SEEN} {', '.join(extraction.missing_schemas)}"
    if differences.removed_share > run.datasource.tolerated_removals:
        return TOO_MANY_REMOVALS
    return None


def _hold(run: ExtractionRun, differences: Differences, because: str) -> None:
    """Change nothing, and show what would change."""
    run.held_because = because[:500]
    run.removals = sorted(table.label for table in differences.removed)
    run.pending = [
        {"kind": each.kind, "schema": each.schema, "table": each.table, "name": each.name,
         "before": plain(each.before), "after": plain(each.after), "breaking": each.breaking,
         "reason": each.reason}
        for each in differences.changes[:LISTED_PENDING]
    ]  # fmt: skip
    run.state, run.step, run.finished_at = State.HELD, Step.OVER, timezone.now()
    run.save()


def _keep(
    run: ExtractionRun, extraction: Extraction, differences: Differences, began: float
) -> None:
    """Store and tell, in this transaction."""
    datasource = run.datasource
    store(datasource, differences, run=run)
    counts = counts_of(datasource)
    _, datasource.tables_count, datasource.columns_count, _ = counts
    datasource.identity_scope = extraction.scope
    datasource.last_extracted_at = timezone.now()
    datasource.save()
    announce.announce(datasource, announce.told(datasource, differences))
    snapshot = keep_snapshot(datasource, AFTER_EXTRACTION) if differences.changes else None
    duration = int((time.monotonic() - began) * 1000)
    kept = str(snapshot.pk) if snapshot else None
    publish(announce.extracted(datasource, differences, counts, duration, kept))
    run.tables_count, run.columns_count = datasource.tables_count, datasource.columns_count
    run.done = run.total = run.tables_count
    run.state, run.step, run.finished_at = State.DONE, Step.OVER, timezone.now()
    run.save()


def _set(run: ExtractionRun, **facts: Any) -> None:
    for name, value in facts.items():
        setattr(run, name, value)
    ExtractionRun.objects.filter(pk=run.pk).update(**facts)


def _end(run: ExtractionRun, state: str, **facts: Any) -> None:
    _set(run, state=state, step=Step.OVER, finished_at=timezone.now(), **facts)


def start_due(now: datetime) -> int:
    """Put every source in line whose time has come, and mend what was left behind."""
    _end_crashed()
    _send_lost(now)
    return sum(_start(pk, tenant_id, now) for pk, tenant_id in _due(now))


def _due(now: datetime) -> list[tuple[UUID, UUID]]:
    due = DataSource.across_tenants.filter(is_active=True, next_run_at__lte=now)
    return list(due.values_list("pk", "tenant_id"))


def _start(pk: UUID, tenant_id: UUID, now: datetime) -> bool:
    with acting(tenant_id=tenant_id), transaction.atomic():
        waiting = DataSource.objects.select_for_update(skip_locked=True)
        datasource = waiting.filter(pk=pk, is_active=True, next_run_at__lte=now).first()
        if datasource is None:
            return False
        minutes = datasource.every_minutes
        datasource.next_run_at = now + timedelta(minutes=minutes) if minutes else None
        datasource.save(update_fields=["next_run_at"])
        # While somebody has to decide, another reading would only ask the same again.
        unsettled = (*ExtractionRun.OPEN, State.HELD)
        if not minutes or datasource.runs.filter(state__in=unsettled).exists():
            return False
        request_extraction(datasource=datasource, trigger=ExtractionRun.Trigger.SCHEDULE)
        return True


def _end_crashed() -> None:
    """A run whose lock is free has no process any more."""
    running = ExtractionRun.across_tenants.filter(state=State.RUNNING)
    for pk, datasource_id, tenant_id in running.values_list("pk", "datasource_id", "tenant_id"):
        with acting(tenant_id=tenant_id), _alone(datasource_id) as free:
            if free:
                ExtractionRun.objects.filter(pk=pk, state=State.RUNNING).update(
                    state=State.FAILED, step=Step.OVER, error_code="crashed", error=CRASHED,
                    finished_at=timezone.now(),
                )  # fmt: skip


def _send_lost(now: datetime) -> None:
    """Runs in line that no worker heard of."""
    lost = ExtractionRun.across_tenants.filter(state=State.QUEUED, created_at__lt=now - LOST_AFTER)
    for pk in lost.values_list("pk", flat=True):
        _send(pk)
