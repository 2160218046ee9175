"""What Celery does for processes: look at the clock."""

from celery import shared_task


@shared_task
def fire_timers() -> int:
    """Move on every process whose time has come."""
    from apps.processes import services

    return services.fire_due_timers()
