"""What people say about a case, and take back."""

from typing import TYPE_CHECKING

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.cases import selectors
from apps.cases.errors import CommentAlreadyDeleted, NotYourComment
from apps.cases.events import CommentAdded, CommentDeleted
from apps.cases.models import Case, Comment
from apps.cases.services.count_comments import note_change
from apps.events.outbox import publish
from axiom.tenancy import ForeignTenant

if TYPE_CHECKING:
    from apps.accounts.models import User

EXCERPT = 200


@transaction.atomic
def add_comment(*, case: Case, author: "User", body: str) -> Comment:
    """Say something about a case, a closed one too."""
    generation = _generation(case)
    comment = Comment(case=case, tenant_id=case.tenant_id, author=author, body=body)
    comment.full_clean()
    comment.save(force_insert=True)
    publish(
        CommentAdded(
            case_id=case.pk, comment_id=comment.pk, author_id=author.pk, excerpt=body[:EXCERPT]
        )
    )
    _count_after_commit(case, generation, 1)
    return comment


@transaction.atomic
def delete_comment(*, comment: Comment, by: "User") -> Comment:
    """Take a comment back: nobody sees it any more, but the row remains."""
    comment = selectors.locked(comment)
    if comment.deleted_at is not None:
        raise CommentAlreadyDeleted
    if comment.author_id != by.pk and not selectors.leads(by):
        raise NotYourComment
    generation = _generation(comment.case)
    comment.deleted_at, comment.changed_at = timezone.now(), Now()
    comment.save(update_fields=["deleted_at", "changed_at"])
    publish(
        CommentDeleted(case_id=comment.case_id, comment_id=comment.pk, author_id=comment.author_id)
    )
    _count_after_commit(comment.case, generation, -1)
    return comment


def _generation(case: Case) -> int:
    """Towards which count this comment counts.

    The lock lets all other comments through, and makes a recount wait for this transaction:
    what was written under a generation is in the recount that ends it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count_generation FROM cases_case WHERE id = %s FOR KEY SHARE", [case.pk]
        )
        row = cursor.fetchone()
    if row is None:
        raise ForeignTenant
    return int(row[0])


def _count_after_commit(case: Case, generation: int, change: int) -> None:
    # Lost when the process dies here: the next recovery finds it.
    transaction.on_commit(lambda: note_change(case.pk, generation, change), robust=True)
