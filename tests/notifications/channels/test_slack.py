"""Slack, played by a web server on loopback."""

import time
from dataclasses import replace

import pytest

from apps.notifications.channels import Word, slack
from axiom.embedded.state import free_port
from tests.notifications.peers import Answer, elapsed

from .conftest import MESSAGE


def test_the_blocks_have_the_colour_of_the_severity_and_a_button(peer, message):
    assert slack.send(message(url=peer.url)).kind == "sent"
    posted = peer.asked[0].json
    (attachment,) = posted["attachments"]
    assert attachment["color"] == slack.COLOURS["CRITICAL"]
    section, context, actions = attachment["blocks"]
    assert section["text"]["text"] == "Cash of 한빛섬유 &lt;회생&gt; &amp; Co is low."
    assert "CASH_LOW" in context["elements"][0]["text"]
    assert [each["url"] for each in actions["elements"]] == [
        MESSAGE.alert.acknowledge_link,
        MESSAGE.alert.link,
    ]


def test_a_word_to_the_team_stands_above_the_alert_and_calls_nobody(peer, message):
    slack.send(message(url=peer.url, word=Word("alice@acme.example", "<!channel> Paid twice.")))
    posted = peer.asked[0].json
    assert posted["text"].startswith("[CRITICAL] For the team: Cash")
    said = posted["attachments"][0]["blocks"][0]["text"]["text"]
    assert said == "alice@acme.example: &lt;!channel&gt; Paid twice."


def test_a_title_cannot_call_everybody(peer, message):
    told = replace(MESSAGE.alert, sentence="<!channel> look")
    slack.send(message(url=peer.url, alerts=(told,)))
    assert "<!" not in peer.asked[0].body.decode()


def test_an_address_that_many_read_has_no_button_of_one_person(peer, message):
    told = replace(MESSAGE.alert, acknowledge_link="")
    slack.send(message(url=peer.url, alerts=(told,)))
    (attachment,) = peer.asked[0].json["attachments"]
    assert [b["url"] for b in attachment["blocks"][2]["elements"]] == [MESSAGE.alert.link]


def test_it_is_in_the_readers_language(peer, message):
    slack.send(message(url=peer.url, language="ko"))
    (attachment,) = peer.asked[0].json["attachments"]
    assert [each["text"]["text"] for each in attachment["blocks"][2]["elements"]] == [
        "확인",
        "Axiom에서 열기",
    ]
    assert "2026년 3월 5일" in attachment["blocks"][1]["elements"][0]["text"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_pause_that_slack_asks_for_is_told(peer, message, status):
    peer.answers = [Answer(status, "rate_limited", {"Retry-After": "42"})]
    outcome = slack.send(message(url=peer.url))
    assert (outcome.kind, outcome.after) == ("again", 42)
    assert len(peer.asked) == 1  # slack_sdk tries nothing again by itself


@pytest.mark.parametrize(
    ("status", "kind"), [(500, "again"), (503, "again"), (404, "never"), (400, "never")]
)
def test_trouble_at_slack_is_told_from_a_refusal(peer, message, status, kind):
    peer.answers = [Answer(status, "no_service")]
    outcome = slack.send(message(url=peer.url))
    assert (outcome.kind, outcome.said) == (kind, f"{status} no_service")


def test_who_hangs_is_given_up_on_in_time(peer, message):
    peer.answers, began = [Answer(hangs=True)], time.monotonic()
    assert slack.send(message(url=peer.url)).kind == "again"
    assert elapsed(began) < 5


def test_who_is_away_is_tried_again(peer, message):
    assert slack.send(message(url=f"http://127.0.0.1:{free_port()}/")).kind == "again"


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.slack.com.evil.example/services/1",
        "http://hooks.slack.com/services/1",
        "https://evil.example/hooks.slack.com",
        "https://hooks.slack.com@evil.example/",
    ],
)
def test_no_other_address_is_asked(message, url):
    assert slack.send(message(url=url)).kind == "never"
