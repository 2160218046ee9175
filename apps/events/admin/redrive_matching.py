"""The page on which many dead letters are sent again at a bounded rate."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from apps.events import selectors, services
from apps.events.groups import GROUPS
from apps.events.keys import Stream
from apps.events.models import DeadLetter, Redrive
from apps.events.whose import tenant_shown, who
from axiom.console.lists import MOST_COUNTED

from .acts import acted, page
from .lists import EventsAdmin

ANY = ("", _("any"))
FASTEST = 1_000


class MatchingForm(forms.Form):
    """Which open letters, how fast, and why."""

    fingerprint = forms.CharField(
        label=_("kind"), required=False, max_length=64, widget=UnfoldAdminTextInputWidget
    )
    group = forms.ChoiceField(
        label=_("group"), required=False, widget=UnfoldAdminSelectWidget,
        choices=[ANY, *((name, name) for name in (DeadLetter.RELAY, *GROUPS))],
    )  # fmt: skip
    stream = forms.ChoiceField(
        label=_("stream"), required=False, widget=UnfoldAdminSelectWidget,
        choices=[ANY, *((stream, stream) for stream in Stream)],
    )  # fmt: skip
    event_type = forms.CharField(
        label=_("event type"), required=False, max_length=200, widget=UnfoldAdminTextInputWidget
    )
    everything = forms.BooleanField(
        label=_("all that are open"), required=False, widget=UnfoldBooleanWidget
    )
    rate = forms.IntegerField(
        label=_("letters per second"), initial=50, min_value=1, max_value=FASTEST,
        widget=UnfoldAdminIntegerFieldWidget,
    )  # fmt: skip
    reason = forms.CharField(
        label=_("reason"), max_length=2000, required=False, widget=UnfoldAdminTextInputWidget
    )

    def clean(self) -> dict[str, Any]:
        cleaned = dict(super().clean() or {})
        if not self.which(cleaned).as_json() and not cleaned.get("everything"):
            raise forms.ValidationError(_("Say which letters, or that all are meant."))
        return cleaned

    def which(self, cleaned: dict[str, Any]) -> selectors.LetterFilter:
        names = ("fingerprint", "group", "stream", "event_type")
        return selectors.LetterFilter(**{name: cleaned.get(name, "") for name in names})


def redrive_page(model_admin: EventsAdmin, request: HttpRequest) -> HttpResponse:
    """Say how many that would be, then start."""
    form = MatchingForm(request.POST or None, initial=request.GET.dict())
    context: dict[str, Any] = {"title": _("Send many again"), "form": form}
    if request.method == "POST" and form.is_valid():
        if request.POST.get("do") == "send":
            redrive = _start(form, request)
            if redrive:
                model_admin.message_user(request, _("The redrive began."), messages.SUCCESS)
                return redirect("admin:events_redrive_change", redrive.pk)
        else:
            context |= {"count": _count(form, request), "most": MOST_COUNTED}
    return page(model_admin, request, "events/redrive_matching.html", context)


def _count(form: MatchingForm, request: HttpRequest) -> int:
    letters = selectors.letters_of(tenant_shown(request)).order_by()
    meant = form.which(form.cleaned_data).matches()
    return letters.filter(meant, status=DeadLetter.Status.OPEN)[:MOST_COUNTED].count()


def _start(form: MatchingForm, request: HttpRequest) -> Redrive | None:
    started: Redrive | None = acted(
        form, services.start_redrive, form.which(form.cleaned_data),
        tenant_id=tenant_shown(request), rate=form.cleaned_data["rate"], by=who(request),
        reason=form.cleaned_data["reason"],
    )  # fmt: skip
    return started
