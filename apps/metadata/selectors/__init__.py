"""What is known of the catalog. Everything here is of the current tenant."""

from apps.metadata.selectors import browse, finding, impact
from apps.metadata.selectors.known import (
    KnownColumn,
    KnownTable,
    KnownTerm,
    datasource_names,
    glossary,
    known_tables,
)
from apps.metadata.selectors.pending import affected_by_run

__all__ = [
    "KnownColumn",
    "KnownTable",
    "KnownTerm",
    "affected_by_run",
    "browse",
    "datasource_names",
    "finding",
    "glossary",
    "impact",
    "known_tables",
]
