"""What watch tells of itself."""

from collections import Counter as Tally
from collections.abc import Iterable
from typing import Any

from axiom.metrics import Counter, Histogram

_MINUTES = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 72 * 3600)

raised_total = Counter("axiom_alerts_raised_total", "Alerts raised, graver or back", ["severity"])
folded_total = Counter("axiom_alerts_folded_total", "Matches folded into alerts")
escalated_total = Counter("axiom_alerts_escalated_total", "Escalations sent", ["level"])
ack_seconds = Histogram(
    "axiom_alert_ack_seconds", "From detection to the first acknowledgement", ["severity"],
    buckets=_MINUTES,
)  # fmt: skip
resolve_seconds = Histogram(
    "axiom_alert_resolve_seconds", "From detection to resolution", ["severity"], buckets=_MINUTES
)


def raised(alerts: Iterable[Any], matches: int) -> None:
    """Count what a batch of matches became."""
    folded_total.inc(matches)
    for severity, count in Tally(str(a.severity) for a in alerts if a.is_told).items():
        raised_total.labels(severity).inc(count)
