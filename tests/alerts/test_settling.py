"""What people do about alerts: possible or refused, remembered, said, and never overwritten."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from apps.events.context import acting
from apps.watch.errors import (
    AlertSettled,
    AlreadyAcknowledged,
    NotAColleague,
    NothingSaid,
    RootCauseMissing,
)
from apps.watch.models import Alert, AlertHistory
from apps.watch.services import (
    acknowledge,
    dismiss,
    record_action,
    record_root_cause,
    record_team_notified,
    resolve,
    settle_many,
)
from axiom.tenancy import ForeignTenant

from .conftest import at

pytestmark = pytest.mark.django_db


@pytest.fixture
def alert(happens, in_acme):
    return happens(0)


def test_acknowledging_is_remembered_and_said(alert, alice, said, kinds):
    acknowledge(alert=alert, by=alice, note="Mine.", now=at(0.25))
    alert.refresh_from_db()
    assert (alert.status, alert.acknowledged_by, alert.acknowledged_at) == (
        "acknowledged", alice, at(0.25),
    )  # fmt: skip
    (told,) = said("ALERT_ACKNOWLEDGED")
    assert (told["acknowledged_by_id"], told["seconds_to_acknowledge"]) == (str(alice.pk), 900)
    entry = alert.history.last()
    assert (entry.kind, entry.actor, entry.note, entry.at) == (
        "acknowledged", "alice@acme.example", "Mine.", at(0.25),
    )  # fmt: skip


def test_dismissing_takes_a_verdict(alert, alice, said):
    dismiss(alert=alert, by=alice, false_positive=True, reason="A test.", now=at(1))
    alert.refresh_from_db()
    assert (alert.status, alert.false_positive, alert.settled_by) == ("dismissed", True, alice)
    assert alert.first_acknowledged_at == at(1)
    (told,) = said("ALERT_RESOLVED")
    assert (told["dismissed"], told["false_positive"], told["root_cause"]) == (
        True, True, "A test.",
    )  # fmt: skip


def test_the_loop_is_closed_from_detection_to_resolution(alert, alice, said, kinds):
    acknowledge(alert=alert, by=alice, now=at(0.1))
    record_root_cause(alert=alert, root_cause="Paid twice.", now=at(0.2))
    record_team_notified(alert=alert, note="By phone.", now=at(0.3))
    record_action(alert=alert, action="Asked for it back.", now=at(0.4))
    resolve(alert=alert, by=alice, now=at(2))
    alert.refresh_from_db()
    assert (alert.status, alert.root_cause, alert.team_notified_at) == (
        "resolved", "Paid twice.", at(0.3),
    )  # fmt: skip
    assert kinds(alert) == [
        "raised", "acknowledged", "root_cause", "team_notified", "action", "resolved",
    ]  # fmt: skip
    (told,) = said("ALERT_RESOLVED")
    assert (told["root_cause"], told["seconds_to_resolve"]) == ("Paid twice.", 7200)


def test_nothing_is_resolved_without_a_cause(alert, alice, said):
    with pytest.raises(RootCauseMissing):
        resolve(alert=alert, by=alice, root_cause="  ")
    alert.refresh_from_db()
    assert (alert.status, said("ALERT_RESOLVED")) == ("unread", [])


def _acknowledge(alert, alice):
    acknowledge(alert=alert, by=alice)


def _dismiss(alert, alice):
    dismiss(alert=alert, by=alice, false_positive=False)


def _resolve(alert, alice):
    resolve(alert=alert, by=alice, root_cause="A leak")


def _act(alert, alice):
    record_action(alert=alert, action="Looked.")


@pytest.mark.parametrize(
    ("first", "then", "refusal"),
    [
        (_acknowledge, _acknowledge, AlreadyAcknowledged),
        (_acknowledge, _dismiss, None),
        (_acknowledge, _resolve, None),
        (_dismiss, _acknowledge, AlertSettled),
        (_dismiss, _dismiss, AlertSettled),
        (_dismiss, _resolve, AlertSettled),
        (_dismiss, _act, AlertSettled),
        (_resolve, _acknowledge, AlertSettled),
        (_resolve, _dismiss, AlertSettled),
        (_resolve, _resolve, AlertSettled),
        (_resolve, _act, AlertSettled),
    ],
)
def test_what_is_possible_after_what(alert, alice, kinds, first, then, refusal):
    first(alert, alice)
    if refusal is None:
        return then(alert, alice)
    before = kinds(alert)
    with pytest.raises(refusal):
        then(alert, alice)
    assert kinds(alert) == before


def test_words_are_asked_for(alert):
    for say in (
        lambda: record_action(alert=alert, action=" "),
        lambda: record_root_cause(alert=alert, root_cause=""),
    ):
        with pytest.raises(NothingSaid):
            say()


def test_another_tenants_alert_does_not_exist(alert, charlie, rival):
    with acting(tenant_id=rival.pk), pytest.raises(ForeignTenant):
        acknowledge(alert=alert, by=charlie)


def test_many_at_once_and_a_reason_for_each_that_is_refused(happens, in_acme, alice, said):
    alerts = [happens(aggregate_id=f"c{n}") for n in range(3)]
    dismiss(alert=alerts[1], by=alice, false_positive=False)
    outcome = settle_many(acknowledge, [a.pk for a in alerts], by=alice)
    assert [a.pk for a in outcome.done] == [alerts[0].pk, alerts[2].pk]
    assert [(pk, type(error)) for pk, error in outcome.refused] == [(alerts[1].pk, AlertSettled)]
    assert len(said("ALERT_ACKNOWLEDGED")) == 2


def test_of_many_another_tenants_are_not_there(alert, charlie, rival):
    with acting(tenant_id=rival.pk):
        outcome = settle_many(acknowledge, [alert.pk], by=charlie)
    assert (outcome.done, type(outcome.refused[0][1])) == ([], ForeignTenant)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE watch_alerthistory SET note = 'never'",
        "DELETE FROM watch_alerthistory",
    ],
)
def test_history_can_be_neither_changed_nor_deleted(alert, statement):
    refusal = pytest.raises(DatabaseError, match="stays as it was written")
    with refusal, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AlertHistory.objects.get().note == alert.message


def test_history_cannot_be_emptied(alert):
    """Tests begin anew by TRUNCATE, so it is only refused here as it is everywhere else."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE watch_alerthistory ENABLE TRIGGER stays_whole")
        with pytest.raises(DatabaseError, match="stays as it was written"), transaction.atomic():
            cursor.execute("TRUNCATE watch_alerthistory")
        cursor.execute("ALTER TABLE watch_alerthistory DISABLE TRIGGER stays_whole")


def test_history_stays_when_the_alert_goes(alert):
    Alert.objects.all().delete()
    assert AlertHistory.objects.get().alert_id == alert.pk


@pytest.mark.parametrize(
    "nonsense",
    [
        {"status": "resolved"},
        {"status": "acknowledged"},
        {"status": "dismissed", "dismissed_at": at(1)},
        {"severity": "HUGE"},
        {"count": 0},
        {"last_seen_at": at(-1)},
        {"acknowledged_at": at(1)},
    ],
)
def test_the_database_refuses_what_cannot_be(alert, nonsense):
    with pytest.raises(IntegrityError), transaction.atomic():
        Alert.objects.filter(pk=alert.pk).update(**nonsense)


@pytest.fixture
def team(acme, case, happens, member_of):
    """A case of Dana's on which Erin works, with an alert about it that Alice watches."""
    from apps.cases import services as cases

    erin = member_of(acme, "erin", "attorney")
    cases.assign(case=case, manager_id=case.manager_id, member_ids=[erin.pk])
    return happens(0, case_id=case.pk, severity="CRITICAL"), erin


def test_the_team_is_told_by_whom_it_may_concern(team, alice, dana, said, kinds):
    alert, erin = team
    record_team_notified(alert=alert, note=" Paid twice. ", now=at(0.3))
    (told,) = said("ALERT_TEAM_NOTIFIED")
    # Alice says it: she is not told what she knows.
    assert set(told["recipient_ids"]) == {str(dana.pk), str(erin.pk)}
    assert (told["note"], told["told_by"], told["number"], told["channels"]) == (
        "Paid twice.", "alice@acme.example", 1, ["in_app", "email"],
    )  # fmt: skip
    assert alert.history.last().facts["recipient_ids"] == told["recipient_ids"]


def test_told_again_it_is_another_word_and_the_first_time_stands(team, said, kinds):
    alert, _erin = team
    for hours in (0.3, 0.6):
        record_team_notified(alert=alert, now=at(hours))
    alert.refresh_from_db()
    assert alert.team_notified_at == at(0.3)
    assert [each["number"] for each in said("ALERT_TEAM_NOTIFIED")] == [1, 2]
    assert kinds(alert).count("team_notified") == 2


def test_colleagues_may_be_chosen_and_strangers_may_not(team, charlie, dana, said):
    alert, _erin = team
    record_team_notified(alert=alert, recipient_ids=[dana.pk])
    assert said("ALERT_TEAM_NOTIFIED")[0]["recipient_ids"] == [str(dana.pk)]
    with pytest.raises(NotAColleague):
        record_team_notified(alert=alert, recipient_ids=[charlie.pk])


@pytest.fixture
def frank(acme, member_of):
    """Worked at Acme, and left."""
    person = member_of(acme, "frank", "analyst")
    person.is_active = False
    person.save()
    return person


def test_who_left_and_who_snoozes_is_not_of_the_team(happens, in_acme, subscribe, bob, frank, said):
    for owner in (subscribe(user=bob, snoozed_until=at(9)), subscribe(user=frank)):
        alert = happens(0, subscription_id=owner.pk)
    record_team_notified(alert=alert)
    assert said("ALERT_TEAM_NOTIFIED")[0]["recipient_ids"] == []


def test_of_axiom_itself_those_are_the_team_who_look_after_it(
    happens, in_acme, acme, member_of, bob, said
):
    gina = member_of(acme, "gina", "engineer")
    record_team_notified(alert=happens(subscription_id=None))
    assert said("ALERT_TEAM_NOTIFIED")[0]["recipient_ids"] == [str(gina.pk)]
