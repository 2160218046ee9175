"""The doctor sees when nobody sends."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.notifications.models import Delivery
from axiom import doctor

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("state", "age", "verdict"),
    [("waiting", 10, "fail"), ("waiting", 1, "ok"), ("sent", 10, "ok"), ("failed", 10, "warn")],
)
def test_what_is_late_is_told(alert, subscribe, state, age, verdict):
    alert(subscribe("email"))
    ended = None if state == "waiting" else timezone.now()
    due_at = timezone.now() - timedelta(minutes=age)
    Delivery.across_tenants.update(state=state, due_at=due_at, settled_at=ended)
    assert "deliveries" in doctor.known()
    assert doctor.examine("deliveries")[-1].verdict == verdict
