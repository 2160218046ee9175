"""Celery sends deliveries and keeps schedules; events never travel through it."""

import os
import time
import uuid
from contextlib import ExitStack
from typing import Any

from celery import Celery, Task, signals

from axiom.startup import say_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")

app = Celery("axiom")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_CARRIED = "axiom_context"


@signals.setup_logging.connect
def log_as_everyone_does(**_: Any) -> None:
    """Keep Celery from installing its own handlers: a line would be written twice."""
    from django.conf import settings

    from axiom import logs

    logs.configure(settings.LOGGING)


@signals.before_task_publish.connect
def send_circumstances(headers: dict[str, Any], **_: Any) -> None:
    """A task belongs to the request or message that asked for it."""
    from apps.events.context import current

    here = current()
    headers[_CARRIED] = {
        "tenant_id": str(here.tenant_id) if here.tenant_id else None,
        "actor": here.actor,
        "trace_id": here.trace_id,
        "request_id": here.request_id,
    }


@signals.task_prerun.connect
def take_on_circumstances(task: Task, task_id: str, **_: Any) -> None:
    from apps.events.context import fresh

    stack = ExitStack()
    # Run eagerly, a task is part of its caller and keeps the caller's circumstances.
    if not task.request.is_eager:
        carried = dict(task.request.get(_CARRIED) or {})
        tenant_id = carried.pop("tenant_id", None)
        carried["trace_id"] = carried.get("trace_id") or task_id.replace("-", "")
        stack.enter_context(fresh(tenant_id=tenant_id and uuid.UUID(tenant_id), **carried))
    task.request.axiom_exit, task.request.axiom_began = stack, time.perf_counter()


@signals.task_postrun.connect
def count_and_forget(task: Task, state: str | None, **_: Any) -> None:
    from axiom.metrics import TASK_SECONDS

    seconds = time.perf_counter() - task.request.axiom_began
    TASK_SECONDS.labels(task.name, state or "UNKNOWN").observe(seconds)
    task.request.axiom_exit.close()


@signals.worker_ready.connect
@signals.beat_init.connect
def tell_the_supervisor(**_: Any) -> None:
    say_ready()
