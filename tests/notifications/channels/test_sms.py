"""Text messages by Amazon SNS, as moto plays it."""

import httpx
import pytest

from apps.notifications.channels import Word, sms
from axiom.embedded.state import free_port


@pytest.fixture
def sns(settings, amazon, keys):
    settings.SMS_REGION, settings.SMS_ENDPOINT_URL = "us-east-1", amazon
    settings.NOTIFICATION_TIMEOUT_SECONDS = 2
    httpx.post(f"{amazon}/moto-api/reset")
    return amazon


def sent_to(amazon):
    data = httpx.get(f"{amazon}/moto-api/data.json").json()
    return str(data["sns"])


def test_a_text_message_reaches_the_phone(sns, message):
    outcome = sms.send(message())
    assert outcome.kind == "sent"
    assert outcome.peer_id


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
