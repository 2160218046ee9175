"""Something done on a page of the console: a service, then where one goes and what one is told."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext

from axiom.errors import AxiomError


def carry_out(request: HttpRequest, act: Callable[[], str], back: str) -> HttpResponse:
    """Do it and say what was done; a refusal is told in its own words, and nothing was changed."""
    try:
        messages.success(request, act())
    except AxiomError as refusal:
        messages.error(request, gettext(refusal.message))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return HttpResponseRedirect(back)


def checked(form: forms.Form) -> dict[str, Any]:
    """What a form says; its faults, by their fields, when it cannot be understood."""
    if not form.is_valid():
        raise ValidationError([_told(form, name, faults) for name, faults in form.errors.items()])
    return form.cleaned_data


def _told(form: forms.Form, name: str, faults: Any) -> str:
    label = form.fields[name].label if name in form.fields else ""
    return ": ".join(filter(None, [str(label or ""), " ".join(faults)]))
