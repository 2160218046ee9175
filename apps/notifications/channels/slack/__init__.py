"""To Slack, by an incoming webhook: blocks with the colour of the severity."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from slack_sdk.webhook import WebhookClient

from ..message import Address, Message, Outcome, Told, Word, again, answered, never

# Slack knows no key: what is sent twice is shown twice.
REPEATABLE = False
COLOURS = {"LOW": "#2f81c7", "MEDIUM": "#d9a514", "HIGH": "#e0701a", "CRITICAL": "#c62828"}
LONGEST = 2_900
"""Slack refuses a text of more than 3,000 characters."""


def is_set_up() -> bool:
    return True


def reaches(to: Address) -> bool:
    return bool(to.url)


def is_slack(url: str) -> bool:
    """Whether this is an address of Slack's: no other is ever asked."""
    parts = urlsplit(url)
    loopback = settings.NOTIFICATION_LOOPBACK and parts.hostname in ("127.0.0.1", "localhost")
    return bool(loopback) or (parts.scheme == "https" and parts.hostname in settings.SLACK_HOSTS)


def send(message: Message) -> Outcome:
    if not is_slack(message.to.url):
        return never("Not an address of Slack's.")
    # No retries of its own: who tries again, and when, is decided in one place.
    client = WebhookClient(
        message.to.url, timeout=settings.NOTIFICATION_TIMEOUT_SECONDS, retry_handlers=[]
    )
    try:
        answer = client.send(**content(message))
    except OSError as error:  # a timeout is one
        return again(f"{type(error).__name__}: {error}")
    return answered(answer.status_code, answer.body, _header(answer.headers, "retry-after"))


def _header(headers: Any, name: str) -> str | None:
    found = [value for key, value in headers.items() if key.lower() == name]
    return found[0] if found else None


def content(message: Message) -> dict[str, Any]:
    """The text of the notification, and the coloured blocks below it."""
    with translation.override(message.language), timezone.override(message.zone):
        return {
            "text": _escaped(message.render("slack.txt").strip()),
            "attachments": [
                {
                    "color": COLOURS.get(each.severity, ""),
                    "blocks": [*_said(message.word), *_blocks(each)],
                }
                for each in message.alerts
            ],
        }


def _said(word: Word | None) -> list[dict[str, Any]]:
    """What a colleague has to say, above the alert."""
    if word is None:
        return []
    text = f"{word.by}: {word.note}" if word.note else word.by
    return [{"type": "section", "text": _markdown(_escaped(text))}]


def _blocks(told: Told) -> list[dict[str, Any]]:
    when = date_format(timezone.localtime(told.detected_at), "DATETIME_FORMAT")
    facts = f"*{told.severity}* · {told.event_type} · {when}"
    return [
        {"type": "section", "text": _markdown(_escaped(told.sentence))},
        {"type": "context", "elements": [_markdown(facts)]},
        {"type": "actions", "elements": _buttons(told)},
    ]


def _buttons(told: Told) -> list[dict[str, Any]]:
    buttons = [(_("Open in Axiom"), told.link)]
    if told.acknowledge_link:
        buttons.insert(0, (_("Acknowledge"), told.acknowledge_link))
    return [
        {"type": "button", "text": {"type": "plain_text", "text": str(name)}, "url": url}
        for name, url in buttons
    ]


def _markdown(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text[:LONGEST]}


def _escaped(text: str) -> str:
    """Slack reads these three as its own: `<!channel>` in a title must not call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
