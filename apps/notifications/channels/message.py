"""What a channel is given and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string
from django.utils import timezone, translation

LONGEST_PAUSE_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Told:
    """One alert, in the words and the language of whoever is told."""

    id: str
    event_type: str
    severity: str
    sentence: str
    detected_at: datetime
    count: int
    link: str
    acknowledge_link: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Word:
    """What a colleague tells the team about an alert."""

    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """Where it goes; a channel uses what is its own."""

    email: str = ""
    name: str = ""
    phone: str = ""
    url: str = ""
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One alert, or a digest of several, on its way to somebody."""

    key: str
    """The same however often it is sent: a peer that knows keys drops the repeats."""
    to: Address
    alerts: tuple[Told, ...]
    tenant: str
    sent_at: datetime
    level: int = 0
    word: Word | None = None
    is_digest: bool = False
    language: str = "en"
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))

    @property
    def alert(self) -> Told:
        return self.alerts[0]

    def render(self, template: str) -> str:
        """A text of templates/notifications/ in the reader's language, with the reader's clock."""
        with translation.override(self.language), timezone.override(self.zone):
            return render_to_string(
                f"notifications/{template}", {"message": self, "tenant": self.tenant}
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How sending ended: done, to be tried again, or never."""

    kind: Literal["sent", "again", "never"]
    said: str = ""
    peer_id: str = ""
    after: float | None = None
    """Seconds that the other side asked us to wait."""
    gone: bool = False
    """The other side wants nothing more at this address."""


def sent(said: str = "", *, peer_id: str = "") -> Outcome:
    return Outcome("sent", said, peer_id)


def again(said: str, *, after: float | None = None) -> Outcome:
    return Outcome("again", said, after=after)


def never(said: str, *, gone: bool = False) -> Outcome:
    return Outcome("never", said, gone=gone)


def answered(status: int, body: str, retry_after: str | None) -> Outcome:
    """What the answer of an HTTP peer means."""
    said = f"{status} {body}".strip()
    if 200 <= status < 300:
        return sent(said)
    if status in (408, 425, 429) or status >= 500:
        return again(said, after=_seconds(retry_after))
    return never(said, gone=status == 410)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After, a number or a date, in seconds; nonsense counts as nothing."""
    given = (retry_after or "").strip()
    try:
        pause = float(given) if given.isdigit() else _until(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(pause, 0.0), LONGEST_PAUSE_SECONDS)


def _until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment - timezone.now()).total_seconds()


class Channel(Protocol):
    """A way to reach people. A module with these names is one."""

    REPEATABLE: bool
    """Whether the peer drops what it is sent twice under one key."""

    def is_set_up(self) -> bool:
        """Whether this installation can use it at all."""

    def reaches(self, to: Address) -> bool:
        """Whether there is an address to send to."""

    def send(self, message: Message) -> Outcome:
        """Send it now. What is not foreseen may be raised, and is tried again."""
