"""The ontology and event-log bindings, for programs."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.synapse import selectors, services
from apps.synapse.models import EventLogBinding, OntologyLink, OntologyNode
from axiom.api.checked import (
    CHECKED_FIELDS,
    CheckedSerializer,
    CheckReportSerializer,
    SourceInput,
    shown,
)
from axiom.api.views import ApiView, FullResource
from axiom.references import Status
from axiom.roles import ADMINS, Role

MAY_MODEL = ADMINS | {Role.MANAGER, Role.ANALYST, Role.ENGINEER}
_WHERE = ("datasource_name", "schema_name", "table_name")


class OntologyNodeSerializer(serializers.ModelSerializer[OntologyNode]):
    class Meta:
        model = OntologyNode
        fields = ("id", "layer", "name", "description", "created_by", "created_at")
        read_only_fields = ("created_by", "created_at")


class NodeField(serializers.UUIDField):
    """The id of a node of the tenant."""

    default_error_messages = {"unknown": _("There is no such node.")}

    def to_internal_value(self, data: Any) -> Any:
        node_id = super().to_internal_value(data)
        if not selectors.nodes().filter(pk=node_id).exists():
            self.fail("unknown")
        return node_id


class OntologyLinkSerializer(CheckedSerializer):
    node = NodeField(source="node_id")

    class Meta:
        model = OntologyLink
        fields = ("id", "node", *_WHERE, "column_name", *CHECKED_FIELDS, "created_at")
        read_only_fields = ("created_at",)


class EventLogBindingSerializer(CheckedSerializer):
    class Meta:
        model = EventLogBinding
        fields = (
            "id", "name", *_WHERE, "case_column", "activity_column", "timestamp_column",
            "resource_column", *CHECKED_FIELDS, "created_by", "created_at",
        )  # fmt: skip
        read_only_fields = ("created_by", "created_at")


class LinkFilter(django_filters.FilterSet):
    node = django_filters.UUIDFilter(field_name="node_id")
    datasource_name = django_filters.CharFilter()
    table_name = django_filters.CharFilter()
    status = django_filters.ChoiceFilter(choices=Status.choices)

    class Meta:
        model = OntologyLink
        fields = ()


class BindingFilter(django_filters.FilterSet):
    datasource_name = django_filters.CharFilter()
    table_name = django_filters.CharFilter()
    status = django_filters.ChoiceFilter(choices=Status.choices)

    class Meta:
        model = EventLogBinding
        fields = ()


class NodesResource(FullResource):
    """The notions of the business, in four layers."""

    may_write = MAY_MODEL
    serializer_class = OntologyNodeSerializer
    filterset_fields = ("layer", "name")
    ordering = ("name",)
    ordering_fields = ("name", "layer", "created_at")

    def get_queryset(self) -> QuerySet[OntologyNode]:
        return selectors.nodes()

    def make(self, data: dict[str, Any]) -> OntologyNode:
        return services.add_node(**data)

    def change(self, row: OntologyNode, data: dict[str, Any]) -> OntologyNode:
        return services.change_node(row, **data)

    def remove(self, row: OntologyNode) -> None:
        services.remove_node(row)


class LinksResource(FullResource):
    """Which tables and columns nodes stand for."""

    may_write = MAY_MODEL
    serializer_class = OntologyLinkSerializer
    filterset_class = LinkFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "table_name")

    def get_queryset(self) -> QuerySet[OntologyLink]:
        return selectors.links()

    def make(self, data: dict[str, Any]) -> OntologyLink:
        return services.link_node(**data)

    def change(self, row: OntologyLink, data: dict[str, Any]) -> OntologyLink:
        return services.change_link(row, **data)

    def remove(self, row: OntologyLink) -> None:
        services.remove_link(row)


class BindingsResource(FullResource):
    """Tables that are read as event logs."""

    may_write = MAY_MODEL
    serializer_class = EventLogBindingSerializer
    filterset_class = BindingFilter
    ordering = ("name",)
    ordering_fields = ("name", "created_at")

    def get_queryset(self) -> QuerySet[EventLogBinding]:
        return selectors.bindings()

    def make(self, data: dict[str, Any]) -> EventLogBinding:
        return services.bind_event_log(**data)

    def change(self, row: EventLogBinding, data: dict[str, Any]) -> EventLogBinding:
        return services.change_binding(row, **data)

    def remove(self, row: EventLogBinding) -> None:
        services.remove_binding(row)


class ReconcileView(ApiView):
    """Holds all links and bindings against the catalog as it is, whatever was missed."""

    may_write = MAY_MODEL

    @extend_schema(request=SourceInput, responses=CheckReportSerializer)
    def post(self, request: Request) -> Response:
        wanted = SourceInput(data=request.data)
        wanted.is_valid(raise_exception=True)
        name = wanted.validated_data["datasource_name"]
        return Response(shown(services.check_ontology(name) if name else services.reconcile()))
