"""A shape says what its serializer says, of every list there is."""

import json
from decimal import Decimal

import pytest
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from apps.accounts.models import User
from apps.cases.models import Case
from apps.cases.services import open_case
from apps.events.context import acting
from apps.events.ids import uuid7
from axiom import demo
from axiom.api import views
from axiom.api.columns import columns_of
from axiom.api.renderers import QuickJSONRenderer
from axiom.api.shapes import shape_of
from tests import routes

pytestmark = pytest.mark.django_db

LISTS = [
    each.path
    for each in routes.below("/api/v1/")
    if not each.parameters
    and issubclass(each.view_class, views.Listed)
    and getattr(each.callback, "actions", {}).get("get") == "list"
]


def _serializers():
    return {each.view_class.serializer_class for each in routes.below("/api/v1/")
            if issubclass(each.view_class, views.Listed)}  # fmt: skip


@pytest.fixture
def compared(monkeypatch):
    """Rows that were told both ways, which must be the same way."""
    told = []
    monkeypatch.setattr(views, "columns_of", lambda serializer_class: None)

    def both(serializer_class, context):
        shape = shape_of(serializer_class, context)

        def compare(row):
            quick = QuickJSONRenderer().render(shape(row))
            slow = JSONRenderer().render(serializer_class(row, context=context).data)
            assert json.loads(quick) == json.loads(slow)
            told.append(row)
            return json.loads(quick)

        return compare

    monkeypatch.setattr(views, "shape_of", both)
    return told


def test_every_list_of_the_demo(compared, api_of):
    demo.load()
    api = api_of(User.objects.get(email=demo.LOGIN))
    for path in LISTS:
        assert api.get(path).status_code == 200, path
    kinds = {type(row).__name__ for row in compared}
    assert {"Case", "WorkItem", "Alert", "Subscription", "Document"} <= kinds


def test_lists_of_columns_say_what_lists_of_objects_say(monkeypatch, api_of):
    demo.load()
    api = api_of(User.objects.get(email=demo.LOGIN))
    quick = {path: api.get(path).json()["results"] for path in LISTS}
    asked = [kind for kind in map(columns_of, _serializers()) if kind]

    monkeypatch.setattr(views, "columns_of", lambda serializer_class: None)
    slow = {path: api.get(path).json()["results"] for path in LISTS}

    assert quick == slow
    assert len(asked) >= 10


def test_a_page_of_columns_leads_to_the_next(acme, member_of, api_of):
    alice = member_of(acme, "alice", "manager")
    with acting(tenant_id=acme.pk):
        for n in range(5):
            open_case(tenant=acme, title=f"Case {n}", opened_by=alice)
    page = api_of(alice).get("/api/v1/cases/?page_size=2&ordering=title").json()
    after = api_of(alice).get(page["next"]).json()

    assert [case["title"] for case in after["results"]] == ["Case 2", "Case 3"]


@pytest.mark.parametrize(
    "said",
    [
        serializers.SerializerMethodField(),
        serializers.CharField(source="get_status_display"),
        serializers.CharField(source="manager.name"),
        serializers.StringRelatedField(source="manager"),
    ],
)
def test_what_objects_compute_is_asked_of_objects(said):
    class Telling(serializers.ModelSerializer):
        told = said

        class Meta:
            model = Case
            fields = ("id", "told")

        def get_told(self, case):
            return str(case)

    assert columns_of(Telling) is None


def test_a_serializer_that_sees_the_request_is_prepared_for_it_alone():
    class Seeing(serializers.Serializer):
        sees_request = True
        who = serializers.SerializerMethodField()

        def get_who(self, row):
            return self.context["request"]

    assert [shape_of(Seeing, {"request": name})(None) for name in "ab"] == [
        {"who": "a"}, {"who": "b"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        {"text": "한글 <b> \u2028", "lazy": _("case"), "amount": Decimal("1.50"), 1: uuid7()},
        [2**70, 1.5, None, True],  # a number that the quick encoder does not know
    ],
)
def test_the_quick_renderer_says_the_same(data):
    assert json.loads(QuickJSONRenderer().render(data)) == json.loads(JSONRenderer().render(data))
    assert QuickJSONRenderer().render(None) == b""
