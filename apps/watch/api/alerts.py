"""Alerts, for programs: find them, see why, and do something about them."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events import catalog
from apps.events.errors import UnknownEventType
from apps.watch import selectors, services
from apps.watch.models import Alert, AlertEvent, AlertHistory, AlertWatcher
from apps.watch.services.settle_many import MOST, Outcome
from apps.watch.severity import Severity
from axiom.api.views import Listed, Resource, Shown

UUID_PATTERN = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LONGEST = 10_000


class AlertSerializer(serializers.ModelSerializer[Alert]):
    message = serializers.CharField(source="told", help_text="In your language.")
    flapping = serializers.BooleanField(source="is_flapping")
    escalates_at = serializers.SerializerMethodField(
        help_text="When the next in line is told, unless somebody acknowledges."
    )

    class Meta:
        model = Alert
        fields = (
            "id", "event_type", "aggregate_type", "aggregate_id", "case_id", "severity", "status",
            "message", "count", "detected_at", "last_seen_at", "raised_at", "acknowledged_at",
            "acknowledged_by_id", "dismissed_at", "resolved_at", "settled_by_id",
            "false_positive", "reopened", "flapping", "escalates_at",
        )  # fmt: skip

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_escalates_at(self, alert: Alert) -> Any:
        if not hasattr(alert, "escalates_at"):
            stage = selectors.next_stage(alert)
            return stage.due_at if stage else None
        return alert.escalates_at


class WatcherSerializer(serializers.ModelSerializer[AlertWatcher]):
    name = serializers.CharField(source="subscription.name")

    class Meta:
        model = AlertWatcher
        fields = ("subscription_id", "name", "muted", "since")


class StageSerializer(serializers.Serializer[Any]):
    """One level of escalation."""

    level = serializers.IntegerField()
    state = serializers.ChoiceField(
        choices=["waiting", "sent", "cancelled", "planned"],
        help_text="Planned: it follows if nobody acknowledges until then.",
    )
    due_at = serializers.DateTimeField()
    audience = serializers.CharField()
    channels = serializers.ListField(child=serializers.CharField())
    recipient_ids = serializers.ListField(child=serializers.UUIDField())
    settled_at = serializers.DateTimeField(allow_null=True)


class AlertInFullSerializer(AlertSerializer):
    """With what caused it, who watches, and what happens next and when."""

    facts = serializers.DictField(help_text="What its rule saw.")
    watchers = serializers.SerializerMethodField()
    escalation = serializers.SerializerMethodField(help_text="Every level: done, due or planned.")

    class Meta(AlertSerializer.Meta):
        fields = (
            *AlertSerializer.Meta.fields, "event_id", "caused_at", "facts",
            "first_acknowledged_at", "flapping_since", "root_cause", "team_notified_at",
            "team_lead_id", "watchers", "escalation",
        )  # type: ignore[assignment]  # fmt: skip

    @extend_schema_field(WatcherSerializer(many=True))
    def get_watchers(self, alert: Alert) -> Any:
        return WatcherSerializer(selectors.watching(alert.pk), many=True).data

    @extend_schema_field(StageSerializer(many=True))
    def get_escalation(self, alert: Alert) -> Any:
        return StageSerializer(selectors.stages_of(alert), many=True).data


class AlertEventSerializer(serializers.ModelSerializer[AlertEvent]):
    facts = serializers.DictField()

    class Meta:
        model = AlertEvent
        fields = ("event_id", "subscription_id", "occurred_at", "facts")


class AlertHistorySerializer(serializers.ModelSerializer[AlertHistory]):
    facts = serializers.DictField()

    class Meta:
        model = AlertHistory
        fields = ("kind", "actor", "note", "facts", "at")


class NoteSerializer(serializers.Serializer[Any]):
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)


class DismissSerializer(serializers.Serializer[Any]):
    false_positive = serializers.BooleanField(
        help_text="The verdict: it should not have been raised at all."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)


class ResolveSerializer(serializers.Serializer[Any]):
    root_cause = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST,
        help_text="Needed unless it was recorded before.",
    )  # fmt: skip
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)
    false_positive = serializers.BooleanField(default=False)


class RootCauseSerializer(serializers.Serializer[Any]):
    root_cause = serializers.CharField(max_length=LONGEST)


class TeamSerializer(NoteSerializer):
    recipient_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=MOST,
        help_text="Which colleagues; by default who works on its case and who watches it.",
    )  # fmt: skip


class ActionSerializer(serializers.Serializer[Any]):
    action = serializers.CharField(max_length=LONGEST, help_text="What was done.")


class ManySerializer(serializers.Serializer[Any]):
    """One act on many alerts; what it takes is what it takes on one."""

    action = serializers.ChoiceField(choices=["acknowledge", "dismiss", "resolve"])
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST, help_text="Which alerts."
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)
    root_cause = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST)
    false_positive = serializers.BooleanField(required=False)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        act = given.pop("action")
        kind = {"acknowledge": NoteSerializer, "dismiss": DismissSerializer}
        beside = kind.get(act, ResolveSerializer)(data=self.initial_data)
        beside.is_valid(raise_exception=True)
        return {"act": act, "ids": given["ids"], "given": dict(beside.validated_data)}


class RefusedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    code = serializers.CharField()
    detail = serializers.CharField()


class OutcomeSerializer(serializers.Serializer[Any]):
    done = serializers.ListField(child=serializers.UUIDField())
    refused = RefusedSerializer(many=True)


class AlertFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.MultipleChoiceFilter(choices=Alert.Status.choices)
    severity = django_filters.MultipleChoiceFilter(choices=Severity.choices)
    event_type = django_filters.CharFilter(method="of_type", help_text="Aliases are accepted.")
    case_id = django_filters.UUIDFilter()
    aggregate_id = django_filters.CharFilter()
    subscription_id = django_filters.UUIDFilter(method="watched_by")
    flapping = django_filters.BooleanFilter("flapping_since", "isnull", exclude=True)
    since = django_filters.IsoDateTimeFilter("detected_at", "gte")
    until = django_filters.IsoDateTimeFilter("detected_at", "lt")

    class Meta:
        model = Alert
        fields = ()

    def of_type(self, alerts: QuerySet[Alert], name: str, value: str) -> Any:
        return alerts.filter(event_type=_known_name(value))

    def watched_by(self, alerts: QuerySet[Alert], name: str, value: Any) -> Any:
        return alerts.filter(watchers__subscription_id=value)


def _known_name(event_type: str) -> str:
    try:
        return catalog.canonical(event_type)
    except UnknownEventType:
        return event_type  # Alerts of the system are about no declared event.


class AlertsResource(Listed, Shown, Resource):
    """Alerts. Everybody looks; all but viewers acknowledge, dismiss, resolve and write down."""

    http_method_names = ["get", "head", "post"]
    serializer_class = AlertInFullSerializer
    filterset_class = AlertFilter
    ordering_fields = {
        "detected_at": "detected_at",
        "severity": "rank",
        "last_seen": "last_seen_at",
    }
    lookup_value_regex = UUID_PATTERN

    def get_queryset(self) -> QuerySet[Alert]:
        return selectors.alerts()

    def get_serializer_class(self) -> Any:
        return AlertSerializer if self.action == "list" else self.serializer_class

    @extend_schema(request=NoteSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Take it on: nobody else is told from here on."""
        return self._settled(services.acknowledge, NoteSerializer)

    @extend_schema(request=DismissSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"])
    def dismiss(self, request: Request, pk: str) -> Response:
        """Set it aside, with the verdict whether it should have been raised."""
        return self._settled(services.dismiss, DismissSerializer)

    @extend_schema(request=ResolveSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"])
    def resolve(self, request: Request, pk: str) -> Response:
        """End the matter; its cause has to be known by then."""
        return self._settled(services.resolve, ResolveSerializer)

    @extend_schema(request=RootCauseSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"], url_path="root-cause")
    def root_cause(self, request: Request, pk: str) -> Response:
        """Write down what caused it."""
        return self._followed(services.record_root_cause, RootCauseSerializer)

    @extend_schema(request=TeamSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"], url_path="team-notified")
    def team_notified(self, request: Request, pk: str) -> Response:
        """Tell the team what is known, in the app and as each of them wants to be told."""
        return self._followed(services.record_team_notified, TeamSerializer)

    @extend_schema(request=ActionSerializer, responses=AlertInFullSerializer)
    @action(detail=True, methods=["post"])
    def actions(self, request: Request, pk: str) -> Response:
        """Write down what was done about it."""
        return self._followed(services.record_action, ActionSerializer)

    @extend_schema(responses=AlertEventSerializer(many=True), filters=False)
    @action(detail=True)
    def events(self, request: Request, pk: str) -> Response:
        """What made it, in the order it happened: the first hundred that were seen."""
        return self._page(selectors.events_of(self.get_object()), AlertEventSerializer)

    @extend_schema(responses=AlertHistorySerializer(many=True), filters=False)
    @action(detail=True)
    def history(self, request: Request, pk: str) -> Response:
        """Who did what about it and when, the first first."""
        return self._page(selectors.history_of(self.get_object()), AlertHistorySerializer)

    @extend_schema(request=ManySerializer, responses=OutcomeSerializer)
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """The same act on many: what was done, and the reason for each that was refused."""
        given = self._given(ManySerializer)
        act = getattr(services, given["act"])
        outcome = services.settle_many(act, given["ids"], by=request.user, **given["given"])
        return Response(OutcomeSerializer(_told(outcome)).data)

    def _settled(self, act: Any, kind: type[serializers.Serializer[Any]]) -> Response:
        return self.answer(act(alert=self.get_object(), by=self.request.user, **self._given(kind)))

    def _followed(self, act: Any, kind: type[serializers.Serializer[Any]]) -> Response:
        return self.answer(act(alert=self.get_object(), **self._given(kind)))

    def _given(self, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        serializer = kind(data=self.request.data)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)

    def _page(self, rows: QuerySet[Any], kind: type[serializers.ModelSerializer[Any]]) -> Response:
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(kind(page, many=True).data)


def _told(outcome: Outcome) -> dict[str, Any]:
    refused = [
        {"id": key, "code": error.code, "detail": _(error.message)}
        for key, error in outcome.refused
    ]
    return {"done": [alert.pk for alert in outcome.done], "refused": refused}
