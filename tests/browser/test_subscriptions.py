"""A rule of every type put together by hand, in a real browser, and tried before it is saved."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from apps.cases.events import CashLow
from apps.events.context import acting
from apps.events.models import OutboxEvent
from apps.events.outbox import publish
from apps.watch import services
from apps.watch.models import Subscription
from tests.browser.pictures import keep

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/watch/subscription/add/"
CASH = {"type": "threshold", "field": "cash_balance", "operator": "<", "threshold": 1_000_000}


class Form:
    """The form of a subscription as somebody fills it in."""

    def __init__(self, window) -> None:
        self.window, self.page = window, window.page

    def open(self, path=ADD):
        assert self.window.open(path) == 200
        self.page.wait_for_selector("[data-show=form]:not([hidden])")
        return self

    def choose(self, type_, at="#/rule"):
        self.at(at).locator("> .ax-part-head [data-do=choose]").select_option(type_)

    def at(self, pointer):
        return self.page.locator(f'[data-pointer="{pointer}"]')

    def fill(self, **given):
        """Keys of the rule itself."""
        for key, value in given.items():
            self.put(f"#/rule/{key}", value)

    def put(self, pointer, value):
        control = self.at(pointer)
        if control.evaluate("each => each.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(str(value))

    def press(self, words, at="#/rule"):
        self.at(at).get_by_role("button", name=words).first.click()

    def watch(self, *types):
        for each in types:
            self.page.select_option("[data-do=add-type]", each)

    @property
    def rule(self):
        return json.loads(self.page.input_value("#id_rule"))

    def says(self, text):
        self.page.locator("[data-words=en]", has_text=text).wait_for()

    def save(self, name="By hand"):
        self.page.fill("#id_name", name)
        self.page.click("[name=_save]")
        self.page.wait_for_url("**/watch/subscription/")
        return Subscription.across_tenants.get(name=name)


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.fixture
def form(visit, staff):
    window = visit()
    window.log_in(staff)
    return Form(window).open()


def of_me(form, staff):
    form.page.select_option("#id_user", str(staff.pk))


def always(form):
    form.watch("CASH_LOW")
    form.choose("always")
    return {"type": "always"}


def threshold(form):
    form.watch("CASH_LOW")
    form.fill(field="cash_balance", operator="<", threshold=1_000_000)
    form.says("Alert when cash_balance < 1,000,000.")
    return CASH


def text_threshold(form):
    form.watch("CASE_STATUS_CHANGED")
    form.fill(field="new_status", operator="==")
    form.page.select_option("[data-do=value-kind]", "text")
    form.fill(threshold="closed")
    return {"type": "threshold", "field": "new_status", "operator": "==", "threshold": "closed"}


def other_field(form):
    form.watch("CASH_LOW")
    form.fill(field="cash_balance", operator="<")
    form.page.select_option("[data-do=value-kind]", "field")
    form.fill(threshold="threshold")
    return {**CASH, "threshold": {"field": "threshold"}}


def nothing(form):
    form.watch("CASE_ASSIGNED")
    form.fill(field="assignee_id", operator="==")
    form.page.select_option("[data-do=value-kind]", "null")
    return {"type": "threshold", "field": "assignee_id", "operator": "==", "threshold": None}


def deadline(form):
    form.watch("DEADLINE_APPROACHING")
    form.choose("deadline")
    form.fill(days_before=3)
    form.says("at most 3 days are left until deadline")
    return {"type": "deadline", "days_before": 3, "field": "deadline"}


def every_condition(form):
    form.watch("CASH_LOW")
    form.fill(field="cash_balance", operator="<", threshold=1_000_000)
    form.choose("all")
    form.press("Add a condition")
    form.choose("not", at="#/rule/conditions/1")
    form.put("#/rule/conditions/1/condition/field", "threshold")
    form.put("#/rule/conditions/1/condition/threshold", 5)
    form.says("Alert when cash_balance < 1,000,000 and not (threshold > 5).")
    inner = {"type": "threshold", "field": "threshold", "operator": ">", "threshold": 5}
    return {"type": "all", "conditions": [CASH, {"type": "not", "condition": inner}]}


def one_condition(form):
    form.watch("CASH_LOW")
    form.fill(field="cash_balance", operator="<", threshold=1_000_000)
    form.choose("any")
    form.press("Add a condition")
    form.press("Remove", at="#/rule/conditions/1")
    return {"type": "any", "conditions": [CASH]}


def no_condition(form):
    form.watch("CASH_LOW")
    form.fill(field="cash_balance", operator="<", threshold=1_000_000)
    form.choose("not")
    return {"type": "not", "condition": CASH}


def pattern(form):
    form.watch("CASH_LOW")
    form.choose("pattern")
    form.fill(min_count=5, window_hours=48, group_by="case_id")
    form.press("Count only some events")
    form.put("#/rule/where/field", "cash_balance")
    form.put("#/rule/where/operator", "<")
    form.put("#/rule/where/threshold", 1_000_000)
    form.says("5 times within 2 days, for each case_id by itself, counting only events where")
    return {"type": "pattern", "min_count": 5, "window_hours": 48, "group_by": "case_id",
            "where": CASH}  # fmt: skip


def aggregate(form):
    form.watch("PAYMENT_DUE")
    form.choose("aggregate")
    form.fill(function="avg", field="amount", operator=">=", threshold=50000, window_hours=168)
    form.says("the average of amount within 7 days is >= 50,000")
    return {"type": "aggregate", "function": "avg", "field": "amount", "operator": ">=",
            "threshold": 50000, "window_hours": 168}  # fmt: skip


def sequence(form):
    form.choose("sequence")
    form.put("#/rule/first/event_type", "CASE_CREATED")
    form.put("#/rule/then/event_type", "CASE_STATUS_CHANGED")
    form.fill(within_hours=12)
    form.press("Count only some events", at="#/rule/then")
    form.put("#/rule/then/where/field", "new_status")
    form.page.select_option("[data-do=value-kind]", "text")
    form.put("#/rule/then/where/threshold", "closed")
    form.put("#/rule/then/where/operator", "==")
    where = {"type": "threshold", "field": "new_status", "operator": "==", "threshold": "closed"}
    return {"type": "sequence", "first": {"event_type": "CASE_CREATED"}, "within_hours": 12,
            "then": {"event_type": "CASE_STATUS_CHANGED", "where": where}}  # fmt: skip


def absence(form):
    form.choose("absence")
    form.put("#/rule/first/event_type", "CASE_CREATED")
    form.put("#/rule/then/event_type", "CASE_ASSIGNED")
    form.fill(within_hours=48, group_by="case_id")
    form.says("is not followed by")
    return {"type": "absence", "first": {"event_type": "CASE_CREATED"}, "within_hours": 48,
            "then": {"event_type": "CASE_ASSIGNED"}, "group_by": "case_id"}  # fmt: skip


@pytest.mark.parametrize(
    "build",
    [always, threshold, text_threshold, other_field, nothing, deadline, every_condition,
     one_condition, no_condition, pattern, aggregate, sequence, absence],
)  # fmt: skip
def test_a_rule_is_built_by_hand_and_saved_as_it_was_built(form, staff, build):
    of_me(form, staff)
    wanted = build(form)
    assert form.rule == wanted
    kept = form.save()
    assert kept.rule == wanted
    assert form.window.complaints == []


def test_the_json_and_the_form_follow_each_other(form):
    form.watch("CASH_LOW")
    form.page.fill("#id_rule", json.dumps({**CASH, "operator": ">="}))
    assert form.at("#/rule/operator").input_value() == ">="
    form.says("Alert when cash_balance >= 1,000,000.")
    form.page.fill("#id_rule", '{"type": "thresh')
    form.page.locator("[data-show=errors]", has_text="not JSON").wait_for()
    form.page.fill("#id_rule", json.dumps({"type": "not", "condition": CASH}))
    assert form.at("#/rule/condition/threshold").input_value() == "1000000"
    assert form.window.complaints == []


@pytest.mark.parametrize(
    "text",
    ["null", "3", '"x"', "[]", '{"type": "x"}', '{"type": "all", "conditions": [null]}',
     '{"type": "all", "conditions": 5}', '{"type": "not"}', '{"type": "sequence", "first": 5}',
     '{"type": "pattern", "where": {"type": "x"}}'],
)  # fmt: skip
def test_json_that_is_no_rule_breaks_nothing(form, text):
    form.watch("CASH_LOW")
    form.page.fill("#id_rule", text)
    form.page.locator("[data-show=errors] li").first.wait_for()
    form.page.fill("#id_rule", json.dumps(CASH))
    form.says("Alert when cash_balance < 1,000,000.")
    assert form.at("#/rule/field").input_value() == "cash_balance"
    assert form.window.complaints == []


def test_both_languages_are_said(form):
    form.watch("CASH_LOW")
    form.choose("absence")
    form.put("#/rule/first/event_type", "CASE_CREATED")
    form.put("#/rule/then/event_type", "CASE_ASSIGNED")
    form.says("Case opened")
    assert "사건" in form.page.text_content("[data-words=ko]")


def test_a_fault_is_told_with_its_path_beside_what_it_is_about(form):
    form.watch("CASH_LOW")
    form.fill(field="not a path", threshold=5)
    told = form.page.locator("[data-show=errors] li", has_text="#/rule/field")
    told.wait_for()
    assert "It is not a path" in told.text_content()
    assert form.at("#/rule/field").get_attribute("aria-invalid") == "true"
    form.fill(field="amount")
    form.says("Alert when amount > 5.")
    assert form.at("#/rule/field").get_attribute("aria-invalid") is None


@pytest.fixture
def low_cash(acme, staff):
    """Cash was low on three days, twice on one of them."""
    now, days = timezone.now(), (1, 3, 3, 5)
    with acting(tenant_id=acme.pk, actor=staff.email), transaction.atomic():
        for number in range(len(days)):
            publish(CashLow(**CashLow.example | {"case_id": uuid4(), "cash_balance": number}))
    rows = OutboxEvent.objects.filter(event_type="CASH_LOW").order_by("seq")
    for row, ago in zip(rows, days, strict=True):
        OutboxEvent.objects.filter(event_id=row.event_id).update(
            occurred_at=now - timedelta(days=ago)
        )


def tried(form, days=7):
    form.page.fill("[data-show=days]", str(days))
    form.page.click("[data-do=try]")
    form.page.locator(".ax-trial").wait_for()
    return form.page.locator(".ax-trial")


def test_a_dry_run_shows_when_it_would_have_fired(form, low_cash):
    threshold(form)
    trial = tried(form)
    assert "fired 4 times" in trial.text_content()
    assert trial.locator("svg .ax-bar").count() == 3
    assert trial.locator("svg[role=img]").get_attribute("aria-label").endswith((" 1", " 2"))
    trial.get_by_text("By which events").click()
    trial.get_by_role("link", name="Journey").first.click()
    form.page.wait_for_url("**/admin/journey/**")
    assert "CASH_LOW" in form.page.text_content("table")
    assert form.window.complaints == []
    assert not Subscription.across_tenants.exists()


def test_without_anything_stored_a_dry_run_says_what_to_do(form):
    threshold(form)
    trial = tried(form, days=2)
    assert "try more days" in trial.text_content()
    assert trial.locator("svg").count() == 0


def test_an_unfinished_rule_is_not_tried_but_explained(form):
    form.page.click("[data-do=try]")
    form.page.locator("[data-show=trial] li", has_text="#/rule/").first.wait_for()
    assert form.window.complaints == []


def test_a_rule_that_is_refused_is_shown_again_as_it_was(form, staff):
    of_me(form, staff)
    form.fill(field="cash_balance", threshold=5)
    form.page.fill("#id_name", "Nothing to look at")
    form.page.click("[name=_save]")
    form.page.get_by_text("Choose at least one event type.").first.wait_for()
    form.page.wait_for_selector("[data-show=form]:not([hidden])")
    assert form.at("#/rule/threshold").input_value() == "5"
    assert not Subscription.across_tenants.exists()


@pytest.fixture
def theirs(acme, staff):
    with acting(tenant_id=acme.pk):
        return services.subscribe(
            name="Alice's", user=staff, rule=CASH, event_types=["CASH_LOW"], severity="HIGH"
        )


def looked_at(visit, person, row):
    person.is_staff = True
    person.save()
    window = visit()
    window.log_in(person)
    assert window.open(f"/admin/watch/subscription/{row.pk}/change/") == 200
    return window


def test_a_viewer_reads_the_rule_and_tries_nothing(visit, bob, theirs):
    window = looked_at(visit, bob, theirs)
    assert "Alert when cash_balance < 1,000,000." in window.page.text_content("[data-rule-shown]")
    assert window.page.locator("[data-do=try], [name=_save], [data-rule-builder]").count() == 0
    assert window.complaints == []


def test_an_operator_tries_anybodys_rule_and_changes_none(visit, acme, member_of, theirs, low_cash):
    window = looked_at(visit, member_of(acme, "dana", "manager"), theirs)
    assert "fired 4 times" in tried(Form(window)).text_content()
    assert window.page.locator("[name=_save], [data-rule-builder]").count() == 0
    assert window.complaints == []


def test_an_operator_subscribes_for_themselves(visit, acme, member_of):
    dana = member_of(acme, "dana", "manager")
    dana.is_staff = True
    dana.save()
    window = visit()
    window.log_in(dana)
    form = Form(window).open()
    assert form.page.locator("#id_user, #id_role").count() == 0
    threshold(form)
    assert form.save().user == dana
    assert window.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_form_fits_the_window(visit, staff, low_cash, width, scheme):
    window = visit(width=width, color_scheme=scheme)
    window.log_in(staff)
    form = Form(window).open()
    threshold(form)
    form.choose("any")
    form.press("Add a condition")
    form.choose("not", at="#/rule/conditions/1")
    form.put("#/rule/conditions/1/condition/field", "threshold")
    form.put("#/rule/conditions/1/condition/threshold", 5)
    tried(form, days=30)
    assert not window.is_wider_than_the_window()
    assert window.complaints == []
    keep(window, "subscription")
