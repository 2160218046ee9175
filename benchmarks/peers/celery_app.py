"""The Celery application that the worker and the producer share."""

import os
from typing import Any

from celery import Celery

app = Celery("bench", broker=os.environ["REDIS_URL"])
app.conf.update(
    task_ignore_result=True, task_acks_late=False, worker_disable_rate_limits=True,
    broker_connection_retry_on_startup=True, task_store_errors_even_if_ignored=False,
)  # fmt: skip


@app.task(name="take")
def take(payload: dict[str, Any]) -> None:
    return
