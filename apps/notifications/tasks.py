"""What Celery does for notifications."""

from celery import shared_task
from django.utils import timezone

# Longer than this the sweep is sooner.
LONGEST_COUNTDOWN_SECONDS = 10


@shared_task  # type: ignore[untyped-decorator]
def deliver(channel: str) -> None:
    """Send what is due by a channel, and come back when its rate allows more."""
    from apps.notifications import services

    seconds = services.deliver_due(channel)
    if seconds is not None and seconds < LONGEST_COUNTDOWN_SECONDS:
        deliver.apply_async([channel], countdown=seconds)


@shared_task  # type: ignore[untyped-decorator]
def sweep_deliveries() -> list[str]:
    """Wake channels whose tasks got lost, and those where something fell due."""
    from apps.notifications import services

    return services.sweep(now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def purge_notifications() -> int:
    """Forget notifications and deliveries whose time is over."""
    from apps.notifications import services

    return services.purge_notifications() + services.purge_deliveries()
