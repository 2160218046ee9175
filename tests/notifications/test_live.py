"""Streams on real servers: what is told, resumed, limited and ended."""

import json
import os
import shutil
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from django.db import connection
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from apps.accounts.services import end_login
from apps.events import keys
from apps.events.context import acting
from apps.notifications.services import set_muted
from apps.notifications.services.push import Frame, push
from apps.notifications.services.tickets import redeem_ticket
from tests.programs import eventually

from .conftest import Listener, web_server

pytestmark = pytest.mark.django_db(transaction=True)


# One process for all tests of a kind: starting it takes longer than any of them.
@pytest.fixture(scope="module")
def daphne_process(django_db_setup):
    with web_server("daphne") as address:
        yield address


@pytest.fixture(scope="module")
def uvicorn_process(django_db_setup):
    with web_server("uvicorn") as address:
        yield address


@pytest.fixture
def daphne(daphne_process, redis_client):
    return daphne_process


@pytest.fixture(params=["daphne", "uvicorn"])
def server(request, redis_client):
    return request.getfixturevalue(f"{request.param}_process")


def test_a_listener_hears_the_newest_unread_and_then_what_happens(
    server, alice, alice_api, tell, listen
):
    for n in range(12):
        tell(alice, title=f"Before {n}")
    stream = listen(server, alice_api)
    eventually(lambda: len(stream.numbers()) == 10)
    tell(alice, title="Now")
    eventually(lambda: stream.numbers()[-1] == 13)
    assert stream.numbers() == list(range(3, 14))
    assert stream.of("notification")[-1][1]["title"] == "Now"


def test_a_listener_resumes_where_it_was_and_hears_nothing_twice(
    server, alice, alice_api, tell, listen
):
    for _ in range(5):
        tell(alice)
    stream = listen(server, alice_api, **{"Last-Event-ID": "2"})
    tell(alice)
    eventually(lambda: len(stream.numbers()) >= 4)
    assert stream.numbers() == [3, 4, 5, 6]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/notifications/stream", "/api/v1/events/stream", "/api/notifications/stream"],
)
def test_each_name_of_the_stream_opens_it(server, alice, alice_api, tell, path):
    tell(alice)
    stream = Listener(server, path, Authorization=alice_api._credentials["HTTP_AUTHORIZATION"])
    eventually(lambda: stream.numbers() == [1])
    assert stream.response.headers["content-type"] == "text/event-stream"
    assert stream.response.headers["cache-control"] == "no-store"
    stream.close()


def test_open_streams_hold_no_thread_and_no_session_of_the_database(
    server, acme, alice_api, member_of, api_of, redis_client, listen
):
    listen(server, alice_api)
    eventually(lambda: _seats(redis_client) == 1)
    before = _held(server)
    people = [member_of(acme, f"person{n}", "viewer") for n in range(20)]
    tokens = [api_of(person)._credentials["HTTP_AUTHORIZATION"] for person in people] * 3
    wires = [_asking(server, token) for token in tokens]
    seats = [keys.live_connections(f"{acme.pk}:{person.pk}") for person in people]
    eventually(lambda: [redis_client.zcard(each) for each in seats] == [3] * 20)
    # Four threads open the doors, with a session each while they do.
    threads, sessions = (now - then for now, then in zip(_held(server), before, strict=True))
    assert (threads <= 4, sessions <= 4) == (True, True), (threads, sessions)
    token = {"Authorization": tokens[0]}
    assert (
        httpx.get(f"{server}/api/v1/notifications/", headers=token, timeout=20).status_code == 200
    )
    for wire in wires:
        wire.close()
    eventually(lambda: not any(redis_client.zcard(each) for each in seats))


def _held(address):
    """The threads of a server, and all sessions of the database it works with."""
    port = urlsplit(address).port
    listening = (each for each in psutil.net_connections("tcp4") if each.status == "LISTEN")
    (pid,) = {each.pid for each in listening if each.laddr.port == port}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return psutil.Process(pid).num_threads(), cursor.fetchone()[0]


@pytest.mark.parametrize("place", ["9" * 5_000, "-1", "nonsense", "\u0663"])
def test_a_place_that_is_none_of_ours_is_as_good_as_none(daphne, alice, alice_api, tell, place):
    tell(alice)
    stream = Listener(
        daphne,
        f"/api/v1/notifications/stream?after={place}",
        Authorization=alice_api._credentials["HTTP_AUTHORIZATION"],
    )
    eventually(lambda: stream.numbers() == [1])
    stream.close()


def test_what_redis_never_got_is_told_from_the_database(daphne, alice, alice_api, tell, listen):
    stream = listen(daphne, alice_api)
    tell(alice)
    eventually(lambda: stream.numbers() == [1])
    # Committed, but its process died before it pushed.
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifications_notification (id, tenant_id, recipient_id, number, occasion,"
            " kind, severity, title, body, link, facts, created_at)"
            " SELECT gen_random_uuid(), tenant_id, recipient_id, 2, 'x', kind, '', 'Missed', '', '',"
            " '{}', now() FROM notifications_notification"
        )
        cursor.execute("UPDATE notifications_mailbox SET last_number = 2")
    eventually(lambda: stream.numbers() == [1, 2])


def test_the_fourth_stream_of_a_person_takes_the_place_of_the_oldest(
    daphne, uvicorn_process, alice_api, listen, redis_client
):
    streams = []
    for address in (daphne, uvicorn_process, daphne, uvicorn_process, daphne):
        streams.append(listen(address, alice_api))
        eventually(lambda: _seats(redis_client) == min(len(streams), 3))
    eventually(lambda: streams[0].ended.is_set() and streams[1].ended.is_set())
    assert [each.ended.is_set() for each in streams] == [True, True, False, False, False]
    assert streams[0].heard[-1] == ("evicted", "bye", {"reason": "evicted"})
    assert listen(daphne, alice_api, **{"Last-Event-ID": "evicted"}).status == 204
    assert not any(each.ended.is_set() for each in streams[2:])


def _seats(redis_client):
    names = redis_client.keys(keys.live_connections("*"))
    return redis_client.zcard(names[0]) if names else 0


def test_a_dead_process_leaves_no_ghosts_in_the_seats(
    daphne, acme, alice, alice_api, listen, redis_client
):
    seats = keys.live_connections(f"{acme.pk}:{alice.pk}")
    redis_client.zadd(seats, {"dead:1": 1, "dead:2": 2, "dead:3": 3})
    listen(daphne, alice_api)
    eventually(lambda: redis_client.zcard(seats) == 1)


def test_who_lost_a_seat_unheard_learns_of_it_after_the_ear_is_back(
    daphne, acme, alice, alice_api, listen, redis_client
):
    stream = listen(daphne, alice_api)
    seats = keys.live_connections(f"{acme.pk}:{alice.pk}")
    eventually(lambda: redis_client.zcard(seats) == 1)
    # Three newer ones sat down elsewhere, and the word of it was lost.
    newer = {f"other:{n}": time.time() + n for n in range(3)}
    with redis_client.pipeline() as pipe:
        pipe.zadd(keys.LIVE_PROCESSES, {"other": time.time() + 60})
        pipe.delete(seats).zadd(seats, newer)
        pipe.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        pipe.execute()
    assert stream.ended.wait(10)
    assert stream.heard[-1][:2] == ("evicted", "bye")
    assert {name.decode() for name in redis_client.zrange(seats, 0, -1)} == set(newer)


@pytest.mark.parametrize("path", ["/api/v1/notifications/stream", "/ws/alerts/"])
def test_who_does_not_read_is_cut_for_good(
    uvicorn_process, acme, alice, alice_api, redis_client, path
):
    seats = keys.live_connections(f"{acme.pk}:{alice.pk}")
    with deaf_client(uvicorn_process, alice_api, path) as deaf:
        eventually(lambda: redis_client.zcard(seats) == 1)
        frame = Frame("chat", {"text": "x" * 20_000}, {str(alice.pk): None})
        megabytes = count()

        def is_cut_after_more() -> bool:
            push(acme.pk, [frame] * 50)
            # The buffers of two sockets, and ours.
            assert next(megabytes) < 60
            return redis_client.zcard(seats) == 0

        eventually(is_cut_after_more)
        eventually(lambda: deaf.getsockname() not in _peers_of(uvicorn_process), seconds=5)


def deaf_client(address, api, path):
    """Asks for a stream or a socket, and reads nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((urlsplit(address).hostname, urlsplit(address).port))
    token = api._credentials["HTTP_AUTHORIZATION"]
    head = f"Host: {urlsplit(address).netloc}\r\nAuthorization: {token}"
    if path.startswith("/ws/"):
        head += f"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{_WEBSOCKET}"
    client.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())
    return client


_WEBSOCKET = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ=="


def _peers_of(address):
    """Whom the server still holds a socket to."""
    port = urlsplit(address).port
    held = (each for each in psutil.net_connections("tcp4") if each.pid and each.raddr)
    return {tuple(each.raddr) for each in held if each.laddr.port == port}


def test_while_the_database_is_away_readers_are_told_a_problem(alice_api):
    token = alice_api._credentials["HTTP_AUTHORIZATION"]
    with web_server("uvicorn", database_url="postgres://nobody@127.0.0.1:9/nothing") as address:
        refused = Listener(address, Authorization=token)
        assert refused.status == 503
        assert refused.response.headers["content-type"] == "application/problem+json"
        assert refused.response.headers["retry-after"]
        with connect(
            address.replace("http", "ws") + "/ws/alerts/",
            additional_headers={"Authorization": token},
        ) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=20)
            assert closed.value.rcvd.code == 4503


def test_ending_a_login_ends_its_streams(server, alice_api, bob_api, listen):
    mine, his = listen(server, alice_api), listen(server, bob_api)
    end_login(login=alice_api.login_session)
    assert mine.ended.wait(5)
    assert mine.heard[-1][:2] == ("revoked", "bye")
    assert not his.ended.is_set()


def test_a_new_password_ends_streams_even_when_nobody_announces_it(
    daphne, alice, alice_api, listen
):
    stream = listen(daphne, alice_api)
    alice.set_password("something else entirely")
    alice.save()
    assert stream.ended.wait(5)


def test_notifications_off_silences_notifications_and_never_chat(
    daphne, acme, alice, alice_api, tell, listen
):
    stream = listen(daphne, alice_api)

    def hears_a_notification() -> bool:
        """Chat comes after it on the same way: when chat is here, it would be too."""
        heard, chats = len(stream.numbers()), len(stream.of("chat"))
        tell(alice)
        push(acme.pk, [Frame("chat", {"text": "hello"}, {str(alice.pk): None})])
        eventually(lambda: len(stream.of("chat")) > chats)
        return len(stream.numbers()) > heard

    assert hears_a_notification()
    with acting(tenant_id=acme.pk):
        set_muted(user_id=alice.pk, muted=True)
        eventually(lambda: not hears_a_notification())
        assert not hears_a_notification()
        set_muted(user_id=alice.pk, muted=False)
    eventually(hears_a_notification)


def test_a_ticket_is_good_for_thirty_seconds_and_for_one_of_many(alice_api, redis_client):
    ticket = alice_api.post("/api/v1/notifications/tickets/").json()
    assert ticket["expires_in"] == 30
    (key,) = redis_client.keys(keys.live_ticket("*"))
    assert 29_000 < redis_client.pttl(key) <= 30_000
    assert ticket["ticket"] not in key.decode()
    with ThreadPoolExecutor(8) as hands:
        found = list(hands.map(redeem_ticket, [ticket["ticket"]] * 8))
    assert sorted(map(str, found)) == sorted([str(alice_api.login_session.pk), *["None"] * 7])


def test_a_ticket_opens_one_stream(daphne, alice_api):
    ticket = alice_api.post("/api/v1/notifications/tickets/").json()["ticket"]
    path = f"/api/v1/notifications/stream?ticket={ticket}"
    first, second = Listener(daphne, path), Listener(daphne, path)
    assert (first.status, second.status) == (200, 401)
    first.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer nonsense"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 400),
    ],
)
def test_strangers_are_told_a_problem(daphne, headers, status):
    stranger = Listener(daphne, **headers)
    assert stranger.status == status
    assert stranger.response.headers["content-type"] == "application/problem+json"


def test_what_is_for_everybody_reaches_one_tenant_alone(
    daphne, acme, alice_api, charlie_api, listen
):
    ours, theirs = listen(daphne, alice_api), listen(daphne, charlie_api)
    eventually(lambda: ours.status == theirs.status == 200)
    push(acme.pk, [Frame("metadata.table.added", {"table": "orders"})])
    eventually(lambda: ours.of("metadata.table.added"))
    assert not theirs.of("metadata.table.added")


@pytest.mark.parametrize("comes_back", ["as it was", "empty"])
def test_streams_live_through_a_loss_of_redis_and_miss_nothing(
    own_redis, settings, alice, bob, alice_api, bob_api, tell, listen, comes_back
):
    with web_server("uvicorn", redis_url=settings.REDIS_URL) as address:
        streams = [listen(address, api) for api in (alice_api, alice_api, bob_api)]
        tell(alice, bob, title="Before")
        eventually(lambda: all(each.numbers() == [1] for each in streams))
        os.kill(own_redis._pid(), signal.SIGKILL)
        eventually(lambda: all(each.of("degraded") for each in streams))
        tell(alice, bob, title="Meanwhile")
        eventually(lambda: all(each.numbers() == [1, 2] for each in streams))
        if comes_back == "empty":
            shutil.rmtree(own_redis.data / "appendonlydir")
        own_redis.start()
        eventually(lambda: all(each.of("resync") for each in streams))
        tell(alice, bob, title="After")
        eventually(lambda: all(each.numbers() == [1, 2, 3] for each in streams))
        assert not any(each.ended.is_set() for each in streams)
    for api in (alice_api, bob_api):
        inbox = api.get("/api/v1/notifications/").json()["results"]
        assert [row["title"] for row in inbox] == ["After", "Meanwhile", "Before"]


def test_a_web_socket_carries_the_same(server, alice, alice_api, tell):
    token = alice_api._credentials["HTTP_AUTHORIZATION"]
    tell(alice, title="Before")
    with connect(
        server.replace("http", "ws") + "/ws/alerts/",
        additional_headers={"Authorization": token},
        origin=None,
    ) as socket:
        first = _json(socket)
        tell(alice, title="Now")
        second = _json(socket)
    assert [(m["event"], m["id"], m["data"]["title"]) for m in (first, second)] == [
        ("notification", 1, "Before"),
        ("notification", 2, "Now"),
    ]


def _json(socket):
    """The next that is not a ping."""
    message = {"event": "ping"}
    while message["event"] == "ping":
        message = json.loads(socket.recv(timeout=20))
    return message


@pytest.mark.timeout(120)
def test_many_who_come_and_go_at_once_are_not_taken_for_a_loss_of_redis(
    uvicorn_process, acme, alice_api, member_of, api_of, redis_client, listen
):
    stays = listen(uvicorn_process, alice_api)
    people = [member_of(acme, f"person{n}", "viewer") for n in range(50)]
    tokens = [api_of(person)._credentials["HTTP_AUTHORIZATION"] for person in people] * 3
    wires = [_asking(uvicorn_process, token) for token in tokens]
    seats = [keys.live_connections(f"{acme.pk}:{person.pk}") for person in people]
    eventually(lambda: [redis_client.zcard(each) for each in seats] == [3] * 50)
    for wire in wires:
        wire.close()
    eventually(lambda: not any(redis_client.zcard(each) for each in seats))
    push(acme.pk, [Frame("word", {})])
    eventually(lambda: stays.of("word"))
    assert not stays.of("degraded")


def _asking(address, token):
    """A stream that was asked for, all at the same time as others."""
    wire = socket.create_connection((urlsplit(address).hostname, urlsplit(address).port))
    head = f"Host: {urlsplit(address).netloc}\r\nAuthorization: {token}"
    wire.sendall(f"GET /api/v1/notifications/stream HTTP/1.1\r\n{head}\r\n\r\n".encode())
    return wire
