"""Two snapshots side by side, or one and the state of now; and the way back to one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.metadata import services, wording
from apps.metadata.diff import Change
from apps.metadata.errors import SnapshotElsewhere
from apps.metadata.models import Snapshot
from apps.metadata.pages.show import acts, asked, link, may_keep, page
from apps.metadata.selectors import browse as known

NOW = "now"
SHOWN = 500


def compare(request: HttpRequest) -> HttpResponse:
    """`?old=` and `?new=`, ids of snapshots; the new one may be `now`."""
    if request.method == "POST":
        return _restore(request)
    source, old, new = asked(request, "source", "old", "new")
    context: dict[str, Any] = {"title": _("Compare snapshots"), "source": source}
    if acts():
        old_one, new_one = _snapshot(old), _snapshot(new)
        context |= {"choices": _choices(source, old_one, new_one), "old": old_one, "new": new_one}
        context |= {"until_now": new == NOW or new_one is None}
        context |= _compared(request, old_one, new_one) if old_one else {}
    return page(request, "metadata/compare.html", context)


def _snapshot(text: str) -> Snapshot | None:
    try:
        key = UUID(text)
    except ValueError:
        return None
    found: Snapshot | None = Snapshot.objects.select_related("datasource").filter(pk=key).first()
    return found


def _choices(source: str, *chosen: Snapshot | None) -> list[tuple[str, list[Snapshot]]]:
    """The newest snapshots by data source, and those that are chosen, however old."""
    found = known.source_called(source) if source else None
    newest = known.snapshots(found.row if found else None)
    rows = {each.pk: each for each in (*newest, *(each for each in chosen if each))}
    by_source: dict[str, list[Snapshot]] = {}
    for each in rows.values():
        by_source.setdefault(each.datasource.title or each.datasource.name, []).append(each)
    return sorted(by_source.items())


def _compared(request: HttpRequest, old: Snapshot, new: Snapshot | None) -> dict[str, Any]:
    try:
        changes = _changes(old, new)
    except SnapshotElsewhere as refusal:
        return {"refusal": _(refusal.message)}
    shown = [each for each in changes if each.breaking or not request.GET.get("breaking")]
    told = sorted(shown, key=lambda each: (not each.breaking, each.schema, each.table, each.name))
    return {
        "compared": True, "count": len(changes), "summary": _summary(changes),
        "breaking_count": sum(each.breaking for each in changes),
        "only_breaking": bool(request.GET.get("breaking")),
        "told": [wording.tell(each) for each in told[:SHOWN]], "more": max(len(told) - SHOWN, 0),
        "datasource": old.datasource, "may_restore": new is None and bool(changes),
    }  # fmt: skip


def _changes(old: Snapshot, new: Snapshot | None) -> list[Change]:
    if new is None:
        return services.compare_with_now(snapshot=old)
    return services.compare_snapshots(old=old, new=new)


def _summary(changes: Sequence[Change]) -> list[tuple[Any, int]]:
    """How many of each kind, the most first."""
    counted = Counter(each.kind for each in changes)
    return [(wording.KINDS.get(kind, kind), count) for kind, count in counted.most_common()]


def _restore(request: HttpRequest) -> HttpResponse:
    if not may_keep(request):
        raise PermissionDenied
    snapshot = _snapshot(request.POST.get("old", ""))
    snapshot = snapshot or get_object_or_404(Snapshot.objects.none())
    if not request.POST.get("confirmed"):
        messages.error(request, _("Nothing was restored: confirm that you have seen its size."))
        return HttpResponseRedirect(link("catalog-compare", old=str(snapshot.pk), new=NOW))
    count = len(services.restore_snapshot(snapshot=snapshot))
    rows: Any = admin.site.get_model_admin(Snapshot)
    rows.log_change(request, snapshot, "restored")
    said = ngettext("%(count)d change was undone.", "%(count)d changes were undone.", count)
    messages.success(request, said % {"count": count})
    return HttpResponseRedirect(link("catalog", source=snapshot.datasource.name))
