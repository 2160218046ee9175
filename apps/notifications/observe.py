"""What notifications tell of themselves."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, Min
from django.utils import timezone

from axiom.metrics import Counter, GaugeMetricFamily, Histogram, Metric, at_scrape

from .models import Delivery

tried_total = Counter("axiom_deliveries_total", "Tries to deliver", ["channel", "result"])
send_seconds = Histogram(
    "axiom_delivery_seconds", "Time a channel took to send", ["channel"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)  # fmt: skip

_WAITING = [Delivery.State.WAITING, Delivery.State.SENDING]


def tried(channel: str, changes: dict[str, Any], seconds: float) -> None:
    """Count a try by what became of it: sent, failed, or waiting to be tried again."""
    tried_total.labels(channel, str(changes["state"])).inc()
    send_seconds.labels(channel).observe(seconds)


@at_scrape
def deliveries() -> Iterator[Metric]:
    """How many are overdue, and for how long the oldest of them is."""
    late = Delivery.across_tenants.filter(state__in=_WAITING, due_at__lte=timezone.now())
    due = GaugeMetricFamily("axiom_deliveries_due", "Deliveries due", labels=["channel"])
    oldest = GaugeMetricFamily(
        "axiom_deliveries_oldest_due_seconds", "Age of the oldest one due", labels=["channel"]
    )
    rows = late.order_by().values_list("channel").annotate(Count("pk"), Min("due_at"))
    for channel, count, first in rows:
        due.add_metric([channel], count)
        oldest.add_metric([channel], (timezone.now() - first).total_seconds())
    yield due
    yield oldest
