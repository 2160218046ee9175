"""What oracle reacts to: everything that changes what tables and columns are or are called."""

from collections.abc import Sequence

from apps.events.context import acting
from apps.events.handlers import on
from apps.events.message import Message
from apps.metadata.events import (
    ColumnModified,
    DescriptionUpdated,
    GlossaryUpdated,
    MetadataExtracted,
    SnapshotRestored,
    TableAdded,
    TableRemoved,
    TagChanged,
)
from apps.oracle import services
from axiom.catalog_changes import Touched, touched

# A restored source with a hundred thousand columns is compared as a whole.
LONGEST_SECONDS = 600


@on(
    MetadataExtracted, TableAdded, TableRemoved, ColumnModified, DescriptionUpdated, TagChanged,
    GlossaryUpdated, SnapshotRestored,
    group="oracle-consumer", batch=True, timeout=LONGEST_SECONDS,
)  # fmt: skip
def follow_the_catalog(messages: Sequence[Message]) -> None:
    for source in touched(messages):
        with acting(tenant_id=source.tenant_id):
            _follow(source)


def _follow(source: Touched) -> None:
    name = source.datasource_name
    if source.wholly or source.tables:
        services.index_tables(name, source.only)
        services.check_queries(name, only=source.only, renames=source.renames)
    if source.terms and not source.wholly:
        services.reindex_terms(name, source.terms)
