"""Logging in and out, by tokens and by a browser's session."""

from dataclasses import asdict
from typing import Any

from django.contrib.auth import login as log_browser_in
from django.contrib.auth import logout as log_browser_out
from django.db.models import QuerySet
from django.middleware.csrf import get_token
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import selectors, services
from apps.accounts.authentication import login_of, require_csrf
from apps.accounts.models import LoginSession
from apps.accounts.services.log_in import check_password, choose_membership
from axiom.api.views import ApiView, Listed, PublicView, Removed, Resource, Shown


class CredentialsSerializer(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    tenant = serializers.CharField(
        max_length=50, required=False, help_text=_("Id or short name; else that of the last login.")
    )


class TokenPairSerializer(serializers.Serializer[Any]):
    access = serializers.CharField(read_only=True)
    refresh = serializers.CharField()
    expires_in = serializers.IntegerField(read_only=True, help_text=_("Seconds of `access`."))


class TenantChoiceSerializer(serializers.Serializer[Any]):
    tenant = serializers.CharField(max_length=50, help_text=_("Id or short name."))


class SwitchedSerializer(serializers.Serializer[Any]):
    """The new tokens; a browser's cookie is exchanged instead, and these are empty."""

    tenant = serializers.UUIDField()
    access = serializers.CharField(required=False)
    refresh = serializers.CharField(required=False)
    expires_in = serializers.IntegerField(required=False)


class BrowserSerializer(serializers.Serializer[Any]):
    csrf_token = serializers.CharField(help_text=_("Send it as X-CSRFToken."))
    logged_in = serializers.BooleanField()


class LoginSerializer(serializers.ModelSerializer[LoginSession]):
    tenant = serializers.CharField(source="tenant.name", default=None, allow_null=True)
    is_current = serializers.SerializerMethodField()
    sees_request = True

    class Meta:
        model = LoginSession
        fields = (
            "id", "kind", "tenant", "user_agent", "ip",
            "created_at", "last_seen_at", "expires_at", "is_current",
        )  # fmt: skip

    def get_is_current(self, login: LoginSession) -> bool:
        return login.pk == self.context["request"].auth.pk


class TokenView(PublicView):
    """Tokens for email and password."""

    throttle_scope = "login"

    @extend_schema(request=CredentialsSerializer, responses=TokenPairSerializer)
    def post(self, request: Request) -> Response:
        login = services.log_in(request=request._request, **_read(CredentialsSerializer, request))
        return Response(asdict(services.issue_tokens(login=login)))


class TokenRefreshView(PublicView):
    """New tokens for a refresh token, which is then used up."""

    throttle_scope = "login"

    @extend_schema(request=TokenPairSerializer, responses=TokenPairSerializer)
    def post(self, request: Request) -> Response:
        given = _read(TokenPairSerializer, request)
        return Response(asdict(services.rotate_tokens(refresh=given["refresh"])))


class BrowserView(PublicView):
    """A browser's session. Every request but GET needs the CSRF token."""

    throttle_scope = "login"

    @extend_schema(responses=BrowserSerializer)
    def get(self, request: Request) -> Response:
        return self._state(request)

    @extend_schema(request=CredentialsSerializer, responses=BrowserSerializer)
    def post(self, request: Request) -> Response:
        require_csrf(request._request)
        given = _read(CredentialsSerializer, request)
        wanted = given.pop("tenant", "")
        user = check_password(request=request._request, **given)
        request._request.membership = choose_membership(user, wanted)  # type: ignore[attr-defined]
        log_browser_in(request._request, user)
        return self._state(request)

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        require_csrf(request._request)
        log_browser_out(request._request)
        return Response(status=204)

    def _state(self, request: Request) -> Response:
        token = get_token(request._request)
        return Response({"csrf_token": token, "logged_in": request._request.user.is_authenticated})


class LogoutView(ApiView):
    """End this login."""

    permission_classes = [IsAuthenticated]
    idempotent = False

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        services.end_login(login=login_of(request))
        _forget_cookie(request)
        return Response(status=204)


class LogoutEverywhereView(ApiView):
    """End all logins of this person, this one too."""

    permission_classes = [IsAuthenticated]
    idempotent = False

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        services.end_logins(LoginSession.objects.filter(user=login_of(request).user))
        _forget_cookie(request)
        return Response(status=204)


class SwitchView(ApiView):
    """Go on in another tenant. This login ends and a new one begins."""

    permission_classes = [IsAuthenticated]
    idempotent = False  # The answer has tokens in it, which are not to be stored.

    @extend_schema(request=TenantChoiceSerializer, responses=SwitchedSerializer)
    def post(self, request: Request) -> Response:
        given = _read(TenantChoiceSerializer, request)
        login = services.switch_tenant(login=login_of(request), request=request._request, **given)
        return Response({"tenant": login.tenant_id, **self._credentials(request, login)})

    def _credentials(self, request: Request, login: LoginSession) -> dict[str, Any]:
        if login.kind == LoginSession.Kind.TOKEN:
            return asdict(services.issue_tokens(login=login))
        request.session.cycle_key()
        request.session[selectors.LOGIN_IN_SESSION] = str(login.pk)
        return {}


class LoginsResource(Listed, Shown, Removed, Resource):
    """Where you are logged in; deleting one logs it out."""

    permission_classes = [IsAuthenticated]
    serializer_class = LoginSerializer
    versioned = False
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "last_seen_at")

    def get_queryset(self) -> QuerySet[LoginSession]:
        return selectors.open_logins_of(self.request.user.pk)

    def remove(self, row: LoginSession) -> None:
        services.end_login(login=row)


def _read(serializer_class: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _forget_cookie(request: Request) -> None:
    if login_of(request).kind == LoginSession.Kind.BROWSER:
        request.session.flush()
