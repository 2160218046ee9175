"""Text messages by Amazon SNS, as moto plays it."""

import httpx
import pytest

from apps.notifications.channels import Word, sms
from axiom.embedded.state import free_port
from tests.notifications.peers import Answer


@pytest.fixture
def sns(settings, amazon, keys):
    settings.SMS_REGION, settings.SMS_ENDPOINT_URL = "us-east-1", amazon
    settings.NOTIFICATION_TIMEOUT_SECONDS = 2
    httpx.post(f"{amazon}/moto-api/reset")
    return amazon


def test_a_text_message_reaches_the_phone(sns, message):
    outcome = sms.send(message())
    assert outcome.kind == "sent"
    kept = httpx.get(f"{sns}/moto-api/data.json").json()["sns"]
    assert outcome.peer_id in str(kept)
    assert "+821012345678" in str(kept)


def test_it_is_in_the_readers_language(message):
    text = sms.text_of(message(language="ko", level=1))
    assert text.startswith("[CRITICAL] 확인한 사람이 없음: Cash of")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_at_amazon_is_tried_again_by_us_and_by_nobody_else(
    sns, settings, peer, message, status
):
    settings.SMS_ENDPOINT_URL = f"http://127.0.0.1:{peer.port}"
    peer.answers = [Answer(status, "<ErrorResponse/>")] * 5
    assert sms.send(message()).kind == "again"
    assert len(peer.asked) == 1


def test_it_is_one_line_of_a_bearable_length(message):
    text = sms.text_of(message())
    assert text.startswith("[CRITICAL] Cash of 한빛섬유 <회생> & Co is low.")
    assert "\n" not in text
    assert len(sms.text_of(message(alerts=message().alerts, level=1))) <= sms.LONGEST


def test_a_word_to_the_team_fits_too(message):
    text = sms.text_of(message(word=Word("alice@acme.example", "Paid twice.")))
    assert text.startswith("[CRITICAL] For the team: Cash of 한빛섬유")
    assert "alice@acme.example: Paid twice." in text


def test_a_number_that_is_none_is_refused_for_good(sns, message):
    outcome = sms.send(message(phone="+1"))
    assert (outcome.kind, "InvalidParameter" in outcome.said) == ("never", True)


def test_amazon_away_is_tried_again(sns, settings, message):
    settings.SMS_ENDPOINT_URL = f"http://127.0.0.1:{free_port()}"
    assert sms.send(message()).kind == "again"


def test_without_a_region_there_are_no_text_messages(settings):
    settings.SMS_REGION = ""
    assert not sms.is_set_up()
