"""Alerts in the console: the same services, the same refusals, and charts that draw themselves."""

from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.watch.models import Alert, EscalationStep
from apps.watch.pages import span
from apps.watch.services import raise_alerts
from axiom.console.charts import chart
from axiom.models import SavedView

pytestmark = pytest.mark.django_db
ALERTS = "/admin/watch/alert/"


@pytest.fixture
def alert(happens):
    return happens(0, severity="CRITICAL", message="Cash is gone.")


def said(answer):
    return [str(message) for message in answer.context["messages"]]


def test_the_list_shows_what_there_is(alert, alice, console_of):
    text = console_of(alice).get(ALERTS).content.decode()
    assert "Cash is gone." in text
    assert "Critical" in text


def test_the_page_says_what_happens_next(alert, alice, console_of):
    text = console_of(alice).get(f"{ALERTS}{alert.pk}/change/").content.decode()
    assert "unless somebody acknowledges: The case&#x27;s manager by Email, In the app." in text


@pytest.mark.parametrize(
    ("deed", "words", "status"),
    [
        ("acknowledge", "", "acknowledged"),
        ("resolve", "A leak", "resolved"),
        ("dismiss", "", "dismissed"),
        ("false_positive", "", "dismissed"),
        ("action", "Looked.", "unread"),
        ("root_cause", "A leak", "unread"),
        ("team_notified", "", "unread"),
    ],
)
def test_what_one_does_goes_through_the_services(
    alert, alice, console_of, kinds, deed, words, status
):
    answer = console_of(alice).post(
        f"{ALERTS}{alert.pk}/change/", {"deed": deed, "words": words}, follow=True
    )
    assert answer.status_code == 200
    alert.refresh_from_db()
    assert alert.status == status
    assert len(kinds(alert)) == 2


def test_an_alert_outlives_its_case_and_can_still_be_worked_off(happens, alice, console_of):
    alert = happens(0, case_id=uuid4())
    console_of(alice).post(f"{ALERTS}{alert.pk}/change/", {"deed": "acknowledge", "words": ""})
    alert.refresh_from_db()
    assert alert.status == "acknowledged"


def test_a_refusal_is_told_in_words(alert, alice, console_of):
    answer = console_of(alice).post(
        f"{ALERTS}{alert.pk}/change/", {"deed": "resolve", "words": ""}, follow=True
    )
    assert said(answer) == ["Say what caused it before it is resolved."]


def test_many_are_acknowledged_from_the_list(happens, alice, console_of):
    alerts = [happens(aggregate_id=f"c{n}") for n in range(3)]
    chosen = {"action": "acknowledge_chosen", "_selected_action": [str(a.pk) for a in alerts]}
    console = console_of(alice)
    assert said(console.post(ALERTS, chosen, follow=True)) == ["3 alerts are done."]
    assert said(console.post(ALERTS, chosen, follow=True)) == [
        "0 alerts are done.", "Somebody acknowledged this alert already.",
    ]  # fmt: skip


def test_viewers_only_look(alert, bob, console_of):
    console = console_of(bob)
    assert console.get(f"{ALERTS}{alert.pk}/change/").status_code == 200
    console.post(f"{ALERTS}{alert.pk}/change/", {"deed": "acknowledge", "words": ""})
    alert.refresh_from_db()
    assert alert.status == "unread"


def test_an_admin_adds_a_step_of_escalation(alice, console_of, acme):
    step = {"severity": "HIGH", "level": 1, "after_minutes": 5, "audience": "admin",
            "channels": ["email", "sms"], "is_active": "on"}  # fmt: skip
    answer = console_of(alice).post("/admin/watch/escalationstep/add/", step, follow=True)
    assert answer.status_code == 200
    assert EscalationStep.across_tenants.get(tenant=acme).channels == ["email", "sms"]


def test_the_service_levels_are_drawn(happens, alice, console_of):
    now = timezone.now()
    happens(0, occurred_at=now, now=now)
    text = console_of(alice).get("/admin/sla/").content.decode()
    assert text.count('<svg class="ax-chart"') == 3
    assert "Cash" in text


def test_without_alerts_there_is_nothing_to_draw(alice, console_of):
    text = console_of(alice).get("/admin/sla/").content.decode()
    assert "There were no alerts" in text


def test_a_chart_marks_what_is_over_its_promise():
    drawn = chart(
        "t", [("a", 5.0, "5"), ("b", 20.0, "20"), ("c", None, "–")], promise=10, told="10"
    )
    assert [bar.is_over for bar in drawn.bars] == [False, True, False]
    assert drawn.bars[0].height * 4 == pytest.approx(drawn.bars[1].height, abs=0.5)
    assert drawn.bars[2].height == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "–"), (0.4, "0 s"), (59, "59 s"), (90, "1.5 min"), (5400, "1.5 h"), (86400, "24 h"),
     (3 * 86400, "3 days")],
)  # fmt: skip
def test_times_as_people_say_them(seconds, words):
    assert span(seconds) == words


def test_what_is_done_is_in_the_console_s_own_log_too(alert, alice, console_of):
    console_of(alice).post(f"{ALERTS}{alert.pk}/change/", {"deed": "acknowledge", "words": ""})
    (line,) = LogEntry.objects.filter(object_id=str(alert.pk))
    assert (line.user, line.change_message) == (alice, "Acknowledge")


def test_a_grave_act_on_many_is_asked_for_first_and_names_exactly_them(happens, alice, console_of):
    alerts = [happens(aggregate_id=f"c{n}", severity="CRITICAL") for n in range(2)]
    chosen = {"action": "dismiss_chosen", "_selected_action": [str(a.pk) for a in alerts]}
    console = console_of(alice)
    asked = console.post(ALERTS, chosen)
    assert (asked.context["count"], asked.context["escalating"]) == (2, 2)
    assert set(asked.context["ids"]) == {alert.pk for alert in alerts}
    assert console.post(ALERTS, chosen | {"confirmed": "yes"}).context["form"].errors
    console.post(ALERTS, chosen | {"confirmed": "yes", "verdict": "right", "reason": "Known"})
    for alert in alerts:
        alert.refresh_from_db()
        assert (alert.status, alert.false_positive) == ("dismissed", False)


def test_too_many_at_once_are_refused_with_the_reason(match, alice, console_of):
    raise_alerts([match(aggregate_id=f"c{n}") for n in range(501)], now=timezone.now())
    one = Alert.across_tenants.first()
    chosen = {"action": "acknowledge_chosen", "_selected_action": str(one.pk), "select_across": 1}
    answer = console_of(alice).post(ALERTS, chosen | {"index": 0}, follow=True)
    assert said(answer) == ["At most 500 alerts at once: choose fewer, or narrow the list."]
    assert not Alert.across_tenants.filter(status="acknowledged").exists()


def test_the_rule_may_have_changed_since_and_the_page_says_so(match, watcher, alice, console_of):
    watcher.rule = {"type": "always"}
    watcher.save()
    raise_alerts([found := match(0)], now=found.occurred_at)
    (alert,) = Alert.across_tenants.all()
    text = console_of(alice).get(f"{ALERTS}{alert.pk}/change/").content.decode()
    assert "this is the rule as it is now" in text
    assert "This event is not there, or not any more." in text


def test_ones_views_are_ones_own(alice, bob, happens, console_of):
    console, others = console_of(alice), console_of(bob)
    console.post(f"{ALERTS}views/", {"name": "Grave", "query": "severity__exact=HIGH&p=2"})
    (view,) = SavedView.objects.all()
    assert (view.user, view.page, view.query) == (alice, "watch.alert", "severity__exact=HIGH")
    console.post(f"{ALERTS}views/", {"name": "Grave", "query": "show=all"})
    assert SavedView.objects.get().query == "show=all"
    assert "Grave" not in others.get(ALERTS).content.decode()
    assert others.post(f"{ALERTS}views/{view.pk}/forget/").status_code == 404
    assert console.post(f"{ALERTS}views/{view.pk}/forget/").status_code == 302
    assert not SavedView.objects.exists()


def test_a_view_needs_a_name_and_changes_nothing_by_being_looked_at(alice, console_of):
    console = console_of(alice)
    answer = console.post(f"{ALERTS}views/", {"name": " ", "query": ""}, follow=True)
    assert said(answer) == ["Give the view a name."]
    assert console.get(f"{ALERTS}views/").status_code == 405
    assert not SavedView.objects.exists()
