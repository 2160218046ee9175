"""The page on which a dead letter's event is edited: see the difference, try it, send it."""

import json
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from apps.events import catalog, services
from apps.events.models import DeadLetter
from apps.events.whose import who

from .acts import acted, page
from .lists import EventsAdmin


class EditForm(forms.Form):
    """The payload as text, because whoever edits it must be able to put anything right."""

    event_type = forms.ChoiceField(label=_("event type"), widget=UnfoldAdminSelectWidget)
    tenant_id = forms.UUIDField(label=_("tenant"), widget=UnfoldAdminTextInputWidget)
    payload = forms.CharField(
        label=_("payload"), widget=UnfoldAdminTextareaWidget({"rows": 18, "spellcheck": "false"})
    )
    reason = forms.CharField(
        label=_("reason"), max_length=2000, required=False, widget=UnfoldAdminTextInputWidget
    )

    def __init__(self, letter: DeadLetter, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if letter.is_readable:
            # It says itself what it is and whose.
            del self.fields["event_type"], self.fields["tenant_id"]
        else:
            kinds = [(kind.type, kind.type) for kind in catalog.event_types()]
            self.fields["event_type"].choices = kinds  # type: ignore[attr-defined]

    def clean_payload(self) -> dict[str, Any]:
        try:
            payload = json.loads(self.cleaned_data["payload"])
        except ValueError as error:
            raise ValidationError(
                _("This is no JSON: %(error)s"), params={"error": error}
            ) from None
        if not isinstance(payload, dict):
            raise ValidationError(_("A payload is a JSON object."))
        return payload

    @property
    def what(self) -> dict[str, Any]:
        """Without the reason, which only sending needs."""
        return {name: value for name, value in self.cleaned_data.items() if name != "reason"}


def edit_page(model_admin: EventsAdmin, request: HttpRequest, letter: DeadLetter) -> HttpResponse:
    draft = json.dumps(services.draft(letter), ensure_ascii=False, indent=2)
    form = EditForm(letter, request.POST or None, initial={"payload": draft})
    context: dict[str, Any] = {"title": _("Edit or try"), "letter": letter, "form": form}
    if request.method == "POST" and form.is_valid():
        do = _DO.get(request.POST.get("do", ""), _show)
        if do is _send and _send(letter, form, request):
            model_admin.log_change(request, letter, "edited and sent")
            model_admin.message_user(request, _("The edited copy was sent."), messages.SUCCESS)
            return redirect("admin:events_deadletter_change", letter.pk)
        if do is not _send:
            context |= do(letter, form, request)
    return page(model_admin, request, "events/edit_letter.html", context)


def _show(letter: DeadLetter, form: EditForm, request: HttpRequest) -> dict[str, Any]:
    what = {k: v for k, v in form.what.items() if k != "tenant_id"}
    edit = acted(form, services.plan_edit, letter, **what)
    return {"edit": edit, "diff": diff_lines(edit.diff) if edit else []}


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Each line of a difference, and whether it comes in, goes out, or is there to find one's way."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    return [(_SIDES.get(line[:1], ""), line) for line in lines]


_SIDES = {"+": "in", "-": "out", "@": "at"}


def _try(letter: DeadLetter, form: EditForm, request: HttpRequest) -> dict[str, Any]:
    payload = form.cleaned_data["payload"]
    as_it_was = payload == services.payload_of(letter)
    rehearsal = acted(
        form, services.dry_run, letter, by=who(request),
        payload=None if as_it_was else payload,
    )  # fmt: skip
    return {"rehearsal": rehearsal, "diff": diff_lines(rehearsal.diff) if rehearsal else []}


def _send(letter: DeadLetter, form: EditForm, request: HttpRequest) -> Any:
    reason = form.cleaned_data["reason"]
    if not reason.strip():
        form.add_error("reason", gettext("Say why: whoever looks at this later will want to know."))
        return None
    return acted(
        form, services.edit_and_redrive, letter, by=who(request), reason=reason, **form.what
    )


_DO: dict[str, Any] = {"show": _show, "try": _try, "send": _send}
