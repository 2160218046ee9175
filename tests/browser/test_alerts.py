"""The inbox and the page of one alert, in a real browser."""

import itertools
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.cases.events import CashLow
from apps.events.bus.memory import MemoryBus
from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.outbox import publish
from apps.notifications.models import Delivery
from apps.watch import services
from apps.watch.matches import Match
from apps.watch.models import Alert
from apps.watch.severity import Severity
from tests.browser.pictures import keep
from tests.readers.conftest import Readers

pytestmark = pytest.mark.django_db(transaction=True)

INBOX = "/admin/watch/alert/"
LOW_CASH = {
    "type": "all",
    "conditions": [
        {"type": "threshold", "field": "cash_balance", "operator": "<", "threshold": 1_000_000},
        {"type": "threshold", "field": "currency", "operator": "==", "threshold": "KRW"},
    ],
}


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.fixture
def raised(acme):
    """Raises alerts as if somebody's rule had matched."""
    numbers = itertools.count(1)

    def raise_it(message, *, severity="HIGH", ago=timedelta(0), **given):
        now = timezone.now()
        match = Match(
            tenant_id=acme.pk, subscription_id=None, severity=Severity(severity),
            event_type="CASH_LOW", aggregate_type="case", aggregate_id=f"c{next(numbers)}",
            case_id=None, event_id=uuid7(), occurred_at=now - ago, message=message,
            facts={"rule": "system"}, **given,
        )  # fmt: skip
        with acting(tenant_id=acme.pk), transaction.atomic():
            services.raise_alerts([match], now=now)
        return Alert.across_tenants.get(aggregate_id=match.aggregate_id)

    return raise_it


@pytest.fixture
def readers(transactional_db):
    readers = Readers(MemoryBus(), "watch_cep_group")
    yield readers
    readers.end()


@pytest.fixture
def fired(acme, staff, readers):
    """An alert that really came of an event and two rules: of one event, and of several."""
    several = {"type": "pattern", "min_count": 2, "window_hours": 24}
    given = {"user": staff, "event_types": ["CASH_LOW"], "severity": "CRITICAL"}
    with acting(tenant_id=acme.pk, actor=staff.email):
        services.subscribe(name="Low cash", rule=LOW_CASH, **given)
        services.subscribe(name="Often low", rule=several, **given)
        for balance in (5, 6):
            with transaction.atomic():
                publish(CashLow(**CashLow.example | {"cash_balance": balance}))
    readers.run()
    return Alert.across_tenants.get(aggregate_type="case")


@pytest.fixture
def window(visit, staff):
    window = visit()
    window.log_in(staff)
    return window


def rows(window):
    return window.page.locator("#result_list tbody tr").all_text_contents()


def choose(window, count, action):
    for number in range(count):
        # By keyboard: the bar of actions, once it is there, lies above the last rows of the window.
        window.page.locator(".action-select").nth(number).press("Space")
    window.page.select_option("[name=action]", action)
    window.page.locator("#changelist-actions-wrapper button[type=submit]").first.click()


def test_the_inbox_shows_what_is_open_and_each_view_what_it_says(window, raised, acme, staff):
    raised("An open one", severity="LOW")
    taken, settled = raised("A taken one"), raised("A settled one")
    raised("A grave one", severity="CRITICAL")
    with acting(tenant_id=acme.pk, actor=staff.email):
        services.acknowledge(alert=taken, by=staff)
        services.dismiss(alert=settled, by=staff, false_positive=True)
    found = {}
    assert window.open(INBOX) == 200
    for view in window.page.locator(".ax-view a").all_text_contents():
        window.page.get_by_role("link", name=view, exact=True).first.click()
        window.page.wait_for_selector(f".ax-view [aria-current=page] >> text={view}")
        names = ("open", "taken", "settled", "grave")
        found[view] = {n for n in names for row in rows(window) if f" {n} one" in row}
    assert found == {
        "Open": {"open", "taken", "grave"},
        "Mine": {"taken"},
        "Critical unread": {"grave"},
        "Escalating": {"grave"},
        "Settled": {"settled"},
        "All": {"open", "taken", "settled", "grave"},
    }
    assert window.complaints == []


def test_an_empty_inbox_says_where_alerts_come_from(window):
    window.open(INBOX)
    assert "Alerts come of subscriptions" in window.page.text_content("#changelist")
    window.open("/admin/watch/subscription/")
    window.page.get_by_role("link", name="Add subscription").last.click()
    window.page.wait_for_url("**/add/")
    assert window.complaints == []


def test_somebody_names_their_filters_and_forgets_them(window, raised):
    raised("A low one", severity="LOW")
    raised("A grave one", severity="CRITICAL")
    window.open(f"{INBOX}?severity__exact=LOW&show=all")
    window.page.get_by_text("Save as a view").click()
    window.page.fill(".ax-views [name=name]", "Small matters")
    window.page.click(".ax-views details button")
    window.page.wait_for_selector(".ax-view-current >> text=Small matters")
    window.open(INBOX)
    assert len(rows(window)) == 2
    window.page.get_by_role("link", name="Small matters").click()
    window.page.wait_for_selector(".ax-view-current >> text=Small matters")
    assert len(rows(window)) == 1
    window.page.get_by_role("button", name="Forget the view Small matters").click()
    window.page.wait_for_selector(".ax-view-current >> text=Open")
    assert window.page.get_by_role("link", name="Small matters").count() == 0
    assert window.complaints == []


def test_many_are_acknowledged_at_once(window, raised):
    for number in range(3):
        raised(f"Number {number}")
    window.open(INBOX)
    choose(window, 3, "acknowledge_chosen")
    window.page.get_by_text("3 alerts are done.").wait_for()
    assert set(Alert.across_tenants.values_list("status", flat=True)) == {"acknowledged"}
    assert window.complaints == []


def test_many_are_dismissed_with_a_verdict_after_their_number_was_said(window, raised):
    for number in range(12):
        raised(f"Number {number}", severity="CRITICAL" if number < 2 else "LOW")
    window.open(INBOX)
    choose(window, 12, "dismiss_chosen")
    window.page.get_by_text("This is about 12 alerts.").wait_for()
    said = window.page.text_content("form:has([data-size])")
    assert "Critical: 2" in said
    assert "2 escalations that wait are called off." in said
    assert not Alert.across_tenants.filter(status="dismissed").exists()
    keep(window, "alerts-dismiss")
    window.page.get_by_label("false positive").check()
    window.page.fill("[name=reason]", "A test of the alarm")
    window.page.get_by_role("button", name="Dismiss (12)").click()
    window.page.get_by_text("12 alerts are done.").wait_for()
    assert set(Alert.across_tenants.values_list("status", "false_positive")) == {
        ("dismissed", True)
    }
    assert window.complaints == []


def test_many_are_resolved_only_with_their_cause(window, raised):
    raised("One"), raised("Two")
    window.open(INBOX)
    choose(window, 2, "resolve_chosen")
    window.page.get_by_text("This is about 2 alerts.").wait_for()
    window.page.locator("[name=root_cause]").evaluate("each => each.required = false")
    window.page.get_by_role("button", name="Resolve (2)").click()
    window.page.get_by_text("This field is required.").wait_for()
    window.page.fill("[name=root_cause]", "A payment was booked twice")
    window.page.get_by_role("button", name="Resolve (2)").click()
    window.page.get_by_text("2 alerts are done.").wait_for()
    causes = set(Alert.across_tenants.values_list("status", "root_cause"))
    assert causes == {("resolved", "A payment was booked twice")}


def test_the_list_follows_what_happens(window, raised):
    raised("The first one")
    window.open(INBOX)
    raised("The second one")
    window.page.evaluate("document.dispatchEvent(new CustomEvent('axiom:notification'))")
    window.page.wait_for_selector("#result_list >> text=The second one")
    # The rows are new, and can still be chosen for an action.
    choose(window, 2, "acknowledge_chosen")
    window.page.get_by_text("2 alerts are done.").wait_for()
    assert window.complaints == []


def test_one_alert_shows_why_it_fired(window, fired):
    assert window.open(f"{INBOX}{fired.pk}/change/") == 200
    page = window.page
    plain = page.locator(".ax-why", has_text="Low cash")
    assert "Alert when cash_balance < 1,000,000 and currency == “KRW”." in plain.text_content()
    parts = plain.locator(".ax-tree ul li")
    assert "cash_balance is 5.0, and that is < 1000000." in parts.nth(0).text_content()
    assert "currency is “KRW”, and that is == “KRW”." in parts.nth(1).text_content()
    assert parts.nth(0).get_by_role("img", name="holds").is_visible()
    page.locator("#alert-events").locator("xpath=..").get_by_role(
        "link", name="Journey"
    ).first.click()
    page.wait_for_url("**/admin/journey/**")
    assert "CASH_LOW" in page.text_content("table")
    assert window.complaints == []


def test_a_rule_over_several_events_is_explained_a_moment_later(window, fired):
    pattern = Alert.across_tenants.exclude(pk=fired.pk).get()
    window.open(f"{INBOX}{pattern.pk}/change/")
    tree = window.page.locator(".ax-why", has_text="Often low").locator(".ax-tree")
    tree.wait_for()
    assert "With this event it begins to hold." in tree.text_content()
    assert window.complaints == []


def test_one_alert_is_worked_off_in_words(window, fired):
    window.open(f"{INBOX}{fired.pk}/change/")
    page = window.page
    assert "unless somebody acknowledges" in page.text_content("[data-next]")
    assert page.locator("[data-state=planned]").count() > 0
    page.get_by_label("In words").fill("I look into it")
    page.get_by_role("button", name="Acknowledge").click()
    page.locator(".ax-line", has_text="I look into it").wait_for()
    assert "Nothing: nobody else will be told." in page.text_content("[data-next]")
    page.get_by_label("In words").fill("A payment was booked twice")
    page.get_by_role("button", name="Write down the root cause").click()
    page.locator("dl", has_text="A payment was booked twice").wait_for()
    page.get_by_text("Resolve…").click()
    assert "seen 2 times" in page.text_content("[data-deed=resolve]")
    page.get_by_role("button", name="Resolve", exact=True).click()
    page.wait_for_selector("[data-status=resolved]")
    assert page.locator("[data-deed]").count() == 0
    fired.refresh_from_db()
    assert (fired.status, fired.root_cause) == ("resolved", "A payment was booked twice")
    assert window.complaints == []


def test_one_is_dismissed_only_with_a_verdict(window, raised):
    alert = raised("A false one")
    window.open(f"{INBOX}{alert.pk}/change/")
    window.page.get_by_text("Dismiss…").click()
    window.page.get_by_role("button", name="Dismiss", exact=True).click()
    assert window.page.url.endswith("/change/")
    window.page.get_by_label("false positive").check()
    window.page.get_by_role("button", name="Dismiss", exact=True).click()
    window.page.wait_for_selector("[data-status=dismissed]")
    alert.refresh_from_db()
    assert alert.false_positive is True


@pytest.fixture
def failed(fired, acme, staff):
    """An email about it that did not go out."""
    with acting(tenant_id=acme.pk):
        return Delivery.objects.create(
            alert=fired, channel="email", recipient=staff, state="failed", reason="refused",
            settled_at=timezone.now(), severity="CRITICAL", attempts=1,
        )  # fmt: skip


def test_a_failed_delivery_is_sent_again_from_the_alert(window, fired, failed):
    window.open(f"{INBOX}{fired.pk}/change/")
    panel = window.page.locator("[data-delivery=failed]")
    assert "The other side refused it." in panel.text_content()
    panel.get_by_role("button", name="Send again").click()
    window.page.get_by_text("It is sent again.").wait_for()
    assert window.page.url.endswith(f"{INBOX}{fired.pk}/change/")
    failed.refresh_from_db()
    assert failed.state != "failed"
    assert failed.tries.filter(outcome="asked").exists()
    assert window.complaints == []


def test_a_viewer_sees_all_of_it_and_does_nothing(visit, bob, fired, failed):
    bob.is_staff = True
    bob.save()
    window = visit()
    window.log_in(bob)
    window.open(f"{INBOX}{fired.pk}/change/")
    assert "cash_balance is 5.0" in window.page.text_content(".ax-alert")
    assert window.page.locator(".ax-alert button, .ax-alert textarea").count() == 0
    window.open(INBOX)
    assert window.page.locator("[name=action]").count() == 0
    assert window.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_pages_fit_the_window(visit, staff, fired, failed, raised, width, scheme):
    raised("A long message " + "about a matter that takes many words " * 5, severity="CRITICAL")
    window = visit(width=width, color_scheme=scheme)
    window.log_in(staff)
    for name, path in {
        "inbox": INBOX,
        "nothing": f"{INBOX}?show=flapping",
        "alert": f"{INBOX}{fired.pk}/change/",
    }.items():
        window.open(path)
        assert not window.is_wider_than_the_window(), name
        keep(window, f"alerts-{name}")
    assert window.complaints == []
