"""Several at once, and processes that die: nothing twice, nothing lost, nobody waits for ever."""

import random
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from apps.events.context import acting
from apps.watch.models import Alert, AlertHistory, Escalation
from apps.watch.services import acknowledge, escalate_due, raise_alerts, settle_many

from .conftest import at
from .dying import scan_and_die

pytestmark = pytest.mark.django_db(transaction=True)

POINTS = (
    "escalation.claimed", "escalation.marked", "escalation.told", "escalation.before_commit",
    "escalation.committed",
)  # fmt: skip
MORE_THAN_ONE_BATCH = 60


def together(*acts):
    """Run these in threads with connections of their own, from the same moment on."""
    start = Barrier(len(acts))

    def run(act):
        start.wait()
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [done.result(timeout=120) for done in [pool.submit(run, act) for act in acts]]


@pytest.mark.parametrize("point", POINTS)
def test_a_scanner_that_is_killed_anywhere_tells_each_level_once(match, said, point):
    names = [f"c{n}" for n in range(MORE_THAN_ONE_BATCH)]
    raise_alerts([match(0, severity="CRITICAL", aggregate_id=name) for name in names], now=at(0))
    for moment in (at(1), at(3)):
        assert scan_and_die("escalate_due", point, moment) == -signal.SIGKILL
        escalate_due(now=moment)
    told = [(each["alert_id"], each["level"]) for each in said("ALERT_ESCALATED")]
    assert len(told) == len(set(told)) == 2 * MORE_THAN_ONE_BATCH
    assert AlertHistory.objects.filter(kind="escalated").count() == 2 * MORE_THAN_ONE_BATCH


def test_two_scanners_tell_each_level_once(match, said):
    names = [f"c{n}" for n in range(MORE_THAN_ONE_BATCH)]
    raise_alerts([match(0, severity="CRITICAL", aggregate_id=name) for name in names], now=at(0))
    together(*[lambda: escalate_due(now=at(1))] * 4)
    escalate_due(now=at(1))  # What one skipped because another held it and found nothing to do.
    told = [each["alert_id"] for each in said("ALERT_ESCALATED")]
    assert len(told) == len(set(told)) == MORE_THAN_ONE_BATCH


def test_who_acknowledges_while_the_scan_runs_is_never_escalated_after_it(acme, alice, match, said):
    names = [f"c{n}" for n in range(120)]
    raise_alerts([match(0, severity="CRITICAL", aggregate_id=name) for name in names], now=at(0))
    alerts = list(Alert.across_tenants.all())
    random.Random(5).shuffle(alerts)

    def acknowledge_all():
        with acting(tenant_id=acme.pk, actor=alice.email):
            for alert in alerts:
                acknowledge(alert=alert, by=alice, now=at(1))

    together(acknowledge_all, lambda: escalate_due(now=at(1)), lambda: escalate_due(now=at(1)))
    escalate_due(now=at(9))
    stories = [list(a.history.order_by("id").values_list("kind", flat=True)) for a in alerts]
    assert {tuple(story) for story in stories} <= {
        ("raised", "acknowledged"), ("raised", "escalated", "acknowledged"),
    }  # fmt: skip
    sent = sum("escalated" in story for story in stories)
    assert len(said("ALERT_ESCALATED")) == sent
    assert not Escalation.across_tenants.filter(state="waiting").exists()


def test_whoever_raises_at_once_makes_one_alert_and_no_deadlock(match):
    names = [f"c{n}" for n in range(30)]

    def storm(seed):
        chance = random.Random(seed)

        def raise_some():
            for number in range(6):
                chance.shuffle(names_of := list(names))
                # Around midnight, when the day of two matches differs and the alert does not.
                moments = [12 + chance.uniform(-0.4, 0.4) for _ in names_of]
                raise_alerts(
                    [
                        match(h, aggregate_id=name)
                        for h, name in zip(moments, names_of, strict=True)
                    ],
                    now=at(13 + number / 100),
                )

        return raise_some

    together(*[storm(seed) for seed in range(4)])
    counts = dict(Alert.across_tenants.values_list("aggregate_id", "count"))
    assert counts == dict.fromkeys(names, 24)


def test_a_storm_and_people_who_settle_many_do_not_deadlock(acme, alice, match):
    names = [f"c{n}" for n in range(40)]
    raise_alerts([match(0, aggregate_id=name) for name in names], now=at(0))
    ids = list(Alert.across_tenants.values_list("pk", flat=True))

    def settle():
        with acting(tenant_id=acme.pk, actor=alice.email):
            return settle_many(acknowledge, random.Random(1).sample(ids, 40), by=alice)

    def storm():
        for n in range(5):
            raise_alerts([match(1 + n / 10, aggregate_id=name) for name in names], now=at(2))

    together(settle, storm, settle)
    assert set(Alert.across_tenants.values_list("status", "count")) == {("acknowledged", 6)}
