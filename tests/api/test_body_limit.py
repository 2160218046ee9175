"""Too much is refused before it is read."""

import json

import pytest
from asgiref.sync import async_to_sync

from axiom.body_limit import BodyLimit


class Server:
    """Feeds a body in pieces and remembers how much was taken, and the answer."""

    def __init__(self, *pieces, announced=None):
        self.pieces, self.taken, self.sent = list(pieces), 0, []
        headers = [(b"content-length", str(announced).encode())] if announced is not None else []
        self.scope = {"type": "http", "path": "/api/v1/documents/", "headers": headers}

    async def receive(self):
        piece = self.pieces.pop(0)
        self.taken += len(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(self.pieces)}

    async def send(self, message):
        self.sent.append(message)

    def ask(self, limit):
        async_to_sync(BodyLimit(read_it_all, limit))(self.scope, self.receive, self.send)
        return self.sent[0]["status"]


async def read_it_all(scope, receive, send):
    while (await receive())["more_body"]:
        continue
    await send({"type": "http.response.start", "status": 200, "headers": []})


def test_what_fits_passes():
    assert Server(b"12345", b"67890", announced=10).ask(limit=10) == 200


def test_who_announces_too_much_is_refused_before_a_byte_is_read():
    server = Server(b"x" * 11, announced=11)
    assert server.ask(limit=10) == 413
    assert server.taken == 0
    problem = json.loads(server.sent[1]["body"])
    assert (problem["code"], problem["status"]) == ("too_large", 413)
    assert (b"content-type", b"application/problem+json") in server.sent[0]["headers"]


@pytest.mark.parametrize("announced", [None, 5])
def test_who_sends_more_is_stopped_on_the_way(announced):
    server = Server(*[b"x" * 6] * 100, announced=announced)
    assert server.ask(limit=10) == 413
    assert server.taken == 12
