"""What Celery beat does for cases: the clockwork, and the counts of comments."""

from celery import shared_task
from django.utils import timezone

from apps.cases.services import count_comments
from apps.cases.services.scan import scan


@shared_task
def scan_cases() -> dict[str, int]:
    """Publish what falls due, comes near or was missed."""
    return scan(timezone.now())


@shared_task
def add_comment_deltas() -> int:
    """Bring the counts of comments up to date."""
    return count_comments.add_comment_deltas()


@shared_task
def recover_comment_counts() -> int:
    """Find counts that are wrong, whatever went wrong, and correct them."""
    return count_comments.recover_comment_counts()


@shared_task
def purge_count_batches() -> int:
    """Forget old batches."""
    return count_comments.purge_count_batches(timezone.now())
