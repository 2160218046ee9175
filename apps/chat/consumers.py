"""What chat reacts to: its own messages, twice."""

from collections.abc import Sequence

from apps.chat import services
from apps.chat.events import ChatMessageSent
from apps.events.handlers import on
from apps.events.message import Message


@on(ChatMessageSent, group="chat_persist", batch=True)
def persist(messages: Sequence[Message]) -> None:
    services.persist(messages)


@on(ChatMessageSent, group="chat_fanout", batch=True)
def fan_out(messages: Sequence[Message]) -> None:
    services.fan_out(messages)
