"""A message to send, and peers to send it to."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.notifications.channels import Address, Message, Told
from tests.notifications.peers import mail_peer, web_peer

TOLD = Told(
    id="018f2d1c-0000-7000-8000-00000000a1e7",
    event_type="CASH_LOW",
    severity="CRITICAL",
    sentence="Cash of 한빛섬유 <회생> & Co is low.",
    detected_at=datetime(2026, 3, 4, 15, 30, tzinfo=UTC),
    count=3,
    link="https://axiom.example/admin/watch/alert/1/change/",
    acknowledge_link="https://axiom.example/alerts/acknowledge/token/",
    facts={"balance": 5},
)
MESSAGE = Message(
    key="018f2d1c-0000-7000-8000-0000000de117",
    to=Address(email="alice@acme.example", name="Alice 김", phone="+821012345678"),
    alerts=(TOLD,),
    tenant="Acme",
    sent_at=datetime(2026, 3, 4, 15, 31, tzinfo=UTC),
    zone=ZoneInfo("Asia/Seoul"),
)


@pytest.fixture
def message():
    def make(**changes):
        address = {k: changes.pop(k) for k in ("url", "secrets", "phone") if k in changes}
        return replace(MESSAGE, to=replace(MESSAGE.to, **address), **changes)

    return make


@pytest.fixture
def peer(settings):
    settings.NOTIFICATION_LOOPBACK = True
    settings.NOTIFICATION_TIMEOUT_SECONDS = 1
    with web_peer() as web:
        yield web


@pytest.fixture
def mails(settings):
    with mail_peer() as mails:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", mails.port
        settings.EMAIL_TIMEOUT = 2
        yield mails


@pytest.fixture(scope="module")
def amazon():
    """Amazon's services, as moto plays them, on a port of this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def keys(monkeypatch):
    """Of nobody: moto asks for some."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
