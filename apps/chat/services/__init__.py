"""What chat does."""

from apps.chat.services.fan_out import fan_out
from apps.chat.services.numbers import grant_numbers
from apps.chat.services.persist import persist
from apps.chat.services.rooms import (
    add_to_room,
    change_room_role,
    close_room,
    open_room,
    remove_from_room,
    rename_room,
)
from apps.chat.services.talk import mark_read, send_message

__all__ = [
    "add_to_room",
    "change_room_role",
    "close_room",
    "fan_out",
    "grant_numbers",
    "mark_read",
    "open_room",
    "persist",
    "remove_from_room",
    "rename_room",
    "send_message",
]
