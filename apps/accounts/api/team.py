"""The tenant and its people, for its admins to manage."""

from typing import Any

import django_filters
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from apps.accounts import selectors, services
from apps.accounts.authentication import login_of
from apps.accounts.models import Membership, Tenant
from axiom.api.views import FullResource, Single
from axiom.roles import ADMINS, Role
from axiom.tenancy import current_tenant_id


class MemberSerializer(serializers.ModelSerializer[Membership]):
    id = serializers.UUIDField(source="user_id")
    email = serializers.EmailField(source="user.email")
    name = serializers.CharField(source="user.name")
    is_active = serializers.BooleanField(source="user.is_active")
    joined_at = serializers.DateTimeField(source="created_at")

    class Meta:
        model = Membership
        fields = ("id", "email", "name", "role", "is_active", "joined_at")


class InvitationSerializer(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)
    name = serializers.CharField(max_length=150, required=False, allow_blank=True, default="")
    role = serializers.ChoiceField(choices=Role.choices)


class RoleSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Role.choices)


class MemberFilter(django_filters.FilterSet):
    role = django_filters.ChoiceFilter(choices=Role.choices)
    q = django_filters.CharFilter(method="search", label=_("Part of the name or the email"))

    class Meta:
        model = Membership
        fields = ("role",)

    def search(self, members: QuerySet[Membership], name: str, value: str) -> QuerySet[Membership]:
        return members.filter(Q(user__email__icontains=value) | Q(user__name__icontains=value))


class MembersResource(FullResource):
    """The people of this tenant. Admins invite, change roles and remove."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    may_write = ADMINS
    serializer_class = MemberSerializer
    input_serializer_class = InvitationSerializer
    change_serializer_class = RoleSerializer
    filterset_class = MemberFilter
    ordering = ("user__email",)
    ordering_fields = {"email": "user__email", "name": "user__name", "joined_at": "created_at"}
    lookup_field = "user_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Membership]:
        return selectors.members_of(current_tenant_id())

    def make(self, data: dict[str, Any]) -> Membership:
        tenant = login_of(self.request).tenant
        assert tenant  # RolePermission lets nobody in without one.
        return services.invite(tenant=tenant, **data)

    def change(self, row: Membership, data: dict[str, Any]) -> Membership:
        return services.change_role(membership=row, role=data.get("role", row.role))

    def remove(self, row: Membership) -> None:
        services.remove_member(membership=row)


class TenantSerializer(serializers.ModelSerializer[Tenant]):
    class Meta:
        model = Tenant
        fields = ("id", "name", "slug", "timezone", "created_at")


class TenantChangeSerializer(serializers.ModelSerializer[Tenant]):
    class Meta:
        model = Tenant
        fields = ("name", "timezone")


class TenantResource(Single):
    """The tenant you are in. Admins may change its name and time zone."""

    may_write = ADMINS
    serializer_class = TenantSerializer
    change_serializer_class = TenantChangeSerializer

    def get_queryset(self) -> QuerySet[Tenant]:
        return Tenant.objects.filter(pk=current_tenant_id())

    def change(self, row: Tenant, data: dict[str, Any]) -> Tenant:
        return services.revise_tenant(tenant=row, **data)
