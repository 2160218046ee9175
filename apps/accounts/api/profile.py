"""One's own profile and password."""

import zoneinfo
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import selectors, services
from apps.accounts.authentication import login_of
from apps.accounts.models import LoginSession, Membership, Tenant, User
from axiom.api.views import ApiView, PublicView, Single


class TenantSummarySerializer(serializers.ModelSerializer[Tenant]):
    class Meta:
        model = Tenant
        fields = ("id", "name", "slug")


class MembershipSerializer(serializers.ModelSerializer[Membership]):
    tenant = TenantSummarySerializer()

    class Meta:
        model = Membership
        fields = ("tenant", "role")


class MeSerializer(serializers.ModelSerializer[User]):
    tenant = serializers.SerializerMethodField()
    role = serializers.SerializerMethodField()
    memberships = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = ("id", "email", "name", "language", "timezone", "tenant", "role", "memberships")

    @extend_schema_field(TenantSummarySerializer(allow_null=True))
    def get_tenant(self, user: User) -> Any:
        tenant = self.context["request"].auth.tenant
        return TenantSummarySerializer(tenant).data if tenant else None

    def get_role(self, user: User) -> str | None:
        return self.context["request"].auth.role

    @extend_schema_field(MembershipSerializer(many=True))
    def get_memberships(self, user: User) -> Any:
        known = selectors.memberships_of(user).order_by("tenant__name", "pk")
        return MembershipSerializer(known, many=True).data


class ProfileChangeSerializer(serializers.ModelSerializer[User]):
    language = serializers.ChoiceField(choices=settings.LANGUAGES, required=False)

    class Meta:
        model = User
        fields = ("name", "language", "timezone")

    def validate_timezone(self, value: str) -> str:
        if value not in zoneinfo.available_timezones():
            raise serializers.ValidationError(_("No time zone is called that."), code="unknown")
        return value


class PasswordChangeSerializer(serializers.Serializer[Any]):
    current_password = serializers.CharField(max_length=1000, trim_whitespace=False)
    new_password = serializers.CharField(max_length=1000, trim_whitespace=False)


class EmailSerializer(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)


class PasswordByLinkSerializer(serializers.Serializer[Any]):
    uid = serializers.CharField(max_length=100)
    token = serializers.CharField(max_length=100)
    password = serializers.CharField(max_length=1000, trim_whitespace=False)


class MeResource(Single):
    """Who you are, where you are, and what you may do there."""

    permission_classes = [IsAuthenticated]
    serializer_class = MeSerializer
    change_serializer_class = ProfileChangeSerializer

    def get_queryset(self) -> QuerySet[User]:
        me: Any = self.request.user.pk
        return User.objects.filter(pk=me)

    def change(self, row: User, data: dict[str, Any]) -> User:
        return services.update_profile(user=row, **data)


class PasswordView(ApiView):
    """Change your password; every other login of yours ends."""

    permission_classes = [IsAuthenticated]
    throttle_scope = "login"
    idempotent = False

    @extend_schema(request=PasswordChangeSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        serializer = PasswordChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        user = services.change_password(
            login=login_of(request),
            current=serializer.validated_data["current_password"],
            new=serializer.validated_data["new_password"],
        )
        if login_of(request).kind == LoginSession.Kind.BROWSER:
            update_session_auth_hash(request._request, user)
        return Response(status=204)


class PasswordForgottenView(PublicView):
    """Mail a link to set a new password. The answer is the same whoever asks."""

    throttle_scope = "login"

    @extend_schema(request=EmailSerializer, responses={202: None})
    def post(self, request: Request) -> Response:
        serializer = EmailSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        services.ask_for_password_link(email=serializer.validated_data["email"])
        return Response(status=202)


class PasswordByLinkView(PublicView):
    """Set a password with what the mailed link holds; all logins end."""

    throttle_scope = "login"

    @extend_schema(request=PasswordByLinkSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        serializer = PasswordByLinkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        services.set_password_by_link(uid=given["uid"], token=given["token"], new=given["password"])
        return Response(status=204)
