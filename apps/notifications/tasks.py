"""What Celery does for notifications."""

from celery import shared_task


@shared_task  # type: ignore[untyped-decorator]
def purge_notifications() -> int:
    """Forget notifications whose time is over."""
    from apps.notifications import services

    return services.purge_notifications()
