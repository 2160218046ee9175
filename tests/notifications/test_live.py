"""Streams on real servers: what is told, resumed, limited and ended."""

import json
import os
import signal

import pytest
from django.db import connection
from websockets.sync.client import connect

from apps.accounts.services import end_login
from apps.events import keys
from apps.events.context import acting
from apps.notifications.services import set_muted
from apps.notifications.services.push import Frame, push
from axiom.embedded import Valkey
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


def test_streams_live_through_a_loss_of_redis(alice, alice_api, tell, listen, tmp_path):
    valkey = Valkey(tmp_path)
    with web_server(redis_url=valkey.start()) as address:
        stream = listen(address, alice_api)
        os.kill(valkey._pid(), signal.SIGKILL)
        eventually(lambda: stream.of("degraded"))
        tell(alice, title="Meanwhile")
        eventually(lambda: stream.numbers() == [1])
        valkey.start()
        eventually(lambda: stream.of("resync"))
        assert not stream.ended.is_set()
    valkey.stop()


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
