"""Real peers on loopback: a web server that answers as it is told, and one for mail."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller

from axiom.embedded.state import free_port


@dataclass
class Answer:
    status: int = 200
    body: str = "ok"
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    dribbles: bool = False


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Web:
    """What it was asked, and what it answers: the next of `answers`, or 200."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []
        self.closing = threading.Event()

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if self.answers else Answer()


@contextlib.contextmanager
def web_peer() -> Iterator[Web]:
    web = Web()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(web))
    server.daemon_threads = True
    web.port = server.server_address[1]
    web.url = f"http://127.0.0.1:{web.port}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.closing.set()
        server.shutdown()
        server.server_close()


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            web.asked.append(Asked(self.path, headers, body))
            answer = web.next_answer()
            if answer.hangs:
                web.closing.wait(30)
                return
            self._dribble() if answer.dribbles else self._answer(answer)

        def _answer(self, answer):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body.encode())

        def _dribble(self):
            """A byte now and then: no single read ever times out."""
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not web.closing.wait(0.1):
                    self.wfile.write(b"a")
                    self.wfile.flush()

        do_GET = do_POST

        def log_message(self, *arguments):
            """Quietly."""

    return Handler


class Mails:
    """What a mail server got; `refuse` says what it answers to a recipient instead."""

    def __init__(self) -> None:
        self.got = []
        self.refuse = ""

    async def handle_RCPT(self, server, session, envelope, address, options):
        if self.refuse:
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.got.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


@contextlib.contextmanager
def mail_peer() -> Iterator[Mails]:
    mails = Mails()
    controller = Controller(mails, hostname="127.0.0.1", port=free_port())
    controller.start()
    mails.port = controller.port
    try:
        yield mails
    finally:
        controller.stop()


def elapsed(began: float) -> float:
    return time.monotonic() - began
