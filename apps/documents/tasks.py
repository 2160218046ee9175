"""What Celery does for documents: the housekeeping of their files."""

from celery import shared_task


@shared_task
def sweep_orphans() -> int:
    """Remove files that no row knows."""
    from apps.documents import services

    return services.sweep_orphans()
