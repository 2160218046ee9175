"""Numbers: in the order of acceptance, once each, never again."""

import threading

import pytest
from django.db import connection

from apps.chat import services
from apps.chat.errors import ChatAway, MessageRefused
from apps.chat.models import ChatMessage
from apps.chat.services import numbers
from apps.events import bus, handlers, healing, keys
from apps.events.context import acting
from apps.events.models import DeadLetter, InboxEntry
from tests.events.backbone import make_due

pytestmark = pytest.mark.django_db


def kept(room):
    rows = ChatMessage.across_tenants.filter(room=room).order_by("seq")
    return list(rows.values_list("seq", "text"))


def test_what_is_said_is_numbered_and_kept_in_that_order(alice, bob, room, say, carry):
    say(alice, "one")
    say(bob, "two")
    carry()
    assert kept(room) == [(1, "one"), (2, "two")]


@pytest.mark.django_db(transaction=True)
def test_senders_at_once_get_different_numbers_and_the_stream_has_them_in_order(
    acme, alice, bob, room, streams
):
    def write(person, name):
        with acting(tenant_id=acme.pk):
            for n in range(50):
                services.send_message(
                    room=room, sender_id=person.pk, client_id=f"{name}-{n}", text=f"{name} {n}"
                )
        connection.close()

    writers = [threading.Thread(target=write, args=(p, n)) for n, p in enumerate([alice, bob] * 3)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    entries = [fields[b"payload"] for _, fields in streams.xrange(keys.Stream.CHAT)]
    assert [int(p[len('{"seq":') : p.index(b",")]) for p in entries] == list(range(1, 301))
    of_first = [p for p in entries if b'"message":"0 ' in p]
    assert [b'"message":"0 %d"' % n in p for n, p in enumerate(of_first)] == [True] * 50


def test_a_message_sent_again_is_the_same_message(alice, bob, room, say, carry, streams):
    assert say(alice, "once", client_id="x") == say(alice, "once", client_id="x") == 1
    assert say(bob, "another's x", client_id="x") == 2
    assert streams.xlen(keys.Stream.CHAT) == 2
    carry()
    assert kept(room) == [(1, "once"), (2, "another's x")]


def test_redis_is_granted_numbers_block_by_block(alice, room, say, monkeypatch):
    monkeypatch.setattr(numbers, "BLOCK", 3)
    assert [say(alice) for _ in range(8)] == list(range(1, 9))
    room.refresh_from_db()
    assert room.granted_to == 9


def test_after_redis_lost_its_data_no_number_is_given_again(
    alice, room, say, carry, streams, monkeypatch
):
    monkeypatch.setattr(numbers, "BLOCK", 10)
    say(alice, "persisted", client_id="a")
    carry()
    say(alice, "accepted, and lost with Redis", client_id="b")
    streams.flushdb()
    healing.heal(bus.connect(), handlers.readers())
    assert say(alice, "after the loss", client_id="c") == 11
    # Known from PostgreSQL, though Redis has forgotten it.
    assert say(alice, "persisted", client_id="a") == 1
    carry()
    assert kept(room) == [(1, "persisted"), (11, "after the loss")]


def test_a_grant_that_comes_late_takes_nothing_back(alice, room, say, streams):
    say(alice)
    state = keys.chat_room(str(room.pk))
    for grant in ((2_000, 3_000), (1_000, 2_000)):
        streams.eval(numbers._HAND_OVER, 1, state, *grant)
    assert say(alice) == 2_001
    assert streams.hget(state, "limit") == b"3000"


def test_while_the_streams_are_lost_nothing_is_accepted(alice, room, say, streams):
    streams.delete(keys.Stream.CHAT)
    with pytest.raises(ChatAway):
        say(alice)
    assert not streams.exists(keys.Stream.CHAT)


@pytest.mark.parametrize("text", ["", "   ", "x" * 4_001, "a\x00b", "\ud800"])
def test_what_cannot_be_kept_is_refused(alice, room, say, text):
    with pytest.raises(MessageRefused):
        say(alice, text)


def test_a_number_that_another_message_has_becomes_a_dead_letter_and_stops_no_other_room(
    acme, alice, bob, room, say, carry, settings
):
    settings.EVENTS_RETRY_SECONDS = (0, 0)
    with acting(tenant_id=acme.pk):
        other = services.open_room(name="Other", by=alice)
    ChatMessage.across_tenants.create(
        id="018f2d1c-0000-7000-8000-0000000000ff", tenant=acme, room=room, seq=1, sender=bob,
        client_id="taken", text="was here first", sent_at="2026-01-05T09:00:00Z",
    )  # fmt: skip
    say(alice, "has its number")
    say(alice, "elsewhere", where=other)
    for _ in range(4):
        carry()
        make_due()
    assert kept(other) == [(1, "elsewhere")]
    assert kept(room) == [(1, "was here first")]
    letter = DeadLetter.objects.get()
    assert (letter.group, letter.error_type) == ("chat_persist", "IntegrityError")
    assert letter.attempts == 3


def test_what_was_said_in_a_room_that_is_gone_is_not_kept(acme, alice, room, say, carry):
    say(alice)
    with acting(tenant_id=acme.pk):
        services.close_room(room=room, by=alice)
    carry()
    assert not ChatMessage.across_tenants.exists()
    assert InboxEntry.objects.filter(group="chat_persist").count() == 1
    assert not DeadLetter.objects.exists()


def test_many_are_kept_in_one_statement(alice, room, say, carry, django_assert_max_num_queries):
    for n in range(60):
        say(alice, str(n))
    with django_assert_max_num_queries(25):
        carry(steps=1)
    assert len(kept(room)) == 60
