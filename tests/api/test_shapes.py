"""A shape says what its serializer says, of every list there is."""

import json
from decimal import Decimal

import pytest
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from apps.accounts.models import User
from apps.events.ids import uuid7
from axiom import demo
from axiom.api import views
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


@pytest.fixture
def compared(monkeypatch):
    """Rows that were told both ways, which must be the same way."""
    told = []

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
