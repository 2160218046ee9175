from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.accounts.api import log_in, profile, team

router = SimpleRouter()
router.register("auth/sessions", log_in.LoginsResource, basename="login")
router.register("members", team.MembersResource, basename="member")

urlpatterns = [
    path("auth/token/", log_in.TokenView.as_view(), name="token"),
    path("auth/token/refresh/", log_in.TokenRefreshView.as_view(), name="token-refresh"),
    path("auth/session/", log_in.BrowserView.as_view(), name="browser-session"),
    path("auth/logout/", log_in.LogoutView.as_view(), name="logout"),
    path("auth/logout-all/", log_in.LogoutEverywhereView.as_view(), name="logout-all"),
    path("auth/switch/", log_in.SwitchView.as_view(), name="switch-tenant"),
    path("auth/me/", profile.MeResource.as_view(profile.MeResource.routes), name="me"),
    path("auth/password/", profile.PasswordView.as_view(), name="password"),
    path("auth/password/forgotten/", profile.PasswordForgottenView.as_view(), name="forgotten"),
    path("auth/password/set/", profile.PasswordByLinkView.as_view(), name="password-by-link"),
    path(
        "tenants/current/", team.TenantResource.as_view(team.TenantResource.routes), name="tenant"
    ),
    path("", include(router.urls)),
]
