"""Alerts in the console: the same services, the same refusals, and charts that draw themselves."""

import pytest
from django.utils import timezone

from apps.watch.models import EscalationStep
from apps.watch.pages import span
from axiom.console.charts import chart

pytestmark = pytest.mark.django_db
ALERTS = "/admin/watch/alert/"


@pytest.fixture
def alert(happens):
    return happens(0, severity="CRITICAL", message="Cash is gone.")


def said(answer):
    return [str(message) for message in answer.context["messages"]]


def form(**given):
    inlines = {
        f"{name}-{field}": 0
        for name in ("history", "escalations", "events", "watchers")
        for field in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    return inlines | given


def test_the_list_shows_what_there_is(alert, alice, console_of):
    text = console_of(alice).get(ALERTS).content.decode()
    assert "Cash is gone." in text
    assert "Critical" in text


def test_the_page_says_what_happens_next(alert, alice, console_of):
    text = console_of(alice).get(f"{ALERTS}{alert.pk}/change/").content.decode()
    assert "unless somebody acknowledges: The case&#x27;s manager by email, in_app." in text


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
        f"{ALERTS}{alert.pk}/change/", form(deed=deed, words=words), follow=True
    )
    assert answer.status_code == 200
    alert.refresh_from_db()
    assert alert.status == status
    assert len(kinds(alert)) == 2


def test_a_refusal_is_told_in_words(alert, alice, console_of):
    answer = console_of(alice).post(
        f"{ALERTS}{alert.pk}/change/", form(deed="resolve", words=""), follow=True
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
    console.post(f"{ALERTS}{alert.pk}/change/", form(deed="acknowledge", words=""))
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
