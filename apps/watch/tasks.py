"""What Celery runs for watch."""

from celery import shared_task
from django.utils import timezone


@shared_task  # type: ignore[untyped-decorator]
def escalate() -> int:
    """Tell the next in line of alerts that nobody acknowledged in time."""
    from apps.watch import services

    return services.escalate_due(now=timezone.now())
