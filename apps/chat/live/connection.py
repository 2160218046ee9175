"""One open socket to a room."""

import time
from typing import Any
from uuid import UUID

from apps.events import keys
from apps.notifications.services.streams import Viewer, WebSocketConnection

# What one person may send: in a row, and per second for long.
BURST, RATE = 50, 20.0


class ChatConnection(WebSocketConnection):
    """A socket that hears a room in order, and may speak there."""

    __slots__ = ("_allowance", "_counted_at", "room_id")

    def __init__(
        self, viewer: Viewer, connection_id: str, send: Any, until: float, room_id: UUID
    ) -> None:
        super().__init__(viewer, connection_id, send, until)
        self.room_id = room_id
        self._allowance, self._counted_at = float(BURST), time.monotonic()

    def seats(self) -> str:
        """Three per person in each room."""
        tenant_id, user_id = self.viewer.member
        return keys.live_connections(f"chat:{self.room_id}:{tenant_id}:{user_id}")

    def may_speak(self) -> bool:
        """Whether this one more is not too many."""
        now = time.monotonic()
        earned = (now - self._counted_at) * RATE
        self._allowance, self._counted_at = min(BURST, self._allowance + earned), now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True
