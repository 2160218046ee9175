"""Moments as PostgreSQL writes them, read without a regular expression.

Django reads timestamps with a loader in Python that takes longer for the moments of a page than
PostgreSQL takes to find its rows.
"""

from datetime import UTC, datetime
from typing import Any

from django.db.backends.signals import connection_created
from django.dispatch import receiver
from psycopg.types.datetime import TimestamptzLoader


class QuickLoader(TimestamptzLoader):
    """A timestamptz of a connection whose time zone is UTC, as Django's are."""

    timezone = UTC
    """Django looks here whether its own loader is needed after all."""

    def load(self, data: Any) -> datetime:
        try:
            return datetime.fromisoformat(bytes(data).decode())
        except ValueError:
            # Before our era, after the year 9999, or infinite.
            return super().load(data)


@receiver(connection_created, dispatch_uid="axiom.timestamps")
def read_quickly(sender: Any, connection: Any, **kwargs: Any) -> None:
    """Every connection of Django's reads like this."""
    if connection.vendor == "postgresql":
        connection.connection.adapters.register_loader("timestamptz", QuickLoader)
