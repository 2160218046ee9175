"""What the web server runs: live streams by themselves, everything else by Django."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path


def share_connections() -> None:
    """Under ASGI each request has a thread of its own, and would open a session of its own."""
    database = settings.DATABASES["default"]
    database["CONN_MAX_AGE"] = 0  # the pool keeps them
    database.setdefault("OPTIONS", {})["pool"] = settings.DATABASE_POOL


share_connections()
django: Any = get_asgi_application()

# After Django is set up: they read its settings and its models.
from apps.chat.live import socket
from apps.notifications.live import stream
from axiom.body_limit import BodyLimit

event_stream: Any = stream.event_stream
alert_socket: Any = stream.alert_socket
chat_socket: Any = socket.chat_socket
bounded: Any = BodyLimit(django, settings.REQUEST_MAX_BYTES)


class ByPath:
    """Streams by their path, everything else by Django.

    Not a router of Channels: for as long as a stream lasts it would keep a frame and a copy of
    the scope, two kilobytes for each.
    """

    def __init__(self, streams: dict[str, Any], otherwise: Any) -> None:
        self.streams, self.otherwise = streams, otherwise

    def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return self.streams.get(path, self.otherwise)(scope, receive, send)


STREAMS = (
    "/api/v1/notifications/stream",
    "/api/v1/events/stream",
    "/api/notifications/stream",
)

application = ProtocolTypeRouter(
    {
        "http": ByPath(dict.fromkeys(STREAMS, event_stream), bounded),
        "websocket": URLRouter(
            [path("ws/alerts/", alert_socket), path("ws/chat/<uuid:room_id>/", chat_socket)]
        ),
    }
)
