"""One reading of a data source: how far it is, what it found, and what somebody has to decide."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from apps.events.context import acting, current
from apps.metadata import selectors, services, wording
from apps.metadata.models import CatalogChange, ExtractionRun
from apps.metadata.pages.show import grouped, may_keep, page

SHOWN = 500
State = ExtractionRun.State


def show(request: HttpRequest, run: ExtractionRun) -> HttpResponse:
    with acting(tenant_id=run.tenant_id):
        found = _held(run) if run.state == State.HELD else _over(run)
    context = {
        "title": _("Extraction run"), "run": run, "is_open": run.state in ExtractionRun.OPEN,
        "is_held": run.state == State.HELD, "may_decide": may_decide(request, run),
        "error": wording.what_went_wrong(run), "why_held": _why_held(run),
    }  # fmt: skip
    return page(request, "metadata/run.html", {**context, **found})


def may_decide(request: HttpRequest, run: ExtractionRun) -> bool:
    return may_keep(request) and current().tenant_id == run.tenant_id


DECISIONS: dict[str, Callable[[ExtractionRun, str], ExtractionRun]] = {
    "approve": lambda run, note: services.approve(run=run, note=note),
    "reject": lambda run, note: services.reject(run=run, note=note),
    "cancel": lambda run, note: services.cancel(run=run),
}
"""What may be done with a run; each returns the run to look at then."""


def _why_held(run: ExtractionRun) -> str:
    return wording.why_held(run) if run.state == State.HELD else ""


def _held(run: ExtractionRun) -> dict[str, Any]:
    pending = sorted(run.pending, key=lambda each: not each["breaking"])
    affected = selectors.affected_by_run(run)
    count = max(run.removed_count + run.added_count, len(pending))
    return _told(pending, count) | {"groups": grouped(affected)}


def _over(run: ExtractionRun) -> dict[str, Any]:
    rows = CatalogChange.objects.filter(run=run)
    found = list(rows.order_by("-breaking", "schema", "table", "name")[: SHOWN + 1])
    return _told(found, rows.count() if len(found) > SHOWN else len(found))


def _told(changes: list[Any], count: int) -> dict[str, Any]:
    told = [wording.tell(each) for each in changes[:SHOWN]]
    return {"told": told, "count": count, "more": max(count - len(told), 0)}
