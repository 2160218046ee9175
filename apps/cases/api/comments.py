"""What people say about a case."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from apps.cases import services
from apps.cases.api.of_case import OfCaseResource
from apps.cases.api.people import ColleagueSerializer
from apps.cases.models import Comment
from axiom.api.views import Listed, Made, Removed, Shown


class CommentSerializer(serializers.ModelSerializer[Comment]):
    author = ColleagueSerializer()

    class Meta:
        model = Comment
        fields = ("id", "author", "body", "created_at")


class NewCommentSerializer(serializers.ModelSerializer[Comment]):
    class Meta:
        model = Comment
        fields = ("body",)


class CommentsResource(Listed, Shown, Made, Removed, OfCaseResource):
    """Comments on a case. Their authors, managers and admins delete them."""

    http_method_names = ["get", "head", "post", "delete"]
    model = Comment
    related = ("author",)
    serializer_class = CommentSerializer
    input_serializer_class = NewCommentSerializer
    ordering = ("-created_at",)
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[Any]:
        return super().get_queryset().filter(deleted_at=None)

    def make(self, data: dict[str, Any]) -> Comment:
        author: Any = self.request.user
        return services.add_comment(case=self.case, author=author, **data)

    def remove(self, row: Comment) -> None:
        by: Any = self.request.user
        services.delete_comment(comment=row, by=by)
