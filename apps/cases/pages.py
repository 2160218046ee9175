"""The page of a case: what it is, what happened in it, and what one can do about it."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import conditional_page
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from apps.cases import selectors, services
from apps.cases.models import Case
from apps.cases.transitions import reachable_from
from apps.events.context import acting
from axiom.console.deeds import carry_out, checked

Log = Callable[[HttpRequest, Case, str], Any]


class CommentForm(forms.Form):
    body = forms.CharField(
        label=_("Say something about this case"),
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )


class MoveForm(forms.Form):
    """To where a case may go from where it is."""

    status = forms.ChoiceField(label=_("to"), widget=UnfoldAdminSelectWidget)
    reason = forms.CharField(
        label=_("reason"), max_length=2000, required=False, widget=UnfoldAdminTextInputWidget
    )

    def __init__(self, case: Case, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice: Any = self.fields["status"]
        reachable = reachable_from(case)
        choice.choices = [each for each in Case.Status.choices if each[0] in reachable]


def case_page(request: HttpRequest, case: Case, *, acts: bool, log: Log) -> HttpResponse:
    """GET shows the case and its timeline, or with `?part` what changes of it; POST does something.

    `acts` is whether this person may do more than look.
    """
    with acting(tenant_id=case.tenant_id):
        if request.method == "POST":
            return _do(request, case, acts, log)
        return _part(request, case) if "part" in request.GET else _page(request, case, acts)


def _page(request: HttpRequest, case: Case, acts: bool) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        **_contents(request, case),
        "title": str(case),
        "opts": Case._meta,
        "original": case,
        "comment_form": CommentForm() if acts else None,
        "move_form": MoveForm(case) if acts else None,
    }
    return TemplateResponse(request, "cases/case.html", context).render()


@conditional_page
def _part(request: HttpRequest, case: Case) -> HttpResponse:
    return render(request, "cases/told.html", _contents(request, case))


def _contents(request: HttpRequest, case: Case) -> dict[str, Any]:
    before, only = request.GET.get("before", ""), request.GET.get("only", "")
    return {
        "case": case,
        "summary": selectors.summary_of(case),
        "members": selectors.members_of(case),
        "page": selectors.timeline.page(case.pk, before=before, only=only),
        "topics": selectors.timeline.topics,
        "before": before,
        "only": only,
    }


def _do(request: HttpRequest, case: Case, acts: bool, log: Log) -> HttpResponse:
    deed = _DEEDS.get(request.POST.get("deed", ""))
    if deed is None or not acts:
        raise PermissionDenied
    back = reverse("admin:cases_case_timeline", args=[case.pk])
    return carry_out(request, lambda: deed(request, case, log), back)


def _comment(request: HttpRequest, case: Case, log: Log) -> str:
    given = checked(CommentForm(request.POST))
    author: Any = request.user
    services.add_comment(case=case, author=author, body=given["body"])
    return gettext("Your comment is there.")


def _move(request: HttpRequest, case: Case, log: Log) -> str:
    # Any known status: the service says what is not possible from where the case is by now.
    form = MoveForm(case, request.POST)
    choice: Any = form.fields["status"]
    choice.choices = Case.Status.choices
    given = checked(form)
    moved = services.change_status(case=case, **given)
    log(request, moved, moved.status)
    return gettext("The case is now: %(status)s.") % {"status": moved.get_status_display()}


_DEEDS = {"comment": _comment, "move": _move}
