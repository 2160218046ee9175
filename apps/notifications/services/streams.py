"""What streams of other apps are built of, so that the same rules hold for all of them."""

from apps.notifications.live.connection import WebSocketConnection
from apps.notifications.live.handshake import Viewer, find_out, in_database, request_of
from apps.notifications.live.hub import (
    LOOK_SECONDS,
    PING_SECONDS,
    STREAM_SECONDS,
    a_client,
    always,
    an_ear,
    if_redis_is_there,
)
from apps.notifications.live.seats import LEASE_SECONDS, Seats, too_many
from apps.notifications.live.stream import number_of, refuse_socket

__all__ = [
    "LEASE_SECONDS",
    "LOOK_SECONDS",
    "PING_SECONDS",
    "STREAM_SECONDS",
    "Seats",
    "Viewer",
    "WebSocketConnection",
    "a_client",
    "always",
    "an_ear",
    "find_out",
    "if_redis_is_there",
    "in_database",
    "number_of",
    "refuse_socket",
    "request_of",
    "too_many",
]
