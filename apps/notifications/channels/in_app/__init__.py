"""In the app: a row in the inbox, told to open streams. It is written with the alert's event."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.utils import translation
from django.utils.translation import gettext as _

from apps.notifications.channels.message import Word
from apps.notifications.services.notify import Notice

LONGEST_TITLE = 200


def notices(
    alert: Any, *, level: int, turn: int, to: Iterable[tuple[UUID, str]], word: Word | None = None
) -> list[Notice]:
    """What these people, each with a language, find in their inboxes: one notice per language."""
    by_language: dict[str, list[UUID]] = defaultdict(list)
    for user_id, language in to:
        by_language[language].append(user_id)
    return [
        _notice(alert, level, turn, word, language, people)
        for language, people in by_language.items()
    ]


def _notice(
    alert: Any, level: int, turn: int, word: Word | None, language: str, people: list[UUID]
) -> Notice:
    with translation.override(language):
        sentence = alert.told()
        title = _title(sentence, level, word)
    return Notice(
        recipient_ids=people,
        occasion=f"alert:{alert.pk}:{level}:{turn}",
        kind="team" if word else "escalation" if level else "alert",
        severity=alert.severity,
        title=_cut(title),
        body=_body(sentence, title, word),
        link=f"/admin/watch/alert/{alert.pk}/change/",
        facts=_facts(alert, level),
    )


def _title(sentence: str, level: int, word: Word | None) -> str:
    if word:
        return _("For the team: %(what)s") % {"what": sentence}
    return _("Nobody has acknowledged: %(what)s") % {"what": sentence} if level else sentence


def _body(sentence: str, title: str, word: Word | None) -> str:
    whole = sentence if len(title) > LONGEST_TITLE else ""
    said = f"{word.by}: {word.note}" if word and word.note else ""
    return "\n".join(filter(None, [whole, said]))


def _cut(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def _facts(alert: Any, level: int) -> dict[str, Any]:
    return {
        "alert_id": str(alert.pk),
        "event_type": alert.event_type,
        "case_id": str(alert.case_id) if alert.case_id else None,
        "level": level,
        "count": alert.count,
    }
