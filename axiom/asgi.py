"""What the web server runs: live streams by themselves, everything else by Django."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path, re_path


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

application = ProtocolTypeRouter(
    {
        "http": URLRouter(
            [
                path("api/v1/notifications/stream", event_stream),
                path("api/v1/events/stream", event_stream),
                path("api/notifications/stream", event_stream),
                re_path("", bounded),
            ]
        ),
        "websocket": URLRouter(
            [path("ws/alerts/", alert_socket), path("ws/chat/<uuid:room_id>/", chat_socket)]
        ),
    }
)
