"""What the demo shows of watch."""

from . import demo_alerts, demo_subscriptions


def load() -> None:
    demo_subscriptions.load()
    demo_alerts.load()
