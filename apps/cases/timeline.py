"""What cases themselves write on their timeline."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts import selectors as accounts
from apps.cases.events import (
    CaseAssigned,
    CaseCreated,
    CaseStatusChanged,
    CommentAdded,
    CommentDeleted,
    DataRegistered,
)
from apps.cases.models import (
    Approval,
    Case,
    CaseStep,
    Comment,
    Dataset,
    Deadline,
    OfCase,
    Payment,
    Review,
)
from apps.events import catalog
from apps.events import selectors as events
from apps.events.errors import UnknownEventType
from axiom.console.timeline import Entry, Stretch, Topic
from axiom.tenancy import current_tenant_id

Kind = CaseStep.Kind
PLANNED: dict[str, type[OfCase]] = {
    "deadline": Deadline, "payment": Payment, "review": Review, "approval": Approval,
}  # fmt: skip
# Of these there is more to read than their event.
TOLD_ELSEWHERE = [
    each.type
    for each in (
        CaseCreated, CaseStatusChanged, CaseAssigned, CommentAdded, CommentDeleted, DataRegistered,
    )
]  # fmt: skip
MOST_THINGS = 500


def steps(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """Opened, moved, assigned; people by their names, asked for together."""
    found = list(stretch.of(CaseStep.objects.filter(case=case_id), "created_at"))
    names = _names({name for step in found for name in _people(step.facts)})
    for step in found:
        title = str(step.get_kind_display())
        text = ". ".join(filter(None, [_said(step, names), step.note]))
        yield Entry(step.created_at, step.pk, title, text, step.actor)


def _people(facts: Mapping[str, Any]) -> Iterator[str]:
    for name in ("manager_id", "old_manager_id"):
        if facts.get(name):
            yield facts[name]
    for name in ("members_added", "members_removed"):
        yield from facts.get(name, ())


def _names(ids: set[str]) -> dict[str, str]:
    return {str(user.pk): str(user) for user in accounts.users_by_id(ids)} if ids else {}


def _said(step: CaseStep, names: Mapping[str, str]) -> str:
    if step.kind == Kind.MOVED:
        return " → ".join(_status(step.facts.get(name)) for name in ("old_status", "new_status"))
    return ", ".join(_team(step.facts, names))


def _status(name: str | None) -> str:
    return str(Case.Status(name).label) if name in Case.Status.values else "…"


def _team(facts: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    known = lambda ids: ", ".join(names.get(each, "?") for each in ids)
    manager, before = facts.get("manager_id"), facts.get("old_manager_id")
    if manager != before:
        yield _("manager: %(name)s") % {"name": known([manager]) if manager else "–"}
    if added := facts.get("members_added"):
        yield _("joined: %(names)s") % {"names": known(added)}
    if removed := facts.get("members_removed"):
        yield _("left: %(names)s") % {"names": known(removed)}


def comments(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    rows = Comment.objects.filter(case=case_id, deleted_at=None).select_related("author")
    for each in stretch.of(rows, "created_at"):
        yield Entry(each.created_at, each.pk, _("Comment"), each.body, str(each.author))


def comments_taken_back(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """That there was one, not what it said."""
    rows = Comment.objects.filter(case=case_id).select_related("author").defer("body")
    for each in stretch.of(rows, "deleted_at"):
        text = _("It was of %(name)s.") % {"name": each.author}
        yield Entry(each.deleted_at, each.pk, _("Comment deleted"), text)


def planned(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    for pk, at, title, name, _status_then in _of_plan(case_id, stretch, "created_at"):
        yield Entry(at, pk, str(_PLANNED[name]), title, link=_page(name, pk))


def settled(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    for pk, at, title, name, status in _of_plan(case_id, stretch, "settled_at"):
        label = dict(PLANNED[name].Status.choices)[status]  # type: ignore[attr-defined]
        what = f"{PLANNED[name]._meta.verbose_name}: {label}"
        yield Entry(at, pk, what[:1].upper() + what[1:], title, link=_page(name, pk))


_PLANNED = {
    "deadline": gettext_lazy("Deadline added"),
    "payment": gettext_lazy("Payment added"),
    "review": gettext_lazy("Review scheduled"),
    "approval": gettext_lazy("Approval asked for"),
}


def _of_plan(case_id: UUID, stretch: Stretch, moment: str) -> QuerySet[Any, Any]:
    """Deadlines, payments, reviews and approvals in one question."""
    every = _united(lambda rows, name: rows.filter(stretch.where(moment)).annotate(
        name=Value(name)).values_list("id", moment, "title", "name", "status"), case_id)  # fmt: skip
    return every.order_by(f"-{moment}", "-id")[: stretch.size]


def _united(asked: Callable[[QuerySet[Any], str], QuerySet[Any, Any]], case_id: UUID) -> Any:
    models: Any = PLANNED.items()
    first, *others = (
        asked(model.objects.filter(case=case_id).order_by(), name) for name, model in models
    )
    return first.union(*others, all=True)


def datasets(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    for each in stretch.of(Dataset.objects.filter(case=case_id), "created_at"):
        records = ngettext("%(n)d record", "%(n)d records", each.records_count)
        issues = ngettext("%(n)d with issues", "%(n)d with issues", each.issues_count)
        figures = f"{records % {'n': each.records_count}}, {issues % {'n': each.issues_count}}"
        yield Entry(
            each.created_at, each.pk, _("Data registered"), f"{each.name}: {figures}",
            link=_page("dataset", each.pk),
        )  # fmt: skip


def published(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """What was published of the case and its plan, and is told in no other way here."""
    things = [str(case_id), *_things_of(case_id)]
    rows = events.events_about(things, tenant_id=current_tenant_id(), but=TOLD_ELSEWHERE)
    for row in stretch.of(rows, "occurred_at"):
        link = f"{reverse('admin:journey')}?id={row.pk}"
        text = _in_words(row.event_type, json.loads(row.payload))
        yield Entry(row.occurred_at, row.pk, _label(row.event_type), text, row.actor, link)


def _things_of(case_id: UUID) -> Iterable[str]:
    things = _united(lambda rows, _name: rows.values_list("id"), case_id)
    return [str(pk) for (pk,) in things.order_by("-id")[:MOST_THINGS]]


def _label(event_type: str) -> str:
    try:
        return str(catalog.event_class_of(event_type).label)
    except UnknownEventType:
        return event_type


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "DEADLINE_APPROACHING": lambda told: ngettext(
        "%(title)s: %(n)d day left", "%(title)s: %(n)d days left", told["days_before"]
    ) % {"title": told["title"], "n": told["days_before"]},
    "CASH_LOW": lambda told: "{cash_balance:,} < {threshold:,} {currency}".format_map(told),
    "ISSUE_RATIO_HIGH": lambda told: f"{told['issue_ratio']:.0%} > {told['threshold']:.0%}",
}  # fmt: skip


def _in_words(event_type: str, told: Mapping[str, Any]) -> str:
    """A few words; an event of another version may lack what they need."""
    try:
        return _WORDS[event_type](told)
    except (LookupError, TypeError, ValueError):
        return str(told.get("title", ""))


def _page(name: str, pk: Any) -> str:
    return reverse(f"admin:cases_{name}_change", args=[pk])


TOPICS = (
    Topic("case", gettext_lazy("Case"), "folder_open", 10, (steps,)),
    Topic("comments", gettext_lazy("Comments"), "comment", 20, (comments, comments_taken_back)),
    Topic("plan", gettext_lazy("Plan"), "event", 30, (planned, settled)),
    Topic("data", gettext_lazy("Data"), "dataset", 40, (datasets,)),
    Topic("events", gettext_lazy("Events"), "bolt", 90, (published,)),
)
