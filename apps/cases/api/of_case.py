"""What belongs to a case stands below it: /cases/{case_id}/..."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework.request import Request

from apps.cases import selectors
from apps.cases.models import Case, OfCase
from axiom.api.views import Resource

NONE = "00000000-0000-0000-0000-000000000000"


class OfCaseResource(Resource):
    """Rows of the case in the URL. A case of another tenant does not exist."""

    model: type[OfCase]
    related: tuple[str, ...] = ()
    lookup_value_converter = "uuid"
    case: Case

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.case = selectors.case_by_id(kwargs["case_id"])

    def get_queryset(self) -> QuerySet[Any]:
        rows = self.model.objects.filter(case_id=self.kwargs.get("case_id", NONE))
        return rows.select_related(*self.related) if self.related else rows


def by_status(model: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter("status", choices=model.Status.choices)


class DueFilter(django_filters.FilterSet):
    """By when it is due."""

    due_after = django_filters.IsoDateTimeFilter("due_at", "gte")
    due_before = django_filters.IsoDateTimeFilter("due_at", "lt")
