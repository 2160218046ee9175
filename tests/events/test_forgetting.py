"""Settled letters go when they are old, with what was done about them; nothing else does."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.events import services
from apps.events.housekeeping import Housekeeper
from apps.events.ids import uuid7
from apps.events.models import DeadLetter, DeadLetterAct, Redrive

pytestmark = pytest.mark.django_db


def letter(status="discarded", days=100, act_days=None, redrive=None):
    """A letter that was settled so many days ago, with one act."""
    then = timezone.now() - timedelta(days=days)
    made = DeadLetter.objects.create(
        group="g", stream="axiom:events", event_id=uuid7(), error_type="E", error="e", attempts=1,
        fingerprint="f", status=status,
    )  # fmt: skip
    DeadLetter.objects.filter(pk=made.pk).update(updated_at=then, created_at=then)
    at = timezone.now() - timedelta(days=days if act_days is None else act_days)
    DeadLetterAct.objects.create(letter=made, kind="discarded", actor="a", at=at, redrive=redrive)
    return made


def finished(days):
    then = timezone.now() - timedelta(days=days)
    return Redrive.objects.create(
        filters={}, rate=1, actor="a", total=0, status="done", stepped_at=then, created_at=then,
        finished_at=then,
    )  # fmt: skip


def forget(days=90):
    return services.forget_settled(timezone.now() - timedelta(days=days))


@pytest.mark.parametrize("status", ["discarded", "redriven", "replaced"])
def test_what_was_settled_long_ago_goes_with_its_acts(status):
    letter(status)
    assert forget() == 1
    assert not DeadLetter.objects.exists()
    assert not DeadLetterAct.objects.exists()


def test_an_open_letter_stays_however_old_it_is():
    letter("open", days=1000)
    assert forget() == 0
    assert DeadLetterAct.objects.count() == 1


def test_what_was_settled_lately_stays():
    letter(days=80)
    assert forget() == 0


def test_a_letter_with_younger_history_stays_whole():
    letter(days=100, act_days=2)
    assert forget() == 0
    assert DeadLetterAct.objects.count() == 1


def test_a_redrive_goes_when_nothing_points_to_it():
    gone, kept, young = finished(100), finished(100), finished(10)
    letter(days=50, redrive=kept)
    running = finished(100)
    Redrive.objects.filter(pk=running.pk).update(status="running")
    forget()
    assert set(Redrive.objects.all()) == {kept, young, running}
    assert gone not in Redrive.objects.all()


def test_housekeeping_does_it(redis_bus, settings):
    letter(days=100)
    settings.EVENTS_LETTER_DAYS = 1  # The database keeps what is younger than 30 days anyway.
    young = letter(days=20)
    Housekeeper(redis_bus).keep_tables()
    assert DeadLetter.objects.get() == young


class TestTheTrigger:
    def refused(self, sql):
        with pytest.raises(IntegrityError, match="stays"), transaction.atomic():
            self.run(sql)

    def run(self, sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    def test_nobody_else_deletes_an_act_and_nobody_changes_one(self):
        letter()
        self.refused("DELETE FROM event_dead_letter_act")
        self.refused("UPDATE event_dead_letter_act SET actor = 'b'")
        forget(days=200)
        # What was said for that is not said for what follows in the same transaction.
        self.refused("DELETE FROM event_dead_letter_act")

    def test_saying_so_does_not_help_with_what_is_young_or_open(self):
        self.run("SELECT set_config('axiom.forgetting', 'settled letters', true)")
        letter("open")
        self.refused("DELETE FROM event_dead_letter_act")
        DeadLetter.objects.update(status="discarded")
        self.refused("UPDATE event_dead_letter_act SET actor = 'b'")
        letter(days=100, act_days=29)
        self.refused("DELETE FROM event_dead_letter_act")
