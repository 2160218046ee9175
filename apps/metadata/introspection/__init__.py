"""Reads the structure of other databases. Nothing here writes to them, or to ours."""

from apps.metadata.introspection.address import Address
from apps.metadata.introspection.progress import Progress, Watcher, unwatched
from apps.metadata.models import Engine
from apps.metadata.structure import Extraction

__all__ = ["Address", "Progress", "Watcher", "read", "try_connection", "unwatched"]


def read(address: Address, watcher: Watcher = unwatched) -> Extraction:
    """The whole structure, or a SourceFailed: never a part of it."""
    if address.engine == Engine.POSTGRESQL:
        from apps.metadata.introspection import postgresql

        return postgresql.read(address, watcher)
    from apps.metadata.introspection import others

    return others.read(address, watcher)


def try_connection(address: Address) -> str:
    """What the database says it is; a SourceFailed when it cannot be talked to."""
    if address.engine == Engine.POSTGRESQL:
        from apps.metadata.introspection import postgresql

        return postgresql.try_connection(address)
    from apps.metadata.introspection import others

    return others.try_connection(address)
