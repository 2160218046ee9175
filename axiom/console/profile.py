"""Everyone's own page: name, language and time zone."""

import zoneinfo
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from apps.accounts import services


class ProfileForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("name"),
        max_length=150,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    language = forms.ChoiceField(
        label=gettext_lazy("language"), choices=settings.LANGUAGES, widget=UnfoldAdminSelectWidget
    )
    timezone = forms.ChoiceField(
        label=gettext_lazy("time zone"),
        choices=[(name, name) for name in sorted(zoneinfo.available_timezones())],
        widget=UnfoldAdminSelectWidget,
    )


def profile(request: HttpRequest) -> HttpResponse:
    """GET shows the page; POST keeps what was changed."""
    user: Any = request.user
    kept = {name: getattr(user, name) for name in ProfileForm.base_fields}
    form = ProfileForm(request.POST or None, initial=kept)
    if request.method == "POST" and form.is_valid():
        services.update_profile(user=user, **form.cleaned_data)
        with translation.override(user.language):
            messages.success(request, _("Your profile was saved."))
        return HttpResponseRedirect(reverse("admin:profile"))
    context = {**admin.site.each_context(request), "title": _("Your profile"), "form": form}
    return TemplateResponse(request, "console/profile.html", context)


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Speak this language from now on, and go back to where one was."""
    language = request.POST.get("language", "")
    if language in dict(settings.LANGUAGES):
        services.update_profile(user=request.user, language=language)  # type: ignore[arg-type]
    return HttpResponseRedirect(_back(request))


def _back(request: HttpRequest) -> str:
    origin = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(origin, {request.get_host()}, request.is_secure())
    return origin if ours else reverse("admin:index")
