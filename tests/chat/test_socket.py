"""Sockets on a real server: said, heard, resumed, limited and ended."""

import os
import shutil
import signal
import threading
import time

import pytest

from apps.accounts.services import end_login
from apps.chat import services
from apps.chat.models import RoomMember
from apps.events import bus, handlers, healing, keys
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from tests.notifications.conftest import Listener, web_server
from tests.notifications.test_live import deaf_client
from tests.programs import eventually

from .conftest import Socket

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_one_says_all_hear_and_the_sender_learns_its_number(alice, alice_api, bob_api, enter):
    hers, his = enter(alice_api), enter(bob_api)
    hers.send("Hello", "c1")
    assert hers.hear("accepted")["data"] == {"client_id": "c1", "seq": 1}
    heard = his.hear("message")
    assert (heard["id"], heard["data"]["text"]) == (1, "Hello")
    assert heard["data"]["sender_id"] == str(alice.pk)


def test_all_hear_the_same_order_whoever_sends_wherever(alice_api, bob_api, enter):
    with web_server("daphne") as elsewhere:
        apis = [alice_api, bob_api, alice_api, bob_api]
        sockets = [enter(api) for api in apis[:2]]
        sockets += [enter(api, address=elsewhere) for api in apis[2:]]

        def talk(socket, name):
            for n in range(25):
                socket.send(f"{name} {n}", f"{name}-{n}")

        talkers = [threading.Thread(target=talk, args=(s, i)) for i, s in enumerate(sockets)]
        for each in talkers:
            each.start()
        heard = [[s.hear("message") for _ in range(100)] for s in sockets]
    assert [m["id"] for m in heard[0]] == list(range(1, 101))
    texts = [[m["data"]["text"] for m in each] for each in heard]
    assert texts[0] == texts[1] == texts[2] == texts[3]
    for name in range(4):
        own = [t for t in texts[0] if t.startswith(f"{name} ")]
        assert own == [f"{name} {n}" for n in range(25)]


def test_who_enters_hears_what_was_said_before_persisted_or_not(
    alice, alice_api, bob_api, say, carry, enter
):
    there = enter(bob_api)
    for n in range(3):
        say(alice, f"kept {n}")
    carry()
    say(alice, "not kept yet")
    there.texts(4)
    socket = enter(alice_api)
    assert socket.texts(4) == ["kept 0", "kept 1", "kept 2", "not kept yet"]
    say(alice, "now")
    assert socket.texts(1) == ["now"]


def test_a_socket_resumes_where_it_was(alice, alice_api, say, carry, enter):
    for n in range(1, 6):
        say(alice, str(n))
    carry()
    socket = enter(alice_api, after=3)
    say(alice, "6")
    assert socket.texts(3) == ["4", "5", "6"]


@pytest.mark.parametrize("after", [3, 17])
def test_who_has_everything_hears_only_what_is_new(alice, alice_api, say, carry, enter, after):
    for n in range(1, 4):
        say(alice, str(n))
    carry()
    socket = enter(alice_api, after=after)
    socket.send("4", "c4")
    assert socket.texts(1) == ["4"]
    socket.send("5", "c5")
    assert socket.texts(1) == ["5"]


def test_sent_again_after_a_lost_answer_it_is_the_same_message(alice_api, bob_api, enter):
    first, listener = enter(alice_api), enter(bob_api)
    first.send("Hello", "c1")
    listener.hear("message")
    first.close()
    second = enter(alice_api)
    second.send("Hello", "c1")
    assert second.hear("accepted")["data"]["seq"] == 1
    second.send("Next", "c2")
    assert listener.hear("message")["data"]["text"] == "Next"


def test_what_pub_sub_lost_is_found_and_told_in_order(alice, alice_api, room, say, enter, streams):
    socket = enter(alice_api)
    say(alice, "one")
    assert socket.texts(1) == ["one"]
    with streams.pipeline() as pipe:
        pipe.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        pipe.execute()
    for text in ("two", "three"):
        say(alice, text)
    assert socket.texts(2) == ["two", "three"]


def test_who_is_taken_out_of_a_room_is_cut_within_a_second(
    acme, alice, bob, alice_api, bob_api, room, enter
):
    his, hers = enter(bob_api), enter(alice_api)
    hers.send("Hello", "c1")
    his.hear("message")
    with acting(tenant_id=acme.pk):
        member = RoomMember.objects.get(room=room, user=bob)
        services.remove_from_room(member=member, by=alice)
    begin = time.monotonic()
    assert his.close_code() == 4003
    assert time.monotonic() - begin < 1
    hers.send("Still here", "c2")
    assert hers.hear("accepted")


def test_a_removal_nobody_announced_is_noticed_too(bob, bob_api, room, enter, streams):
    socket = enter(bob_api)
    eventually(lambda: streams.keys(keys.live_connections("chat:*")))
    RoomMember.across_tenants.filter(room=room, user=bob).delete()
    assert socket.close_code() == 4003


def test_ending_a_login_cuts_its_sockets(alice_api, enter):
    socket = enter(alice_api)
    end_login(login=alice_api.login_session)
    assert socket.close_code() == 4003


def test_strangers_are_told_that_there_is_no_such_room(charlie_api, enter):
    assert enter(charlie_api).close_code() == 4404


def test_the_fourth_socket_takes_the_place_of_the_oldest(alice_api, bob_api, enter):
    sockets = [enter(alice_api) for _ in range(3)]
    other = enter(bob_api)
    for n, socket in enumerate(sockets):
        socket.send("here", f"c{n}")
        socket.hear("accepted")
    sockets.append(enter(alice_api))
    assert sockets[0].close_code() == 4001
    sockets[1].send("still here", "c9")
    assert sockets[1].hear("accepted")
    other.send("me too", "c10")
    assert other.hear("accepted")


@pytest.mark.parametrize("sent", ["nonsense", "[]", '{"type": "send"}', '{"type": "read"}'])
def test_what_cannot_be_understood_is_refused_and_the_socket_stays(alice_api, enter, sent):
    socket = enter(alice_api)
    socket.wire.send(sent)
    assert socket.hear("refused")["data"]["code"] == "message_refused"
    socket.send("Hello", "c1")
    assert socket.hear("accepted")


def test_who_writes_too_fast_is_told_to_wait(alice_api, enter):
    socket = enter(alice_api)
    for n in range(120):
        socket.send("x", f"c{n}")
    assert socket.hear("refused")["data"]["code"] == "too_fast"


def test_reading_is_said_over_the_socket(acme, alice, bob, bob_api, room, say, enter):
    say(alice)
    socket = enter(bob_api)
    socket.hear("message")
    socket.wire.send('{"type": "read", "up_to": 1}')
    eventually(
        lambda: RoomMember.across_tenants.get(room=room, user=bob).read_up_to == 1, seconds=10
    )


def test_members_elsewhere_hear_of_it_on_their_stream_even_when_muted(
    server, acme, alice, bob, bob_api, alice_api, room, say, carry
):
    from apps.notifications.services import set_muted

    with acting(tenant_id=acme.pk):
        set_muted(user_id=bob.pk, muted=True)
    streams = [
        Listener(server, Authorization=api._credentials["HTTP_AUTHORIZATION"])
        for api in (bob_api, alice_api)
    ]
    eventually(lambda: all(each.status == 200 for each in streams))
    say(alice, "Hello")
    carry("chat_fanout")
    eventually(lambda: streams[0].of("chat"))
    (_, told) = streams[0].of("chat")[0]
    assert (told["room"], told["seq"], told["text"]) == ("Plan", 1, "Hello")
    assert streams[1].of("chat") == []
    for each in streams:
        each.close()


def test_who_does_not_read_is_cut_and_the_others_hear_on(
    server, acme, alice, alice_api, bob, bob_api, room, say, enter, streams
):
    hers = enter(alice_api)
    seats = keys.live_connections(f"chat:{room.pk}:{acme.pk}:{bob.pk}")
    with deaf_client(server, bob_api, f"/ws/chat/{room.pk}/"):
        eventually(lambda: streams.zcard(seats) == 1)
        said = 0
        while streams.zcard(seats):
            said = say(alice, "x" * 4_000)
            assert hers.hear("message")["id"] == said
            assert said < 10_000
    assert hers.is_accepted("Still here", "c1")


def test_sockets_live_through_a_loss_of_redis(own_redis, settings, acme, alice, bob, api_of):
    heal()
    with acting(tenant_id=acme.pk):
        room = services.open_room(name="Plan", by=alice, member_ids=[bob.pk])
    with web_server("uvicorn", redis_url=settings.REDIS_URL) as address:
        hers, his = (Socket(address, room, api_of(person)) for person in (alice, bob))
        assert hers.is_accepted("Before", "c1")
        assert his.texts(1) == ["Before"]
        persist_what_was_said()
        os.kill(own_redis._pid(), signal.SIGKILL)
        hers.send("Meanwhile", "c2")
        assert hers.hear("refused")["data"]["code"] == "chat_away"
        shutil.rmtree(own_redis.data / "appendonlydir")
        own_redis.start()
        heal()
        assert eventually(lambda: hers.is_accepted("Meanwhile", "c2"))
        assert hers.is_accepted("After", "c3")
        assert his.texts(2) == ["Meanwhile", "After"]
        assert hers.texts(3) == ["Before", "Meanwhile", "After"]
        for socket in (hers, his):
            socket.close()


def heal():
    """As the relay does: streams and groups, made anew where Redis has none."""
    healing.heal(bus.connect(), handlers.readers())


def persist_what_was_said():
    group = Consumer(GROUPS["chat_persist"], bus.connect(), "chat_persist-1")
    group.step()
    group._give_up_lease()


def test_daphne_carries_it_as_well(alice_api, bob_api, room, enter):
    with web_server("daphne") as address:
        his, hers = enter(bob_api, address=address), enter(alice_api)
        his.send("from the other server", "c1")
        assert hers.texts(1) == ["from the other server"]
