"""How people are told: one folder for each way, found by its name."""

from importlib import import_module
from typing import cast

from .message import Address, Channel, Message, Outcome, Told, Word

OUTGOING = ("email", "slack", "sms", "webhook")
"""Those that leave the house; `in_app` is written in the transaction that handles the alert."""

__all__ = ["OUTGOING", "Address", "Channel", "Message", "Outcome", "Told", "Word", "channel"]


def channel(name: str) -> Channel:
    return cast(Channel, import_module(f"{__name__}.{name}"))
