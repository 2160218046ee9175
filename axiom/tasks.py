"""What Celery does for the API itself."""

from celery import shared_task


@shared_task
def purge_answers() -> int:
    """Forget stored answers that are older than a day."""
    from axiom.api import idempotency

    return idempotency.purge_answers()
