"""Pages on which somebody acts: a form, the service it calls, and the reason when that refuses."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.events.whose import who
from axiom.errors import AxiomError

from .lists import EventsAdmin


class Confirmed(forms.Form):
    """Nothing to say: pressing the button is enough."""


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("reason"), max_length=2000, required=False, widget=UnfoldAdminTextInputWidget
    )


class NeededReasonForm(forms.Form):
    reason = forms.CharField(label=_("reason"), max_length=2000, widget=UnfoldAdminTextInputWidget)


def found(model_admin: EventsAdmin, request: HttpRequest, object_id: Any) -> Any:
    """The row, if whoever asks may see it."""
    row = model_admin.get_object(request, str(object_id))
    if row is None:
        raise Http404
    return row


def act_page(
    model_admin: EventsAdmin, request: HttpRequest, row: Model, *, title: Any, explanation: Any,
    form_class: type[forms.Form], act: Callable[..., object], done: Any,
) -> HttpResponse:  # fmt: skip
    """Ask, then act. A GET changes nothing."""
    form = form_class(request.POST or None)
    sent = request.method == "POST" and form.is_valid()
    if sent and acted(form, act, row, by=who(request), **form.cleaned_data):
        model_admin.log_change(request, row, str(done))
        model_admin.message_user(request, str(done), messages.SUCCESS)
        return redirect(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", row.pk)
    context = {"title": title, "explanation": explanation, "form": form, "row": row}
    return page(model_admin, request, "events/act.html", context)


def acted(form: forms.Form, act: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
    """What the service returns; None, with the reason in the form, when it refuses."""
    try:
        return act(*args, **kwargs)
    except AxiomError as error:
        form.add_error(None, gettext(error.message))
        return None


def page(
    model_admin: EventsAdmin, request: HttpRequest, template: str, context: Mapping[str, Any]
) -> HttpResponse:
    around = {**admin.site.each_context(request), "opts": model_admin.opts}
    return TemplateResponse(request, template, {**around, **context})
