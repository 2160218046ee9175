"""The cash of a case, and the data registered in it."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404

from apps.cases import services
from apps.cases.api.of_case import NONE, OfCaseResource
from apps.cases.models import A_CURRENCY, CashPosition, Dataset
from axiom.api.views import Changed, Listed, Made, Shown


class CashSerializer(serializers.ModelSerializer[CashPosition]):
    is_low = serializers.BooleanField()

    class Meta:
        model = CashPosition
        fields = ("balance", "threshold", "currency", "is_low", "updated_at")


class CashRecordSerializer(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    balance = serializers.DecimalField(max_digits=15, decimal_places=2)
    threshold = serializers.DecimalField(
        max_digits=15, decimal_places=2, min_value=0, required=False
    )
    currency = serializers.CharField(
        validators=[A_CURRENCY], max_length=3, required=False, help_text="KRW unless given."
    )


class CashResource(Shown, Made, OfCaseResource):
    """The cash position of a case."""

    http_method_names = ["get", "head", "post"]
    serializer_class = CashSerializer
    input_serializer_class = CashRecordSerializer
    filter_backends: list[Any] = []

    def get_queryset(self) -> QuerySet[CashPosition]:
        return CashPosition.objects.filter(case_id=self.kwargs.get("case_id", NONE))

    def get_object(self) -> CashPosition:
        return get_object_or_404(self.get_queryset())

    def location(self, row: Any) -> str:
        return self.request.path

    def make(self, data: dict[str, Any]) -> CashPosition:
        return services.record_cash(case=self.case, **data)

    @extend_schema(request=CashRecordSerializer, responses={201: CashSerializer})
    def create(self, *args: Any, **kwargs: Any) -> Any:
        """Record how much cash there is now."""
        return super().create(*args, **kwargs)


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    class Meta:
        model = Dataset
        fields = ("id", "name", "records_count", "issues_count", "created_at")


class NewDatasetSerializer(serializers.ModelSerializer[Dataset]):
    class Meta:
        model = Dataset
        fields = ("name", "records_count", "issues_count")


class DatasetsResource(Listed, Shown, Made, Changed, OfCaseResource):
    """Data registered in a case."""

    http_method_names = ["get", "head", "post", "patch"]
    model = Dataset
    serializer_class = DatasetSerializer
    input_serializer_class = NewDatasetSerializer
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "name")

    def make(self, data: dict[str, Any]) -> Dataset:
        return services.register_data(case=self.case, **data)

    def change(self, row: Dataset, data: dict[str, Any]) -> Dataset:
        return services.revise_data(dataset=row, **data)
