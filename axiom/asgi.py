"""What the web server runs."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application


def share_connections() -> None:
    """Under ASGI each request has a thread of its own, and would open a session of its own."""
    database = settings.DATABASES["default"]
    database["CONN_MAX_AGE"] = 0  # the pool keeps them
    database.setdefault("OPTIONS", {})["pool"] = settings.DATABASE_POOL


share_connections()
application = get_asgi_application()
