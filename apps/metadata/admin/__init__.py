"""The catalog in the console. Everything that changes goes through the services."""

from apps.metadata.admin import catalog, knowledge, sources

__all__ = ["catalog", "knowledge", "sources"]
