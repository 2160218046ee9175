"""What Celery runs for watch."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone


@shared_task  # type: ignore[untyped-decorator]
def watch_system() -> int:
    """Raise alerts for what is wrong with Axiom itself."""
    from apps.watch import services

    return services.watch_system(now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def escalate() -> int:
    """Tell the next in line of alerts that nobody acknowledged in time."""
    from apps.watch import services

    return services.escalate_due(now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def fire_due() -> int:
    """Raise what was expected until now and did not come."""
    from apps.watch import services

    return services.fire_due(now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def rebuild_windows(subscription_id: str) -> bool:
    """Fill the windows of a new or changed rule from what is stored."""
    from apps.watch import services

    return services.rebuild(subscription_id=UUID(subscription_id), now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def rebuild_waiting_windows() -> int:
    """The same for those whose turn got lost."""
    from apps.watch import services

    return services.rebuild_due(now=timezone.now())


@shared_task  # type: ignore[untyped-decorator]
def purge_windows() -> int:
    """Forget what no window can need any more."""
    from apps.watch import services

    until = services.looked_at_until(timezone.now())
    return services.purge_windows(now=until) if until else 0
