"""Documents, their versions, their files and how far the work on them has come."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases import selectors as cases
from apps.documents import selectors, services
from apps.documents.api.attachment import attachment_of
from apps.documents.kinds import CONTENT_TYPES
from apps.documents.models import Document, DocumentVersion, ExtractedValue
from apps.documents.storage import StraightToStore
from axiom.api.concurrency import etag_of, is_known
from axiom.api.schema import ProblemSerializer
from axiom.api.views import Changed, Listed, Made, Removed, Resource, Shown
from axiom.problems import CONTENT_TYPE
from axiom.roles import ADMINS

POLL_AFTER_SECONDS = 2

TOO_LARGE: dict[Any, Any] = {(413, CONTENT_TYPE): OpenApiResponse(ProblemSerializer)}
FILE: dict[Any, Any] = {
    (200, content_type): OpenApiResponse(OpenApiTypes.BINARY) for content_type in CONTENT_TYPES
}
NOT_MODIFIED = {304: OpenApiResponse(description="Not modified")}
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, required=False
)
CONFLICT: dict[Any, Any] = {(409, CONTENT_TYPE): OpenApiResponse(ProblemSerializer)}


class ExtractedFieldSerializer(serializers.ModelSerializer[ExtractedValue]):
    value = serializers.JSONField()

    class Meta:
        model = ExtractedValue
        fields = ("name", "value", "found_text", "page", "confidence")


class DocumentVersionSummarySerializer(serializers.ModelSerializer[DocumentVersion]):
    class Meta:
        model = DocumentVersion
        fields: tuple[str, ...] = (
            "number", "origin", "state", "error", "file_name", "content_type", "size_bytes",
            "sha256", "pages_count", "pages_done", "method", "text_confidence", "confidence",
            "workitem_id", "created_by", "created_at",
        )  # fmt: skip


class DocumentVersionSerializer(DocumentVersionSummarySerializer):
    fields_found = ExtractedFieldSerializer(source="fields", many=True, read_only=True)

    class Meta(DocumentVersionSummarySerializer.Meta):
        fields = (*DocumentVersionSummarySerializer.Meta.fields, "fields_found")


class DocumentSerializer(serializers.ModelSerializer[Document]):
    case = serializers.UUIDField(source="case_id")
    latest = DocumentVersionSummarySerializer()

    class Meta:
        model = Document
        fields = ("id", "case", "title", "latest", "created_by", "created_at")


class NewDocumentVersionSerializer(serializers.Serializer[Any]):
    # Empty ones are refused by the service, in the words of documents.
    file = serializers.FileField(allow_empty_file=True)
    workitem_id = serializers.UUIDField(required=False, allow_null=True, default=None)


class CaseField(serializers.UUIDField):
    """The id of a case of the tenant."""

    default_error_messages = {"unknown": _("There is no such case.")}

    def to_internal_value(self, data: Any) -> Any:
        case_id = super().to_internal_value(data)
        if cases.find_case(case_id) is None:
            self.fail("unknown")
        return case_id


class NewDocumentSerializer(NewDocumentVersionSerializer):
    case = CaseField()
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")


class DocumentTitleSerializer(serializers.ModelSerializer[Document]):
    class Meta:
        model = Document
        fields = ("title",)


class DocumentProgressSerializer(serializers.Serializer[Any]):
    document_id = serializers.UUIDField()
    version = serializers.IntegerField()
    state = serializers.ChoiceField(choices=DocumentVersion.State.choices)
    state_label = serializers.CharField()
    is_settled = serializers.BooleanField(help_text="Nothing more will happen by itself.")
    pages_done = serializers.IntegerField()
    pages_count = serializers.IntegerField()
    confidence = serializers.FloatField(allow_null=True)
    error = serializers.CharField(allow_blank=True)
    changed_at = serializers.DateTimeField()


class DocumentPageSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    text = serializers.CharField(allow_blank=True)
    method = serializers.ChoiceField(choices=DocumentVersion.Method.choices)
    confidence = serializers.FloatField(allow_null=True)


class DocumentTextSerializer(serializers.Serializer[Any]):
    pages = DocumentPageSerializer(many=True)


class DocumentFilter(django_filters.FilterSet):
    case = django_filters.UUIDFilter(field_name="case_id")
    state = django_filters.ChoiceFilter(
        field_name="latest__state", choices=DocumentVersion.State.choices
    )
    q = django_filters.CharFilter(
        field_name="title", lookup_expr="icontains", label=_("Part of the title")
    )

    class Meta:
        model = Document
        fields = ("case", "state", "q")


class TakesUploads(Resource):
    """A resource whose POST of a file is written straight to where it will stay."""

    parser_classes = [MultiPartParser, JSONParser]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        # Before anything reads the body: even the check of a CSRF token does.
        if request.method == "POST" and (request.content_type or "").startswith("multipart/"):
            request.upload_handlers = [StraightToStore(request)]
        return super().initialize_request(request, *args, **kwargs)

    def get_parsers(self) -> list[Any]:
        """A file comes as a form; everything else is JSON."""
        takes_file = getattr(self, "action_map", {}).get("post") == "create"
        posted = self.request is not None and self.request.method == "POST"
        return [MultiPartParser()] if takes_file and posted else [JSONParser()]


class DocumentsResource(Listed, Shown, Made, Changed, Removed, TakesUploads):
    """The documents of the tenant's cases. POST takes a form with the file."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    serializer_class = DocumentSerializer
    input_serializer_class = NewDocumentSerializer
    change_serializer_class = DocumentTitleSerializer
    filterset_class = DocumentFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "title")
    may = {"destroy": ADMINS}

    def get_queryset(self) -> QuerySet[Document]:
        return selectors.documents()

    @extend_schema(
        request={"multipart/form-data": NewDocumentSerializer},
        responses={201: DocumentSerializer, **TOO_LARGE},
    )
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().create(request, *args, **kwargs)

    def make(self, data: dict[str, Any]) -> Document:
        file = data["file"]
        return services.upload_document(
            case_id=data["case"],
            incoming=file.incoming,
            file_name=file.name,
            title=data["title"],
            workitem_id=data["workitem_id"],
        )

    def change(self, row: Document, data: dict[str, Any]) -> Document:
        return services.rename_document(document=row, title=data.get("title", row.title))

    def remove(self, row: Document) -> None:
        services.remove_document(document=row)

    @extend_schema(
        parameters=[IF_NONE_MATCH], responses={200: DocumentProgressSerializer, **NOT_MODIFIED}
    )
    @action(detail=True, methods=["get"], filterset_class=None)
    def status(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """How far the latest version has come. Cheap to ask again with If-None-Match."""
        version: Any = self.get_object().latest
        shown = selectors.progress_of(version)
        headers = {"ETag": etag_of(shown)}
        if not version.is_settled:
            headers["Retry-After"] = str(POLL_AFTER_SECONDS)
        if is_known(request, headers["ETag"]):
            return Response(status=304, headers=headers)
        return Response(shown, headers=headers)

    @extend_schema(request=None, responses={202: DocumentProgressSerializer, **CONFLICT})
    @action(detail=True, methods=["post"], filterset_class=None)
    def process(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Go on where it stopped, or extract the fields again with today's patterns."""
        version = services.process_again(version=self.get_object().latest)
        return Response(selectors.progress_of(version), status=202)

    @extend_schema(responses={**FILE, **CONFLICT, **NOT_MODIFIED}, parameters=[IF_NONE_MATCH])
    @action(detail=True, methods=["get"], filterset_class=None)
    def download(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The file of the latest version, as an attachment."""
        return downloaded(request, self.get_object().latest)


class VersionsResource(Listed, Shown, Made, TakesUploads):
    """The versions of a document. POST takes a form with the newer file."""

    http_method_names = ["get", "head", "post"]
    serializer_class = DocumentVersionSerializer
    input_serializer_class = NewDocumentVersionSerializer
    ordering = ("-number",)
    ordering_fields = ("number",)
    lookup_field = "number"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        # First of all: who may not know the document learns nothing from what else is wrong.
        self.document = selectors.document_by_id(kwargs["document_id"])

    def get_queryset(self) -> QuerySet[DocumentVersion]:
        # Without an id only the maker of the OpenAPI document asks.
        return selectors.versions_of(self.kwargs.get("document_id"))

    @extend_schema(
        request={"multipart/form-data": NewDocumentVersionSerializer},
        responses={201: DocumentVersionSerializer, **TOO_LARGE},
    )
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().create(request, *args, **kwargs)

    def make(self, data: dict[str, Any]) -> DocumentVersion:
        file = data["file"]
        return services.upload_version(
            document=self.document,
            incoming=file.incoming,
            file_name=file.name,
            workitem_id=data["workitem_id"],
        )

    @extend_schema(responses={**FILE, **CONFLICT, **NOT_MODIFIED}, parameters=[IF_NONE_MATCH])
    @action(detail=True, methods=["get"])
    def download(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The file of this version, as an attachment."""
        return downloaded(request, self.get_object())

    @extend_schema(responses=DocumentTextSerializer)
    @action(detail=True, methods=["get"])
    def text(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """What was read in this version, page by page."""
        return Response({"pages": selectors.text_of(self.get_object())})


def downloaded(request: Request, version: DocumentVersion) -> HttpResponseBase:
    if version.sha256 and is_known(request, f'"{version.sha256}"'):
        return Response(status=304, headers={"ETag": f'"{version.sha256}"'})
    return attachment_of(version)
