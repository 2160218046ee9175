"""What the doctor looks at in notifications: whether what is due goes out."""

from datetime import timedelta

from django.utils import timezone

from apps.notifications import selectors
from axiom.doctor import Finding, check, fail, ok, warn

PATIENCE = timedelta(minutes=5)


@check(
    "deliveries",
    fix="Start who sends: `make run`, or `python -m axiom deliveries` in production.",
    needs="database",
)
def deliveries() -> Finding:
    late = selectors.deliveries_due(before=timezone.now() - PATIENCE)
    if late:
        return fail(f"{late} are due for more than {PATIENCE.seconds // 60} minutes")
    failed = selectors.deliveries_failed(since=timezone.now() - timedelta(days=1))
    return warn(f"{failed} failed since yesterday: look at them") if failed else ok("none is late")
