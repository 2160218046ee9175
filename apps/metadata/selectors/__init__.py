"""What is known of the catalog. Everything here is of the current tenant."""

from apps.metadata.selectors import impact
from apps.metadata.selectors.known import (
    KnownColumn,
    KnownTable,
    KnownTerm,
    datasource_names,
    glossary,
    known_tables,
)

__all__ = [
    "KnownColumn",
    "KnownTable",
    "KnownTerm",
    "datasource_names",
    "glossary",
    "impact",
    "known_tables",
]
