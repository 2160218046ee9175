"""What is known about other databases: where they are, what is in them, what it means."""

from .catalog import CatalogColumn, CatalogTable, TableVersion
from .knowledge import CatalogChange, GlossaryTerm, Snapshot
from .sources import DataSource, Engine, ExtractionRun

__all__ = [
    "CatalogChange",
    "CatalogColumn",
    "CatalogTable",
    "DataSource",
    "Engine",
    "ExtractionRun",
    "GlossaryTerm",
    "Snapshot",
    "TableVersion",
]
