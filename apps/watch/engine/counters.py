"""What the engine counts."""

from axiom.metrics import Counter

late_events = Counter(
    "axiom_watch_late_events_total", "Events told too late to count in a window, per window"
)
