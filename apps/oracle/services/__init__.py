"""What oracle does: keeps its index and its queries true to the catalog."""

from .index import IndexReport, index_tables, reindex, reindex_terms
from .queries import (
    cache_query,
    change_query,
    check_all_queries,
    check_queries,
    remove_query,
)

__all__ = [
    "IndexReport",
    "cache_query",
    "change_query",
    "check_all_queries",
    "check_queries",
    "index_tables",
    "reindex",
    "reindex_terms",
    "remove_query",
]
