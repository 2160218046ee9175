"""The backbone in the console: viewers see, operators act, and everything is written down."""

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.models import DeadLetter, DeadLetterAct, FailedAttempt, OutboxEvent, Redrive, Retry
from apps.events.outbox import publish
from apps.events.relay import Relay

from .backbone import GROUP, Log, drain, open_letters, worker
from .test_relay import FussyBus

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

LETTERS = "/admin/events/deadletter/"


def console_of(user):
    user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(alice):
    return console_of(alice)


@pytest.fixture
def viewer(bob):
    return console_of(bob)


@pytest.fixture
def platform(db, django_user_model):
    return console_of(django_user_model.objects.create_superuser("root@axiom.example", "x"))


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def bury(acme, log, redis_bus, thing_happened):
    """Lets events of Acme end as dead letters; returns the newest."""

    def give_up_on(*numbers):
        log.trouble = {("t1", n): GiveUp("no such case") for n in numbers}
        with acting(tenant_id=acme.pk, trace_id="c" * 32), transaction.atomic():
            for number in numbers:
                publish(thing_happened(thing_id="t1", number=number))
        drain(Relay(redis_bus, "relay-1"))
        worker(redis_bus).step()
        log.trouble = {}
        return open_letters().last()

    return give_up_on


@pytest.fixture
def letter(bury):
    return bury(1)


def page_of(letter, act="change"):
    return f"{LETTERS}{letter.pk}/{act}/"


class TestSeeing:
    def test_a_viewer_sees_letters_and_may_not_act(self, viewer, letter):
        listed = viewer.get(LETTERS).content.decode()
        assert "GiveUp: no such case" in listed
        assert "send_selected_again" not in listed
        shown = viewer.get(page_of(letter)).content.decode()
        assert "no such case" in shown
        assert page_of(letter, "redrive") not in shown
        for act in ("redrive", "edit", "discard"):
            assert viewer.get(page_of(letter, act)).status_code == 403
            assert viewer.post(page_of(letter, act), {"reason": "x"}).status_code == 403
        assert viewer.get(f"{LETTERS}redrive-matching/").status_code == 403

    def test_charlie_sees_nothing_of_it(self, charlie, letter):
        theirs = console_of(charlie)
        assert "no such case" not in theirs.get(LETTERS).content.decode()
        for act in ("redrive", "edit", "discard"):
            assert theirs.post(page_of(letter, act), {"reason": "x"}).status_code == 404
        theirs.post(
            LETTERS, {"action": "discard_selected", "_selected_action": letter.pk, "reason": "x"}
        )
        assert open_letters().count() == 1

    def test_open_ones_are_listed_and_others_when_asked_for(self, operator, bury):
        letter = bury(1)
        operator.post(page_of(letter, "discard"), {"reason": "no use"})
        assert "no such case" not in operator.get(LETTERS).content.decode()
        assert "no such case" in operator.get(LETTERS, {"status": "discarded"}).content.decode()

    def test_letters_are_found_by_kind_and_by_id(self, operator, letter):
        def listed(**query):
            return (
                "no such case" in operator.get(LETTERS, query).content.decode().split("<tbody")[-1]
            )

        assert f"GiveUp, {GROUP} (1)" in operator.get(LETTERS).content.decode()
        assert listed(fingerprint=letter.fingerprint)
        assert not listed(fingerprint="another")
        for name in (str(letter.event_id), "c" * 32, "t1"):
            assert listed(q=name)
        assert not listed(q="t2")

    def test_who_acts_without_a_tenant_is_told_whose_a_letter_is(self, platform, letter, acme):
        assert str(acme.pk) in platform.get(LETTERS).content.decode()


class TestActing:
    def test_sending_again_is_asked_for_and_then_done(self, operator, letter, alice):
        assert operator.get(page_of(letter, "redrive")).status_code == 200
        assert open_letters().count() == 1
        operator.post(page_of(letter, "redrive"), {"reason": "mended"})
        letter.refresh_from_db()
        assert letter.status == "redriven"
        act = DeadLetterAct.objects.get()
        assert (act.kind, act.actor, act.reason) == ("redriven", alice.email, "mended")
        assert LogEntry.objects.get().object_id == str(letter.pk)
        assert "mended" in operator.get(page_of(letter)).content.decode()

    def test_a_letter_that_is_settled_is_refused_with_the_reason(self, operator, letter):
        operator.post(page_of(letter, "redrive"), {"reason": ""})
        again = operator.post(page_of(letter, "redrive"), {"reason": ""}).content.decode()
        assert "This dead letter is settled already" in again
        assert DeadLetterAct.objects.count() == 1

    def test_discarding_needs_a_reason(self, operator, letter):
        assert operator.post(page_of(letter, "discard"), {"reason": ""}).status_code == 200
        assert open_letters().count() == 1
        operator.post(page_of(letter, "discard"), {"reason": "no use"})
        assert DeadLetterAct.objects.get().reason == "no use"

    def test_selected_letters_are_sent_again_or_discarded(self, operator, bury):
        bury(1, 2, 3)
        first, second, _third = open_letters()
        chosen = {"_selected_action": [first.pk, second.pk]}
        page = operator.post(LETTERS, {"action": "discard_selected", **chosen}, follow=True)
        assert "Say why" in page.content.decode()
        assert open_letters().count() == 3
        page = operator.post(
            LETTERS, {"action": "discard_selected", "reason": "old", **chosen}, follow=True
        )
        assert "2 letters were discarded." in page.content.decode()
        chosen = {"_selected_action": [letter.pk for letter in open_letters()]}
        page = operator.post(LETTERS, {"action": "send_selected_again", **chosen}, follow=True)
        assert "1 letter was sent again." in page.content.decode()
        assert open_letters().count() == 0


class TestEditing:
    def send(self, operator, letter, do, number=7, **more):
        payload = more.pop("payload", None) or json.dumps({"thing_id": "t1", "number": number})
        return operator.post(page_of(letter, "edit"), {"payload": payload, "do": do, **more})

    def test_the_form_begins_with_the_payload(self, operator, letter):
        assert "&quot;number&quot;: 1" in operator.get(page_of(letter, "edit")).content.decode()

    def test_the_difference_is_shown_and_nothing_is_done(self, operator, letter):
        page = self.send(operator, letter, "show").content.decode()
        assert "-  &quot;number&quot;: 1" in page
        assert "+  &quot;number&quot;: 7" in page
        assert DeadLetterAct.objects.count() == 0

    def test_it_can_be_tried_and_only_that_is_remembered(self, operator, letter, log):
        log.trouble = {("t1", 7): ValueError("still wrong")}
        assert "still wrong" in self.send(operator, letter, "try").content.decode()
        log.trouble = {}
        assert "would succeed" in self.send(operator, letter, "try").content.decode()
        assert list(DeadLetterAct.objects.values_list("kind", flat=True)) == ["tried", "tried"]
        assert open_letters().count() == 1

    def test_an_edited_copy_is_sent_with_a_reason(self, operator, letter):
        assert "Say why" in self.send(operator, letter, "send").content.decode()
        self.send(operator, letter, "send", reason="typo")
        letter.refresh_from_db()
        assert letter.status == "replaced"
        assert Retry.objects.get().event_id == letter.replaced_by
        assert "number" in DeadLetterAct.objects.get().diff

    @pytest.mark.parametrize(
        ("payload", "told"),
        [
            ("{", "This is no JSON"),
            ("[1]", "A payload is a JSON object."),
            ('{"thing_id": "t1", "number": "many"}', "number"),
        ],
    )
    def test_a_wrong_payload_is_told(self, operator, letter, payload, told):
        page = self.send(operator, letter, "send", payload=payload, reason="x").content.decode()
        assert told in page
        assert open_letters().count() == 1

    def test_an_unreadable_entry_gets_a_type_and_a_tenant(self, platform, acme, log, redis_bus):
        drain(Relay(redis_bus, "relay-1"))
        redis_bus.client.xadd("axiom:events", {"what": "ever"})
        worker(redis_bus).step()
        (letter,) = open_letters()
        self.send(
            platform, letter, "send", reason="put right", event_type="TEST_THING_HAPPENED",
            tenant_id=str(acme.pk),
        )  # fmt: skip
        copy = OutboxEvent.objects.get()
        assert (copy.event_type, copy.tenant_id) == ("TEST_THING_HAPPENED", acme.pk)


class TestSendingMany:
    url = f"{LETTERS}redrive-matching/"

    def test_one_has_to_say_which(self, operator, letter):
        page = operator.post(self.url, {"rate": "5", "do": "send"}).content.decode()
        assert "Say which letters" in page
        assert not Redrive.objects.exists()

    def test_it_is_counted_first(self, operator, bury):
        bury(1, 2)
        query = {"group": GROUP, "rate": "5", "do": "count"}
        assert "2 letters match." in operator.post(self.url, query).content.decode()
        assert not Redrive.objects.exists()

    def test_it_is_started_for_the_tenant_and_can_be_stopped(self, operator, viewer, letter, acme):
        started = operator.post(
            self.url, {"fingerprint": letter.fingerprint, "rate": "5", "do": "send"}
        )
        redrive = Redrive.objects.get()
        assert (redrive.tenant_id, redrive.total, redrive.rate) == (acme.pk, 1, 5)
        assert started.url == f"/admin/events/redrive/{redrive.pk}/change/"
        assert "0 / 1" in viewer.get(started.url).content.decode()
        stop = f"/admin/events/redrive/{redrive.pk}/stop/"
        assert viewer.post(stop).status_code == 403
        assert operator.get(stop).status_code == 200
        redrive.refresh_from_db()
        assert redrive.is_running
        operator.post(stop, {"yes": "1"})
        redrive.refresh_from_db()
        assert redrive.status == "stopped"


class TestOutbox:
    url = "/admin/events/outboxevent/"

    def test_events_are_listed_and_found_by_every_id(self, viewer, letter):
        assert "TEST_THING_HAPPENED" in viewer.get(self.url).content.decode()
        for name in (str(letter.event_id), "c" * 32, "t1"):
            page = viewer.get(self.url, {"q": name}).content.decode()
            assert f"{letter.event_id}/change/" in page
        assert (
            f"{letter.event_id}/change/" not in viewer.get(self.url, {"q": "t2"}).content.decode()
        )

    def test_what_the_relay_gave_up_leads_to_its_letter(
        self, operator, acme, redis_bus, thing_happened
    ):
        with acting(tenant_id=acme.pk), transaction.atomic():
            event_id = publish(thing_happened(thing_id="t9"))
        drain(Relay(FussyBus(redis_bus, "t9", permanent=True), "relay-1"))
        letter = open_letters().get()
        assert page_of(letter) in operator.get(f"{self.url}{event_id}/change/").content.decode()
        operator.post(page_of(letter, "redrive"), {"reason": "mended"})
        assert OutboxEvent.objects.get().status == "PENDING"

    def test_nobody_writes_it_by_hand(self, operator, letter):
        assert operator.get(f"{self.url}add/").status_code == 403
        page = f"{self.url}{letter.event_id}/"
        assert operator.post(f"{page}change/", {"status": "PENDING"}).status_code == 403
        assert operator.post(f"{page}delete/", {"post": "yes"}).status_code == 403


def test_what_knows_no_tenant_is_for_the_platform(platform, operator, letter):
    attempt = FailedAttempt.objects.get()
    for name, text in (("failedattempt", "no such case"), ("retry", "")):
        url = f"/admin/events/{name}/"
        assert operator.get(url).status_code == 403
        assert text in platform.get(url).content.decode()
    found = platform.get("/admin/events/failedattempt/", {"q": str(attempt.event_id)})
    assert "no such case" in found.content.decode()


@pytest.mark.parametrize("name", ["deadletter", "redrive", "outboxevent", "retry", "failedattempt"])
def test_no_list_counts_without_end(name, platform, letter):
    with CaptureQueriesContext(connection) as captured:
        platform.get(f"/admin/events/{name}/")
    counted = [
        q["sql"] for q in captured if "COUNT(" in q["sql"] and f"event_{name[:4]}" in q["sql"]
    ]
    assert all("LIMIT" in sql for sql in counted), counted
    assert len(captured) < 30


def test_letters_shown_are_of_the_status_asked_for(operator, letter):
    DeadLetter.objects.update(status="discarded")
    assert "no such case" not in operator.get(LETTERS).content.decode()


def test_the_journey_leads_to_the_letter(viewer, letter):
    page = viewer.get("/admin/journey/", {"id": str(letter.event_id)}).content.decode()
    assert page_of(letter) in page


def test_the_first_page_counts_the_letters_that_its_list_shows(operator, platform, charlie, letter):
    for client, count in ((operator, 1), (console_of(charlie), 0), (platform, 1)):
        panel = client.get("/admin/now/").content.decode().split("open dead letters")[0]
        assert panel.rstrip().endswith('class="text-subtle">')
        assert f">{count}</p>" in panel.rsplit('<p class="ax-figure-value', 1)[1]


class TestKinds:
    url = "/admin/dead-letters/"

    def test_a_kind_tells_its_error_and_one_of_its_payloads(self, operator, bury):
        bury(1, 2)
        page = operator.get(self.url).content.decode()
        assert "no such case" in page
        assert '<strong class="ax-figure-value ax-over">2</strong>' in page
        assert "&quot;number&quot;: 2" in page
        assert "2 in 24 hours" in page

    def test_another_tenants_kinds_and_acts_are_not_told(self, operator, charlie, letter):
        operator.post(page_of(letter, "discard"), {"reason": "for acme alone"})
        assert "for acme alone" in operator.get(self.url).content.decode()
        theirs = console_of(charlie).get(self.url).content.decode()
        assert "No letter is open" in theirs
        assert "for acme alone" not in theirs

    def test_a_viewer_may_look_and_is_offered_no_act(self, viewer, operator, letter):
        assert "redrive-matching" in operator.get(self.url).content.decode()
        page = viewer.get(self.url)
        assert page.status_code == 200
        assert "redrive-matching" not in page.content.decode()

    def test_the_platform_is_told_how_many_tenants_are_hit(self, platform, operator, letter):
        assert "Tenants hit" in platform.get(self.url).content.decode()
        assert "Tenants hit" not in operator.get(self.url).content.decode()

    def test_many_are_sent_only_by_who_was_told_how_many(self, operator, letter):
        url = f"{LETTERS}redrive-matching/"
        assert 'value="send"' not in operator.get(url).content.decode()
        counted = operator.post(url, {"group": GROUP, "rate": "5", "do": "count"})
        assert 'value="send"' in counted.content.decode()
