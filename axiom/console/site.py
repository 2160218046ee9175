"""The admin site itself, with the pages that are not a model's."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from axiom.console import profile, start_page, tenants
from axiom.console.admin import ByRole
from axiom.console.navigation import page_urls


def icon(request: HttpRequest) -> str:
    """Where the icon of the browser's tab is; settings are read before static files are known."""
    return static("axiom/icon.svg")


def styles(request: HttpRequest) -> str:
    return static("axiom/console.css")


class ConsoleSite(UnfoldAdminSite):
    index_title = _("Overview")
    enable_nav_sidebar = True

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Let in what asks for roles. Libraries' own admins would show rows of every tenant."""
        if admin_class and issubclass(admin_class, ByRole):
            super().register(model_or_iterable, admin_class, **options)
        elif getattr(admin_class, "__module__", "").startswith("apps."):
            raise ImproperlyConfigured(
                f"{admin_class.__name__} knows no roles: derive it from TenantAdmin or RoleAdmin."
            )

    def extra_urls(self) -> list[URLPattern]:
        return [
            path("profile/", self.admin_view(profile.profile), name="profile"),
            path("language/", self.admin_view(profile.choose_language), name="language"),
            path("now/", self.admin_view(start_page.now), name="now"),
            path("tenant/", self.admin_view(tenants.choose_tenant), name="tenant"),
            *page_urls(self),
        ]

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().index(request, (extra_context or {}) | start_page.contents(request))
