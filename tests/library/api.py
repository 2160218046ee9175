from django.db import transaction
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from axiom.api.views import FullResource
from axiom.errors import AxiomError
from axiom.roles import EVERYONE
from tests.library.models import Book


class BookIsTorn(AxiomError):
    """This book is torn."""

    code, status = "book_is_torn", 409


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = ("id", "title", "year", "read_at", "shelf")


class BooksResource(FullResource):
    serializer_class = BookSerializer
    filterset_fields = ("year",)
    ordering_fields = {"title": "title", "year": "year", "shelf": "shelf__name"}
    may = {"borrow": EVERYONE}

    def get_queryset(self):
        return Book.objects.select_related("shelf")

    @transaction.atomic
    def make(self, data):
        book = Book.objects.create(**data)
        if book.title == "torn":
            raise BookIsTorn
        return book

    def change(self, row, data):
        for name, value in data.items():
            setattr(row, name, value)
        row.save()
        return row

    def remove(self, row):
        row.delete()

    @action(detail=True, methods=["post"])
    def borrow(self, request, pk=None):
        return Response({"borrowed": self.get_object().title})
