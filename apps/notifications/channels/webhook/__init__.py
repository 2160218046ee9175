"""To a program of the tenant's: JSON, signed as Standard Webhooks says."""

import json
from dataclasses import asdict
from typing import Any

from django.conf import settings

from ..message import Address, Message, Outcome, again, answered, never
from .address import AddressRefused, checked
from .post import post
from .signature import new_secret, signatures

# The reader drops what comes twice under one `webhook-id`.
REPEATABLE = True

__all__ = ["REPEATABLE", "is_set_up", "new_secret", "reaches", "send"]


def is_set_up() -> bool:
    return True


def reaches(to: Address) -> bool:
    return bool(to.url and to.secrets)


def send(message: Message) -> Outcome:
    body = json.dumps(content(message), ensure_ascii=False, default=str).encode()
    try:
        place = checked(message.to.url)
        answer = post(
            place, body, headers(message, body), seconds=settings.NOTIFICATION_TIMEOUT_SECONDS
        )
    except AddressRefused as error:
        return never(error.message)
    except OSError as error:  # a name that is not found, a timeout, a bad certificate
        return again(f"{type(error).__name__}: {error}")
    if 300 <= answer.status < 400:
        return never(f"{answer.status}: redirects are not followed.")
    return answered(answer.status, answer.body, answer.retry_after)


def headers(message: Message, body: bytes) -> dict[str, str]:
    stamp = str(int(message.sent_at.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "Axiom",
        "webhook-id": message.key,
        "webhook-timestamp": stamp,
        "webhook-signature": signatures(message.to.secrets, message.key, stamp, body),
    }


def content(message: Message) -> dict[str, Any]:
    return {
        "type": _kind(message),
        "timestamp": message.sent_at.isoformat(),
        "data": {
            "tenant": message.tenant,
            "level": message.level,
            "word": asdict(message.word) if message.word else None,
            "alerts": [
                {
                    "id": told.id,
                    "event_type": told.event_type,
                    "severity": told.severity,
                    "message": told.sentence,
                    "count": told.count,
                    "detected_at": told.detected_at.isoformat(),
                    "link": told.link,
                    "facts": told.facts,
                }
                for told in message.alerts
            ],
        },
    }


def _kind(message: Message) -> str:
    if message.is_digest:
        return "alert.digest"
    if message.word:
        return "alert.team_notified"
    return "alert.escalated" if message.level else "alert.triggered"
