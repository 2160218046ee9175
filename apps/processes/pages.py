"""Pages of the work: what there is for me to do, one work item, and where a process stands."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import conditional_page
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from apps.events.context import acting, current
from apps.processes import selectors, services, values
from apps.processes.models import ProcessInstance, WorkItem
from apps.processes.services import Deed, Doer
from axiom.console.deeds import carry_out, checked
from axiom.console.groups import Group
from axiom.console.navigation import Page, View
from axiom.permissions import may, role_of
from axiom.roles import OPERATORS

SIZE = 50
BLANK_ROWS = 2
Status = WorkItem.Status


# What I can do


def my_work(request: HttpRequest) -> HttpResponse:
    """What one can do or approve now, what is due first; with `?part` only the list."""
    if "part" in request.GET:
        return _my_list(request)
    context = {**admin.site.each_context(request), **_mine(request), "title": gettext("My work")}
    return TemplateResponse(request, "processes/my_work.html", context)


@conditional_page
def _my_list(request: HttpRequest) -> HttpResponse:
    return render(request, "processes/my_list.html", _mine(request))


def _mine(request: HttpRequest) -> dict[str, Any]:
    page, only = _number(request.GET.get("page", "")), request.GET.get("only", "")
    choices = [(status, _CALLED[status]) for status in WorkItem.OPEN]
    context = {"page": page, "only": only, "choices": choices, "now": timezone.now()}
    if current().tenant_id is None:
        return {**context, "items": [], "no_tenant": True}
    start = (page - 1) * SIZE
    items = list(_in_order(_doer(request), only)[start : start + SIZE + 1])
    more = page + 1 if len(items) > SIZE else None
    return {**context, "items": items[:SIZE], "next": more}


_CALLED = {
    Status.TODO: Status.TODO.label,
    Status.IN_PROGRESS: Status.IN_PROGRESS.label,
    Status.SUBMITTED: _("Waits for my approval"),
}


def _in_order(doer: Doer, only: str) -> QuerySet[WorkItem]:
    """What is due first comes first: as an index has it, however much there is."""
    mine = selectors.work_items().filter(selectors.is_for(doer)).select_related("instance__case")
    wanted = mine.filter(status=only) if only else mine
    return wanted.order_by(F("due_at").asc(nulls_last=True), "id")


def _number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 6 else 1


def _doer(request: HttpRequest) -> Doer:
    return Doer(request.user, role_of(request))


# One work item


class DelegationForm(forms.Form):
    to = forms.ChoiceField(label=_("to"), widget=UnfoldAdminSelectWidget)
    note = forms.CharField(
        label=_("note"), max_length=500, required=False, widget=UnfoldAdminTextInputWidget
    )

    def __init__(self, item: WorkItem, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice: Any = self.fields["to"]
        able = services.who_can_take_over().exclude(user=item.assignee_id).order_by("user__email")
        choice.choices = [
            (str(each.user_id), f"{each.user} · {each.get_role_display()}") for each in able
        ]


class ConfidenceForm(forms.Form):
    """How sure a machine was, whose result is handed in by hand."""

    confidence = forms.FloatField(
        label=_("confidence"), min_value=0, max_value=1, required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"}),
    )  # fmt: skip


def _words(label: Any, **how: Any) -> forms.CharField:
    return forms.CharField(
        label=label, max_length=2000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}), **how
    )


class ApprovalForm(forms.Form):
    comment = _words(_("comment"), required=False)
    lesson = _words(_("what the agent shall know from now on"), required=False)


class RejectionForm(forms.Form):
    reason = _words(_("reason"))
    lesson = _words(_("what the agent shall know from now on"), required=False)
    do_it_myself = forms.BooleanField(
        label=_("I do it myself"), required=False, widget=UnfoldBooleanSwitchWidget
    )


def work_item(request: HttpRequest, pk: UUID) -> HttpResponse:
    """GET shows a work item and what one can do with it; POST does one of these things."""
    item = selectors.work_item_by_id(pk) if current().tenant_id else None
    if item is None:
        raise Http404
    if request.method == "POST":
        return _do(request, item)
    doer = _doer(request)
    context = {
        **admin.site.each_context(request),
        "title": item.activity_name,
        "item": item,
        "rows": values.rows_of(item.result),
        "blanks": range(BLANK_ROWS),
        "steps": item.steps.order_by("at", "id"),
        "now": timezone.now(),
        **_forms(item, services.possible(item, doer)),
    }
    return TemplateResponse(request, "processes/work_item.html", context)


def _forms(item: WorkItem, deeds: set[Deed]) -> dict[str, Any]:
    """A form for everything that is possible, and for nothing else."""
    return {
        "deeds": {deed.value: True for deed in deeds},
        "confidence_form": ConfidenceForm() if item.is_a_machines else None,
        "approval_form": _about_agents(ApprovalForm(prefix="approve"), item),
        "rejection_form": _about_agents(RejectionForm(prefix="reject"), item),
        "delegation_form": DelegationForm(item) if Deed.DELEGATE in deeds else None,
    }


def _about_agents(form: forms.Form, item: WorkItem) -> forms.Form:
    """Only agents learn."""
    if item.performer != WorkItem.Performer.AGENT:
        del form.fields["lesson"]
    return form


def _do(request: HttpRequest, item: WorkItem) -> HttpResponse:
    act = _DEEDS.get(request.POST.get("deed", ""))
    if act is None:
        raise PermissionDenied
    back = reverse("admin:my-work-item", args=[item.pk])
    return carry_out(request, lambda: act(request, item), back)


def _start(request: HttpRequest, item: WorkItem) -> str:
    services.start_work(item=item, by=_doer(request))
    return gettext("It is yours now.")


def _hand_in(service: Callable[..., WorkItem]) -> Callable[[HttpRequest, WorkItem], str]:
    def hand_in(request: HttpRequest, item: WorkItem) -> str:
        given = checked(ConfidenceForm(request.POST)) if item.is_a_machines else {}
        done = service(item=item, by=_doer(request), result=_result(request), **given)
        if done.status == Status.SUBMITTED:
            return gettext("Submitted: somebody has to approve it.")
        return gettext("Done: the process moves on.")

    return hand_in


def _result(request: HttpRequest) -> dict[str, Any]:
    return values.result_of(request.POST.getlist("name"), request.POST.getlist("value"))


def _approve(request: HttpRequest, item: WorkItem) -> str:
    given = checked(_about_agents(ApprovalForm(request.POST, prefix="approve"), item))
    services.approve_work(item=item, by=_doer(request), result=_result(request), **given)
    return gettext("Approved: the process moves on.")


def _reject(request: HttpRequest, item: WorkItem) -> str:
    given = checked(_about_agents(RejectionForm(request.POST, prefix="reject"), item))
    services.reject_work(item=item, by=_doer(request), **given)
    return gettext("Rejected: it is to be done again.")


def _delegate(request: HttpRequest, item: WorkItem) -> str:
    given = checked(DelegationForm(item, request.POST))
    given["to"] = UUID(given["to"])
    moved = services.delegate_work(item=item, by=_doer(request), **given)
    return gettext("%(name)s has it now.") % {"name": moved.assignee}


_DEEDS: Mapping[str, Callable[[HttpRequest, WorkItem], str]] = {
    Deed.START: _start,
    Deed.COMPLETE: _hand_in(services.complete_work),
    Deed.SUBMIT: _hand_in(services.submit_work),
    Deed.APPROVE: _approve,
    Deed.REJECT: _reject,
    Deed.DELEGATE: _delegate,
}


# Where a process stands


def diagram_page(request: HttpRequest, instance: ProcessInstance) -> HttpResponse:
    """The diagram with where it stands; with `?part` only what changes while it moves."""
    with acting(tenant_id=instance.tenant_id):
        if "part" in request.GET:
            return _standing(request, instance)
        context = {
            **admin.site.each_context(request),
            **_about(request, instance),
            "title": instance.title,
            "opts": ProcessInstance._meta,
            "original": instance,
            "drawing": selectors.standing_of(instance)["bpmn"],
        }
        return TemplateResponse(request, "processes/diagram.html", context).render()


@conditional_page
def _standing(request: HttpRequest, instance: ProcessInstance) -> HttpResponse:
    return render(request, "processes/standing.html", _about(request, instance))


def _about(request: HttpRequest, instance: ProcessInstance) -> dict[str, Any]:
    where = ", ".join(instance.stands_at)
    label = gettext("Diagram of the process; it stands at: %(where)s") % {"where": where}
    items = instance.work_items.select_related("assignee").order_by("created_at", "id")
    return {
        "instance": instance,
        "items": items,
        "acts": may(request, OPERATORS),
        "marks": {
            "stands_at": instance.stands_at, "been_at": instance.been_at, "label": label,
        },
    }  # fmt: skip


MY_WORK = Page(
    group=Group.WORK,
    title=_("My work"),
    url="admin:my-work",
    icon="checklist",
    position=1,
    roles=OPERATORS,
    views=(
        View("my-work/", my_work, "my-work"),
        View("my-work/<uuid:pk>/", work_item, "my-work-item"),
    ),
)
