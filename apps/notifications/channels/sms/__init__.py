"""By text message, through Amazon SNS."""

import os
from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from ..message import Address, Message, Outcome, again, never, sent

# SNS drops repeats in FIFO topics alone, and phones are in none.
REPEATABLE = False
LONGEST = 300
_REFUSED = {"InvalidParameter", "InvalidParameterValue", "OptedOut", "ValidationException"}


def is_set_up() -> bool:
    return bool(settings.SMS_REGION)


def reaches(to: Address) -> bool:
    return bool(to.phone)


def send(message: Message) -> Outcome:
    try:
        answer = _client(os.getpid(), settings.SMS_REGION, settings.SMS_ENDPOINT_URL).publish(
            PhoneNumber=message.to.phone, Message=text_of(message), MessageAttributes=_attributes()
        )
    except ClientError as error:
        # A proxy on the way answers in words of its own.
        code = error.response.get("Error", {}).get("Code", "")
        return never(str(error)) if code in _REFUSED else again(str(error))
    except BotoCoreError as error:
        return again(f"{type(error).__name__}: {error}")
    return sent(peer_id=answer["MessageId"])


def text_of(message: Message) -> str:
    """In one breath: each part of a text message is paid for."""
    text = " ".join(message.render("sms.txt").split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _attributes() -> dict[str, Any]:
    kind = {"DataType": "String", "StringValue": "Transactional"}
    named = {"DataType": "String", "StringValue": settings.SMS_SENDER}
    return {"AWS.SNS.SMS.SMSType": kind} | (
        {"AWS.SNS.SMS.SenderID": named} if settings.SMS_SENDER else {}
    )


@lru_cache(maxsize=4)
def _client(process: int, region: str, endpoint_url: str) -> Any:
    """One for all threads of a process: making one takes longer than sending."""
    seconds = settings.NOTIFICATION_TIMEOUT_SECONDS
    # No retries of its own: who tries again, and when, is decided in one place.
    patience = Config(
        connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1}
    )
    return boto3.client(
        "sns", region_name=region, endpoint_url=endpoint_url or None, config=patience
    )
