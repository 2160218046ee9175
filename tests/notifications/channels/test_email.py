"""Mail to a real SMTP server, and to Amazon SES as moto plays it."""

import boto3
import httpx
import pytest

from apps.notifications.channels import Word, email
from axiom.embedded.state import free_port
from tests.notifications.peers import Answer

from .conftest import MESSAGE


def test_a_mail_says_it_in_text_and_html(mails, message):
    assert email.send(message()).kind == "sent"
    (mail,) = mails.got
    assert mail["Subject"].strip() == "[CRITICAL] Cash of 한빛섬유 <회생> & Co is low."
    assert mail["To"].addresses[0].addr_spec == "alice@acme.example"
    assert mail["Auto-Submitted"] == "auto-generated"
    text = mail.get_body(("plain",)).get_content()
    html = mail.get_body(("html",)).get_content()
    assert "Cash of 한빛섬유 <회생> & Co is low." in text
    assert "Cash of 한빛섬유 &lt;회생&gt; &amp; Co is low." in html
    for part in (text, html):
        assert "https://axiom.example/alerts/acknowledge/token/" in part


def test_the_clock_is_the_readers(mails, message):
    email.send(message())
    assert "March 5, 2026, 12:30 a.m." in mails.got[0].get_body(("plain",)).get_content()


def test_it_is_in_the_readers_language(mails, message):
    email.send(message(language="ko", level=1))
    (mail,) = mails.got
    assert mail["Subject"].strip().startswith("[CRITICAL] 확인한 사람이 없음: Cash")
    for part in ("plain", "html"):
        words = mail.get_body((part,)).get_content()
        assert "Axiom에서 열기" in words
        assert "2026년 3월 5일" in words


def test_a_repeat_has_the_same_message_id(mails, message):
    email.send(message())
    email.send(message())
    assert {mail["Message-ID"] for mail in mails.got} == {f"<{MESSAGE.key}@localhost>"}


def test_an_escalation_and_a_digest_say_what_they_are(mails, message):
    email.send(message(level=1))
    email.send(message(is_digest=True, alerts=MESSAGE.alerts * 2))
    assert mails.got[0]["Subject"].strip().startswith("[CRITICAL] Nobody has acknowledged: Cash")
    assert mails.got[1]["Subject"] == "2 alerts in Acme"


def test_a_word_to_the_team_says_who_says_what(mails, message):
    email.send(message(word=Word("alice@acme.example", "Paid <twice>.")))
    (mail,) = mails.got
    assert mail["Subject"].strip().startswith("[CRITICAL] For the team: Cash")
    text = mail.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert text.startswith("alice@acme.example tells the team of this alert.\n\nPaid <twice>.\n")
    assert "<p>Paid &lt;twice&gt;.</p>" in mail.get_body(("html",)).get_content()


def test_a_line_break_in_a_text_makes_no_header(mails, message):
    from dataclasses import replace

    told = replace(MESSAGE.alert, sentence="Low\r\nBcc: eve@evil.example")
    assert email.send(message(alerts=(told,))).kind == "sent"
    assert mails.got[0]["Subject"] == "[CRITICAL] Low Bcc: eve@evil.example"
    assert mails.got[0]["Bcc"] is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("550 no such user", "never"),
        ("451 try later", "again"),
        ("452 too many recipients", "again"),
        ("535 authentication failed", "again"),
    ],
)
def test_a_refusal_for_good_is_told_from_one_for_now(mails, message, answer, kind):
    mails.refuse = answer
    outcome = email.send(message())
    assert (outcome.kind, answer[:3] in outcome.said) == (kind, True)


def test_a_server_that_is_away_is_tried_again(settings, mails, message):
    settings.EMAIL_PORT = free_port()
    assert email.send(message()).kind == "again"


@pytest.fixture
def ses(settings, amazon, keys):
    settings.EMAIL_BACKEND = "anymail.backends.amazon_ses.EmailBackend"
    place = {"region_name": "us-east-1", "endpoint_url": amazon}
    known = settings.ANYMAIL["AMAZON_SES_CLIENT_PARAMS"]
    settings.ANYMAIL = {"AMAZON_SES_CLIENT_PARAMS": known | place}
    httpx.post(f"{amazon}/moto-api/reset")
    return boto3.client("sesv2", **place)


def test_amazon_takes_a_mail_of_a_sender_it_knows(ses, message, amazon):
    ses.create_email_identity(EmailIdentity="axiom@localhost")
    outcome = email.send(message())
    assert outcome.kind == "sent"
    kept = httpx.get(f"{amazon}/moto-api/data.json").json()["ses"]["RawMessage"]
    assert outcome.peer_id in str(kept)


def test_amazon_refuses_a_sender_it_does_not_know(ses, message):
    outcome = email.send(message())
    assert outcome.kind == "never"
    assert "MessageRejected" in outcome.said


@pytest.mark.parametrize("status", [429, 500])
def test_trouble_at_amazon_is_tried_again_by_us_and_by_nobody_else(
    ses, settings, peer, message, status
):
    known = settings.ANYMAIL["AMAZON_SES_CLIENT_PARAMS"]
    settings.ANYMAIL = {"AMAZON_SES_CLIENT_PARAMS": known | {"endpoint_url": peer.url}}
    peer.answers = [Answer(status, "{}")] * 5
    assert email.send(message()).kind == "again"
    assert len(peer.asked) == 1
