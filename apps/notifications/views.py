"""The page behind the link of a message: it asks, and its button acknowledges."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.notifications import services
from axiom.errors import AxiomError


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def acknowledge_alert(request: HttpRequest, token: str) -> HttpResponse:
    """GET changes nothing: programs that look into mails follow every link."""
    try:
        alert, member = services.read_link(token)
    except AxiomError as error:
        context = {"refusal": _(error.message)}
        return render(request, "notifications/acknowledge.html", context, status=error.status)
    with translation.override(member.user.language), timezone.override(member.user.timezone):
        return _answer(request, token, {"alert": alert, "person": member.user})


def _answer(request: HttpRequest, token: str, context: dict[str, object]) -> HttpResponse:
    status = 200
    if request.method == "POST":
        try:
            context["alert"] = services.acknowledge_by_link(token)
            context["done"] = True
        except AxiomError as error:
            context["refusal"], status = _(error.message), error.status
    return render(request, "notifications/acknowledge.html", context, status=status)
