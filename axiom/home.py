"""The front door: staff go on to the console, others learn where they are."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse


def home(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if user.is_authenticated and user.is_staff:
        return HttpResponseRedirect(reverse("admin:index"))
    return render(request, "home.html")


def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for this whatever a page says."""
    return HttpResponseRedirect(static("axiom/icon.svg"))
