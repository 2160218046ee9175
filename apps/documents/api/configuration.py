"""Templates, patterns, and documents made from templates."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.documents import selectors, services
from apps.documents.api.documents import CaseField, DocumentSerializer
from apps.documents.models import DocumentTemplate, ExtractionPattern
from axiom.api.views import ApiView, FullResource
from axiom.roles import ADMINS, Role


class DocumentTemplateSerializer(serializers.ModelSerializer[DocumentTemplate]):
    variables = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="What it has gaps for."
    )

    class Meta:
        model = DocumentTemplate
        fields = ("id", "name", "title", "body", "variables", "is_active", "changed_at")
        read_only_fields = ("changed_at",)


class TemplatesResource(FullResource):
    """Texts with gaps from which documents are made. Admins and managers write them."""

    may_write = ADMINS | {Role.MANAGER}
    serializer_class = DocumentTemplateSerializer
    filterset_fields = ("name", "is_active")
    ordering = ("name",)
    ordering_fields = ("name", "title")

    def get_queryset(self) -> QuerySet[DocumentTemplate]:
        return selectors.templates()

    def make(self, data: dict[str, Any]) -> DocumentTemplate:
        return services.add_template(**data)

    def change(self, row: DocumentTemplate, data: dict[str, Any]) -> DocumentTemplate:
        return services.change_template(row, **data)

    def remove(self, row: DocumentTemplate) -> None:
        services.remove_template(row)


class ExtractionPatternSerializer(serializers.ModelSerializer[ExtractionPattern]):
    class Meta:
        model = ExtractionPattern
        fields = (
            "id", "field", "label", "pattern", "value_type", "confidence", "is_active",
            "created_at",
        )  # fmt: skip
        read_only_fields = ("created_at",)


class PatternsResource(FullResource):
    """How fields are found in the text of documents. Admins and managers write them."""

    may_write = ADMINS | {Role.MANAGER}
    serializer_class = ExtractionPatternSerializer
    filterset_fields = ("field", "is_active")
    ordering = ("field",)
    ordering_fields = ("field", "created_at")

    def get_queryset(self) -> QuerySet[ExtractionPattern]:
        return selectors.patterns()

    def make(self, data: dict[str, Any]) -> ExtractionPattern:
        return services.add_pattern(**data)

    def change(self, row: ExtractionPattern, data: dict[str, Any]) -> ExtractionPattern:
        return services.change_pattern(row, **data)

    def remove(self, row: ExtractionPattern) -> None:
        services.remove_pattern(row)


class DocumentOrderSerializer(serializers.Serializer[Any]):
    """What to make: a template's name, a case, and values for the gaps."""

    template = serializers.CharField(max_length=50)
    case = CaseField()
    format = serializers.ChoiceField(choices=["pdf", "docx"], default="pdf")
    data = serializers.DictField(required=False, default=dict)  # type: ignore[assignment]
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    workitem_id = serializers.UUIDField(required=False, allow_null=True, default=None)

    def validate_template(self, name: str) -> DocumentTemplate:
        template = selectors.find_template(name)
        if template is None:
            raise serializers.ValidationError(_("There is no such template, or it is not active."))
        return template


class GenerateView(ApiView):
    """Makes a document from a template: answered at once, made by the documents worker."""

    @extend_schema(request=DocumentOrderSerializer, responses={202: DocumentSerializer})
    def post(self, request: Request) -> Response:
        order = DocumentOrderSerializer(data=request.data)
        order.is_valid(raise_exception=True)
        wanted = dict(order.validated_data)
        document = services.generate_document(
            case_id=wanted.pop("case"),
            **wanted,
        )
        return Response(DocumentSerializer(document).data, status=202)
