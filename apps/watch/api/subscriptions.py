"""Subscriptions, for programs: who is told of what, tried and explained before it is saved."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.watch import selectors, services
from apps.watch.errors import NotYours
from apps.watch.models import Channel, Subscription
from apps.watch.rules import rule_schema
from apps.watch.severity import Severity
from axiom.api.views import FullResource
from axiom.roles import OPERATORS, Role
from axiom.tenancy import current_tenant_id

UUID_PATTERN = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LONGEST_RULE = 100_000


@extend_schema_field({"type": "object", "additionalProperties": True})
class RuleField(serializers.JSONField):
    """A rule; GET /api/v1/subscriptions/rule-schema/ says what can be said in it."""


class SubscriptionSerializer(serializers.ModelSerializer[Subscription]):
    rule = RuleField()
    event_types = serializers.ListField(child=serializers.CharField())
    channels = serializers.ListField(child=serializers.ChoiceField(choices=Channel.choices))

    class Meta:
        model = Subscription
        fields = (
            "id", "name", "user_id", "role", "event_types", "rule", "severity", "channels",
            "is_active", "mute_from", "mute_until", "snoozed_until", "rule_since",
            "quarantined_at", "quarantine_reason", "created_at", "updated_at",
        )  # fmt: skip


class SubscriptionInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)
    user_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="Who is told; you, unless you name another."
    )
    role = serializers.ChoiceField(
        required=False, allow_blank=True, choices=Role.choices,
        help_text="Instead of a person: everybody in this role is told.",
    )  # fmt: skip
    event_types = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=100,
        help_text="Aliases are accepted. A sequence or an absence names its own.",
    )  # fmt: skip
    rule = RuleField(help_text="See /api/v1/subscriptions/rule-schema/.")
    severity = serializers.ChoiceField(choices=Severity.choices, required=False)
    channels = serializers.ListField(
        child=serializers.ChoiceField(choices=Channel.choices), required=False, min_length=1,
        max_length=len(Channel),
    )  # fmt: skip
    is_active = serializers.BooleanField(required=False)
    mute_from = serializers.TimeField(
        required=False, allow_null=True,
        help_text="Quiet from this time of day, where the owner lives. Critical ones come through.",
    )  # fmt: skip
    mute_until = serializers.TimeField(required=False, allow_null=True)


class SnoozeInput(serializers.Serializer[Any]):
    until = serializers.DateTimeField(help_text="At most 30 days from now.")


class TrialInput(serializers.Serializer[Any]):
    rule = RuleField()
    event_types = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=100, default=list
    )
    days = serializers.IntegerField(min_value=1, max_value=30, default=7)


class MatchSerializer(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    event_type = serializers.CharField()
    aggregate_type = serializers.CharField()
    aggregate_id = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    message = serializers.CharField()
    facts = serializers.DictField()


@extend_schema_serializer(component_name="RuleTrial")
class TrialSerializer(serializers.Serializer[Any]):
    """What the rule would have done; nothing was."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    events = serializers.IntegerField(help_text="How many stored events were looked at.")
    matches = serializers.IntegerField()
    alerts = serializers.IntegerField(help_text="Matches of 24 hours fold into one alert.")
    truncated = serializers.BooleanField(help_text="There were more events than are looked at.")
    found = MatchSerializer(many=True, help_text="The first hundred matches.")


class ExplainInput(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()


class ExplainRuleInput(ExplainInput):
    rule = RuleField()
    event_types = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=100, default=list
    )


@extend_schema_serializer(component_name="ExplainedPart")
class PartSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    matched = serializers.BooleanField(allow_null=True, help_text="Null: it cannot be told.")
    why = serializers.CharField()
    values = serializers.DictField(help_text="What it saw.")
    parts = serializers.ListField(
        child=serializers.DictField(), help_text="The conditions inside it, told the same way."
    )


class ExplainedSerializer(serializers.Serializer[Any]):
    fires = serializers.BooleanField()
    tree = PartSerializer()


class SubscriptionFilter(django_filters.FilterSet):  # type: ignore[misc]
    event_type = django_filters.CharFilter(method="of_type", help_text="Aliases are accepted.")
    user_id = django_filters.UUIDFilter()
    role = django_filters.ChoiceFilter(choices=Role.choices)
    severity = django_filters.ChoiceFilter(choices=Severity.choices)
    is_active = django_filters.BooleanFilter()
    quarantined = django_filters.BooleanFilter("quarantined_at", "isnull", exclude=True)

    class Meta:
        model = Subscription
        fields = ()

    def of_type(self, rows: QuerySet[Subscription], name: str, value: str) -> Any:
        return rows.filter(event_types__contains=[selectors.own_name(value)])


class SubscriptionsResource(FullResource):
    """Your subscriptions and those of your role; admins see and change everybody's."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    may = {"try_": OPERATORS, "explain": OPERATORS}
    # Only for the OpenAPI document, which is made while nobody asks.
    queryset = Subscription.across_tenants.none()
    serializer_class = SubscriptionSerializer
    input_serializer_class = SubscriptionInput
    filterset_class = SubscriptionFilter
    ordering_fields = ("created_at", "name")
    lookup_value_regex = UUID_PATTERN

    def get_queryset(self) -> QuerySet[Subscription]:
        login = login_of(self.request)
        return selectors.subscriptions_seen_by(user_id=login.user_id, role=login.role or "")

    def make(self, data: dict[str, Any]) -> Subscription:
        me = login_of(self.request).user_id
        if not data.get("role"):
            data["user_id"] = data.get("user_id") or me
        self._must_be_mine(data.get("user_id"))
        return services.subscribe(created_by_id=me, **data)

    def change(self, row: Subscription, data: dict[str, Any]) -> Subscription:
        self._must_be_mine(row.user_id)
        self._must_be_mine(data.get("user_id", row.user_id))
        return services.change_subscription(subscription=row, **data)

    def remove(self, row: Subscription) -> None:
        self._must_be_mine(row.user_id)
        services.unsubscribe(subscription=row)

    def _must_be_mine(self, user_id: Any) -> None:
        login = login_of(self.request)
        if login.role != Role.ADMIN and user_id != login.user_id:
            raise NotYours

    def _mine(self) -> Subscription:
        row: Subscription = self.get_object()
        self._must_be_mine(row.user_id)
        return row

    @extend_schema(responses={200: {"type": "object", "additionalProperties": True}})
    @action(detail=False, url_path="rule-schema", filterset_class=None, pagination_class=None)
    def rule_schema(self, request: Request) -> Response:
        """The JSON Schema of a rule."""
        return Response(rule_schema())

    @extend_schema(request=TrialInput, responses=TrialSerializer)
    @action(detail=False, methods=["post"], url_path="try", filterset_class=None)
    def try_(self, request: Request) -> Response:
        """Try a rule on the stored events of the last days: how many alerts, and which events."""
        given = _validated(TrialInput, request)
        outcome = services.try_rule(tenant_id=current_tenant_id(), now=timezone.now(), **given)
        return Response(TrialSerializer(outcome).data)

    @extend_schema(
        request=ExplainRuleInput,
        responses=ExplainedSerializer,
        operation_id="subscriptions_explain_rule",
    )
    @action(detail=False, methods=["post"], url_path="explain", filterset_class=None)
    def explain_rule(self, request: Request) -> Response:
        """Why a stored event matches a rule, or why not, with the actual values."""
        given = _validated(ExplainRuleInput, request)
        told = services.explain_rule(tenant_id=current_tenant_id(), **given)
        return Response(_told(told))

    @extend_schema(request=ExplainInput, responses=ExplainedSerializer)
    @action(detail=True, methods=["post"])
    def explain(self, request: Request, pk: str) -> Response:
        """The same for a subscription."""
        row, given = self.get_object(), _validated(ExplainInput, request)
        return Response(_told(services.explain_subscription(subscription=row, **given)))

    @extend_schema(request=SnoozeInput, responses=SubscriptionSerializer)
    @action(detail=True, methods=["post"])
    def snooze(self, request: Request, pk: str) -> Response:
        """Tell its owner nothing until then; alerts are made all the same."""
        row, given = self._mine(), _validated(SnoozeInput, request)
        return self.answer(services.snooze(subscription=row, now=timezone.now(), **given))

    @extend_schema(request=None, responses=SubscriptionSerializer)
    @action(detail=True, methods=["post"])
    def wake(self, request: Request, pk: str) -> Response:
        """End a snooze."""
        return self.answer(services.wake(subscription=self._mine()))

    @extend_schema(request=None, responses=SubscriptionSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """Let a rule that failed and was set aside try again."""
        return self.answer(services.release_from_quarantine(subscription=self._mine()))


def login_of(request: Request) -> Any:
    """Who asks, in which tenant and role."""
    return request.auth


def _told(explained: Any) -> dict[str, Any]:
    return {"fires": explained.fires, "tree": explained.tree.as_json()}


def _validated(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
