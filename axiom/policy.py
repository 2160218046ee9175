"""What browsers may do with our pages."""

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class PolicyMiddleware(CSPMiddleware):
    """The site's policies; the console, and nothing else, may do a little more."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if getattr(request.resolver_match, "app_name", "") == "admin" and not report_only:
            parts.update = settings.CONSOLE_POLICY_ADDITIONS | (parts.update or {})
        return parts

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        return super().process_response(request, response)
