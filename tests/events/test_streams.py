"""Streams in the console: how far groups are, what is in them, and whose it is."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import transaction

from apps.events import connections
from apps.events.bus.browse import StreamBrowser
from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.ids import uuid7
from apps.events.outbox import publish
from apps.events.relay import Relay
from apps.events.selectors import streams as looked
from apps.events.selectors.streams import LOOKED_AT, PAGE, Place, entries_of, streams_told

from .backbone import GROUP, Log, drain, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

EVENTS, URL = "axiom:events", "/admin/streams/"


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def carried(log, redis_bus, thing_happened):
    """Publishes things of a tenant and carries them into the stream; returns their event ids."""

    def carry(tenant, *numbers):
        with acting(tenant_id=tenant.pk, trace_id="c" * 32), transaction.atomic():
            ids = [
                publish(thing_happened(thing_id=f"{tenant.slug}-thing", number=n)) for n in numbers
            ]
        drain(Relay(redis_bus, "relay-1"))
        return ids

    return carry


@pytest.fixture
def platform(console_of, django_user_model, db):
    return console_of(django_user_model.objects.create_superuser("root@axiom.example", "x"))


def said(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200, path
    return answer.content.decode()


def page_of(name=EVENTS, entry=""):
    return f"{URL}{name}/" + (f"{entry}/" if entry else "")


class TestGroups:
    def test_lag_and_pending_are_the_servers_own(self, carried, acme, redis_bus, log):
        carried(acme, 1, 2, 3)
        redis_bus.read(GROUP, "w1", [EVENTS], 2, 0)
        told = next(each for each in streams_told() if each.name == EVENTS)
        group = next(each for each in told.groups if each.name == GROUP)
        assert (told.seen.length, group.seen.lag, group.seen.pending) == (3, 1, 2)
        ((reader, is_alive),) = group.consumers
        assert (reader.name, reader.pending, is_alive) == ("w1", 2, False)
        assert reader.idle_seconds >= 0

    def test_only_the_platform_is_told_which_machines_read(
        self, carried, acme, alice, console_of, platform, redis_bus
    ):
        carried(acme, 1)
        redis_bus.read(GROUP, "secret-host-1", [EVENTS], 1, 0)
        assert "secret-host-1" in said(platform, URL)
        theirs = said(console_of(alice), URL)
        assert GROUP in theirs
        assert "secret-host-1" not in theirs

    def test_no_stream_and_no_group_is_said(self, redis_client, platform):
        assert "No group reads this stream yet" in said(platform, URL)

    def test_the_page_costs_a_fixed_number_of_round_trips(self, carried, acme, redis_client):
        carried(acme, 1)
        browser = StreamBrowser(CountingRounds(redis_client))
        streams_told(browser)
        assert browser.client.rounds == 2


class CountingRounds:
    """A client that counts how often it speaks to the server."""

    def __init__(self, client):
        self.client, self.rounds = client, 0

    def pipeline(self, **options):
        self.rounds += 1
        return self.client.pipeline(**options)


class TestEntries:
    def test_the_newest_come_first_and_pages_go_both_ways(self, carried, acme, redis_client):
        carried(acme, *range(PAGE + 10))
        first = entries_of(EVENTS, tenant_id=None)
        assert [numbers(first)[0], numbers(first)[-1]] == [PAGE + 9, 10]
        second = entries_of(EVENTS, tenant_id=None, place=Place(below=first.older))
        assert numbers(second) == list(range(9, -1, -1))
        assert second.older == ""
        back = entries_of(EVENTS, tenant_id=None, place=Place(above=second.newer))
        assert numbers(back) == numbers(first)

    def test_a_page_looks_through_so_many_and_goes_on_from_there(self, redis_client, acme):
        self._fill(redis_client, acme, LOOKED_AT + 100)
        found = entries_of(EVENTS, tenant_id=None, event_type="RARE")
        assert (found.entries, found.looked_at) == ([], LOOKED_AT)
        more = entries_of(EVENTS, tenant_id=None, event_type="RARE", place=Place(below=found.older))
        assert [each.event_type for each in more.entries] == ["RARE"]
        assert (more.looked_at, more.older) == (100, "")

    def _fill(self, client, tenant, count):
        pipe = client.pipeline(transaction=False)
        for number in range(count):
            kind = "COMMON" if number else "RARE"
            pipe.xadd(EVENTS, {"event_type": kind, "tenant_id": str(tenant.pk), "payload": "{}"})
        pipe.execute()

    def test_a_type_is_chosen_on_the_page(self, carried, acme, platform, redis_client):
        carried(acme, 1)
        page = said(platform, page_of(), type="CASE_CREATED")
        assert "Nothing here" in page
        assert "acme-thing" not in page
        assert "acme-thing" in said(platform, page_of(), type="TEST_THING_HAPPENED")

    def test_a_moment_is_in_the_time_of_whoever_looks(self, redis_client, acme, alice, console_of):
        alice.timezone = "Asia/Seoul"
        alice.save()
        self._at(redis_client, acme, datetime(2026, 1, 5, 0, 30, 59, tzinfo=UTC), "early")
        self._at(redis_client, acme, datetime(2026, 1, 5, 0, 31, 0, tzinfo=UTC), "later")
        page = said(console_of(alice), page_of(), at="2026-01-05T09:30")
        assert "early" in page
        assert "later" not in page
        assert "2026-01-05 09:30:59" in page

    def _at(self, client, tenant, moment, thing):
        fields = {"event_type": "X", "tenant_id": str(tenant.pk), "aggregate_id": thing}
        client.xadd(EVENTS, fields, id=f"{int(moment.timestamp() * 1000)}-0")

    def test_an_event_is_found_by_its_id_and_by_that_of_its_entry(
        self, carried, acme, alice, console_of, redis_client
    ):
        (event_id,) = carried(acme, 1)
        entry_id = redis_client.xrange(EVENTS)[0][0].decode()
        client = console_of(alice)
        for name in (event_id, entry_id):
            answer = client.get(page_of(), {"id": str(name)})
            assert answer.headers["Location"] == page_of(entry=entry_id)

    def test_an_event_that_only_the_stream_remembers_is_found(self, redis_client, acme):
        event_id = uuid7()
        redis_client.xadd(EVENTS, {"event_id": str(event_id), "tenant_id": str(acme.pk)})
        found = looked.entry_of_event(EVENTS, event_id, tenant_id=acme.pk)
        assert found.event_id == event_id
        assert looked.entry_of_event(EVENTS, event_id, tenant_id=uuid4()) is None

    @pytest.mark.parametrize(
        "name", ["998d7cf5-0471-4ba6-ba7a-c67ea803e999", "1-1", "nothing", "1-", "9" * 40 + "-0"]
    )
    def test_an_id_that_nothing_has_leads_to_the_journey(self, name, platform, redis_client):
        assert "has no entry with the id" in said(platform, page_of(), id=name)

    def test_a_wrong_moment_is_told(self, platform, redis_client):
        assert "Enter a valid date" in said(platform, page_of(), at="yesterday")

    def test_an_entry_says_how_each_group_stands_to_it(
        self, carried, acme, alice, console_of, redis_bus
    ):
        carried(acme, 1)
        client, path = console_of(alice), self._only(redis_bus)
        assert "not read yet" in said(client, path)
        redis_bus.read(GROUP, "w9", [EVENTS], 1, 0)
        page = said(client, path)
        assert "and not finished" in page
        assert "w9" not in page

    def _only(self, bus):
        return page_of(entry=bus.client.xrange(EVENTS)[0][0].decode())

    def test_an_entry_that_was_handled_says_so(self, carried, acme, alice, console_of, redis_bus):
        carried(acme, 1)
        worker(redis_bus).step()
        assert "Done" in said(console_of(alice), self._only(redis_bus))

    def test_what_was_given_up_leads_to_its_letter(
        self, carried, acme, alice, console_of, redis_bus, log
    ):
        log.trouble = {("acme-thing", 1): GiveUp("no such case")}
        carried(acme, 1)
        worker(redis_bus).step()
        client = console_of(alice)
        assert "1 given up" in said(client, URL)
        assert "no such case" in said(client, page_of("axiom:events_dlq"))
        entry = redis_bus.client.xrange("axiom:events_dlq")[0][0].decode()
        assert "/admin/events/deadletter/" in said(client, page_of("axiom:events_dlq", entry))


def numbers(found):
    return [
        int(each.payload.split('"number":')[1].split(",")[0].strip(" }")) for each in found.entries
    ]


class TestWhose:
    @pytest.fixture
    def theirs(self, carried, acme, rival, redis_client):
        """The entry ids of Acme's event and of Rival's."""
        carried(acme, 1)
        carried(rival, 2)
        return [entry_id.decode() for entry_id, _fields in redis_client.xrange(EVENTS)]

    def test_everybody_sees_their_own_tenants(self, theirs, alice, charlie, console_of):
        ours, others = said(console_of(alice), page_of()), said(console_of(charlie), page_of())
        assert ("acme-thing" in ours, "rival-thing" in ours) == (True, False)
        assert ("acme-thing" in others, "rival-thing" in others) == (False, True)

    def test_another_tenants_entry_does_not_exist(self, theirs, charlie, console_of):
        client = console_of(charlie)
        assert client.get(page_of(entry=theirs[0])).status_code == 404
        assert client.get(page_of(entry=theirs[1])).status_code == 200
        assert "has no entry with the id" in said(client, page_of(), id=theirs[0])

    def test_who_runs_the_platform_sees_all_and_whose_they_are(self, theirs, platform, acme, rival):
        page = said(platform, page_of())
        assert str(acme.pk) in page
        assert str(rival.pk) in page

    def test_what_nobody_can_read_is_for_the_platform(
        self, theirs, redis_client, alice, console_of, platform
    ):
        redis_client.xadd(EVENTS, {"what": "\udcff".encode("utf-8", "surrogateescape")})
        assert "unreadable" in said(platform, page_of())
        assert "unreadable" not in said(console_of(alice), page_of())

    def test_what_people_say_to_each_other_is_for_admins(
        self, redis_client, acme, alice, bob, console_of
    ):
        fields = {"event_type": "CHAT", "tenant_id": str(acme.pk), "payload": '"psst"'}
        redis_client.xadd("axiom:chat", fields)
        assert "psst" in said(console_of(alice), page_of("axiom:chat"))
        assert console_of(bob).get(page_of("axiom:chat")).status_code == 403
        assert console_of(bob).get(page_of()).status_code == 200

    def test_nobody_looks_at_other_keys(self, redis_client, platform):
        redis_client.xadd("somebody:elses", {"a": "b"})
        assert platform.get(page_of("somebody:elses")).status_code == 404


@pytest.fixture
def redis_is_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    connections._redis_client.cache_clear()
    yield
    connections._redis_client.cache_clear()


@pytest.mark.parametrize("path", [URL, page_of(), page_of(entry="1-1")])
def test_redis_away_is_said(platform, redis_is_away, path):
    assert "Redis cannot be reached" in said(platform, path)
