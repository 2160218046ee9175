"""What happened to an event, from the request to the last handler, in order."""

from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.events import services
from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.models import OutboxEvent
from apps.events.outbox import publish, publish_many
from apps.events.relay import Relay
from apps.events.selectors import Kind, journey, journey_of

from .backbone import GROUP, Log, drain, make_due, open_letters, worker
from .conftest import TENANT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nobody_else", "leases_end"),
]

RIVAL = UUID("018f2d1c-0000-7000-8000-00000000000b")
OTHER = "vision_group"


@pytest.fixture
def relay(redis_bus):
    return Relay(redis_bus, "relay-1")


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def carry(relay, redis_bus):
    """Brings what was published to the group."""

    def carry(*groups):
        drain(relay)
        for group in groups or (GROUP,):
            worker(redis_bus, group=group).step()

    return carry


def kinds(told):
    return [step.kind for step in told.steps]


def test_a_good_journey_is_told_from_the_request_to_the_handler(log, carry, happen):
    with acting(request_id="r-1", source="POST /api/v1/things/"):
        (event_id,) = happen(1)
    carry()
    told = journey_of(str(event_id), tenant_id=TENANT)
    assert kinds(told) == [Kind.REQUESTED, Kind.WRITTEN, Kind.PUBLISHED, Kind.HANDLED]
    assert told.steps[0].text == "POST /api/v1/things/ (r-1)"
    assert told.steps[2].text.startswith("axiom:events ")
    assert told.steps[3].group == GROUP
    assert '"number":1' in told.payload.replace(" ", "")
    assert not told.cut


def test_every_attempt_letter_and_act_is_told(log, carry, happen):
    log.trouble = {("t1", 1): ValueError("not yet")}
    (event_id,) = happen(1)
    carry()
    log.trouble = {("t1", 1): GiveUp("never")}
    make_due()
    carry()
    log.trouble = {}
    services.redrive(open_letters().get(), by="alice@example.com", reason="mended")
    carry()
    told = journey_of(str(event_id), tenant_id=TENANT)
    steps = [(step.kind, step.group, step.attempt) for step in told.steps[2:]]
    assert steps == [
        (Kind.FAILED, GROUP, 1),
        (Kind.FAILED, GROUP, 2),
        (Kind.GIVEN_UP, GROUP, 2),
        (Kind.ACTED, GROUP, None),
        (Kind.HANDLED, GROUP, None),
    ]
    act = told.steps[5]
    assert (act.text, act.by) == ("Sent again: mended", "alice@example.com")


def test_a_retry_and_a_group_that_has_not_come_to_it_are_awaited(
    log, carry, happen, handle, thing_happened
):
    handle(lambda message: None, thing_happened, group=OTHER)
    log.trouble = {("t1", 1): ValueError("not yet")}
    (event_id,) = happen(1)
    carry()
    told = journey_of(str(event_id), tenant_id=TENANT)
    retry, other = told.steps[-2:]
    assert (retry.kind, retry.group) == (Kind.WAITING, GROUP)
    assert retry.at is not None
    assert (other.kind, other.group, other.at) == (Kind.WAITING, OTHER, None)


def test_what_waits_in_the_outbox_is_awaited(happen):
    (event_id,) = happen(1)
    told = journey_of(str(event_id), tenant_id=TENANT)
    assert kinds(told) == [Kind.WRITTEN, Kind.WAITING]
    assert told.steps[-1].group == "relay"


def test_events_that_it_caused_are_told_however_deep(thing_happened, handle, carry, happen):
    def cause_another(message):
        if (number := message.payload["number"]) < 4:
            publish(thing_happened(thing_id=f"t{number + 1}", number=number + 1))

    handle(cause_another, thing_happened, group=GROUP)
    (first,) = happen(1)
    for _ in range(4):
        carry()
    told = journey_of(str(first), tenant_id=TENANT)
    assert [event.aggregate_id for event in told.events] == ["t1", "t2", "t3", "t4"]
    assert [event.found_as for event in told.events] == ["event", "", "", ""]
    assert told.events[1].causation_id == first


def test_a_trace_and_an_aggregate_are_found_by_their_ids(log, carry, happen):
    happen(1, 2)
    happen(3, thing_id="t2")
    by_trace = journey_of("a" * 32, tenant_id=TENANT)
    by_aggregate = journey_of("t1", tenant_id=TENANT)
    assert [event.found_as for event in by_trace.events] == ["trace"] * 3
    assert [event.found_as for event in by_aggregate.events] == ["aggregate"] * 2
    assert by_aggregate.payload is None


def test_an_edited_copy_belongs_to_the_journey_of_what_it_replaces(log, carry, happen):
    log.trouble = {("t1", 1): GiveUp("never")}
    (event_id,) = happen(1)
    carry()
    payload = {"thing_id": "t1", "number": 7, "note": ""}
    letter = services.edit_and_redrive(open_letters().get(), payload=payload, by="a", reason="typo")
    carry()
    told = journey_of(str(event_id), tenant_id=TENANT)
    assert [event.event_id for event in told.events] == [event_id, letter.replaced_by]
    assert (told.steps[-1].kind, told.steps[-1].event_id) == (Kind.HANDLED, letter.replaced_by)


def test_other_tenants_and_unknown_ids_get_nothing(log, carry, happen):
    (event_id,) = happen(1)
    carry()
    for name in (str(event_id), "a" * 32, "t1"):
        assert journey_of(name, tenant_id=RIVAL) is None
        assert journey_of(name, tenant_id=None) is not None
    assert journey_of("no-such-thing", tenant_id=TENANT) is None
    assert journey_of("", tenant_id=TENANT) is None
    assert journey_of("a\x00b", tenant_id=TENANT) is None


def test_an_event_whose_outbox_row_is_gone_is_told_by_what_is_left(log, carry, happen):
    log.trouble = {("t1", 1): GiveUp("never")}
    (event_id,) = happen(1)
    carry()
    OutboxEvent.objects.all().delete()
    told = journey_of(str(event_id), tenant_id=TENANT)
    assert kinds(told) == [Kind.FAILED, Kind.GIVEN_UP]
    assert told.events[0].status == ""
    assert journey_of(str(event_id), tenant_id=RIVAL) is None


def test_without_a_letter_only_the_platform_knows_what_is_left(log, carry, happen):
    (event_id,) = happen(1)
    carry()
    OutboxEvent.objects.all().delete()
    assert kinds(journey_of(str(event_id), tenant_id=None)) == [Kind.HANDLED]
    assert journey_of(str(event_id), tenant_id=TENANT) is None


def test_a_long_story_is_told_in_pages_without_gap_or_repetition(happen, monkeypatch):
    monkeypatch.setattr(journey, "MOST_OWN", 4)
    ids, after, pages = happen(*range(10)), 0, []
    while True:
        told = journey_of("t1", tenant_id=TENANT, after=after)
        pages.append([event.event_id for event in told.events])
        assert told.cut == (told.next_after is not None)
        if told.next_after is None:
            break
        after = told.next_after
    assert [len(page) for page in pages] == [4, 4, 2]
    assert [each for page in pages for each in page] == ids


def test_what_an_event_caused_without_end_is_cut_and_said_to_be(happen, thing_happened):
    (event_id,) = happen(1)
    with transaction.atomic(), acting(causation_id=event_id):
        publish_many([thing_happened(thing_id=f"c{n}") for n in range(400)])
    told = journey_of(str(event_id), tenant_id=TENANT)
    assert len(told.events) == journey.MOST_EVENTS
    assert told.cut


def test_the_number_of_queries_does_not_grow(log, carry, happen):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            journey_of("t1", tenant_id=TENANT)
        return len(captured)

    log.trouble = {("t1", n): GiveUp("never") for n in range(20)}
    happen(0)
    carry()
    few = queries()
    happen(*range(1, 20))
    carry()
    assert queries() == few <= 6


def test_the_command_shows_a_table(log, carry, happen, capsys):
    (event_id,) = happen(1)
    carry()
    call_command("journey", str(event_id))
    shown = capsys.readouterr().out
    assert "Sent to its stream" in shown
    assert GROUP in shown
    with pytest.raises(CommandError, match="Nothing is known"):
        call_command("journey", "nothing")
