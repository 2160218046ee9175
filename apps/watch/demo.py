"""What the demo shows of watch."""

from . import demo_alerts


def load() -> None:
    demo_alerts.load()
