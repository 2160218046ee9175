"""How fast alerts are answered, for programs."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts import selectors as accounts
from apps.watch import selectors
from apps.watch.selectors import By
from axiom.api.views import ApiView
from axiom.tenancy import current_tenant_id

DAYS = 180
CHOICES = [str(each) for each in By if each is not By.TENANT]


class SlaQuery(serializers.Serializer[Any]):
    by = serializers.ChoiceField(choices=CHOICES, default="month")
    team = serializers.UUIDField(required=False, help_text="Of this team: the id of its lead.")
    rule = serializers.UUIDField(required=False, help_text="Of this rule: a subscription's id.")
    since = serializers.DateTimeField(
        required=False, default_timezone=UTC, help_text="180 days ago, if nothing is said."
    )
    until = serializers.DateTimeField(required=False, default_timezone=UTC)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        now: datetime = timezone.now()
        given.setdefault("until", now)
        given.setdefault("since", now - timedelta(days=DAYS))
        if given["since"] >= given["until"]:
            raise serializers.ValidationError({"since": [_("It has to be before `until`.")]})
        return given


class AnsweringSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    p50_seconds = serializers.FloatField(allow_null=True)
    p95_seconds = serializers.FloatField(allow_null=True)
    late = serializers.IntegerField(help_text="Later than promised, or still waiting past that.")
    due = serializers.IntegerField(help_text="Answered, or past the promised time.")
    burn = serializers.FloatField(
        help_text="The share that is late against the 5 % a p95 tolerates: above 1 it is broken."
    )


class FiguresSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The month, or the id of the team's lead or the rule.")
    label = serializers.CharField()  # type: ignore[assignment]
    alerts = serializers.IntegerField()
    acknowledged = AnsweringSerializer()
    resolved = AnsweringSerializer()
    judged = serializers.IntegerField(help_text="Dismissed or resolved: there is a verdict.")
    false_positives = serializers.IntegerField()
    false_positive_share = serializers.FloatField()
    false_positive_burn = serializers.FloatField()


class TargetsSerializer(serializers.Serializer[Any]):
    acknowledge_seconds = serializers.FloatField()
    resolve_seconds = serializers.FloatField()
    false_positive_share = serializers.FloatField()


class SlaSerializer(serializers.Serializer[Any]):
    targets = TargetsSerializer()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    results = FiguresSerializer(many=True)


class SlaView(ApiView, APIView):
    """Against the promises: 15 minutes to acknowledge, a day to resolve, 10 % false positives."""

    http_method_names = ["get", "head"]

    @extend_schema(parameters=[SlaQuery], responses=SlaSerializer)
    def get(self, request: Request) -> Response:
        query = SlaQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        given, tenant_id = query.validated_data, current_tenant_id()
        tenant = accounts.tenant_by_id(tenant_id)
        figures = selectors.sla(
            by=By(given["by"]), since=given["since"], until=given["until"], now=timezone.now(),
            tenant_ids=[tenant_id], zone=tenant.timezone if tenant else "UTC",
            team=given.get("team"), rule=given.get("rule"),
        )  # fmt: skip
        answer = {
            "targets": settings.WATCH_SLA, "since": given["since"], "until": given["until"],
            "results": figures,
        }  # fmt: skip
        return Response(SlaSerializer(answer).data)
