"""What vision reacts to: changes of tables and columns, which cubes may use."""

from collections.abc import Sequence

from apps.events.context import acting
from apps.events.handlers import on
from apps.events.message import Message
from apps.metadata.events import (
    ColumnModified,
    MetadataExtracted,
    SnapshotRestored,
    TableAdded,
    TableRemoved,
)
from apps.vision import services
from axiom.catalog_changes import touched


@on(
    MetadataExtracted, TableAdded, TableRemoved, ColumnModified, SnapshotRestored,
    group="vision-consumer", batch=True,
)  # fmt: skip
def hold_cubes_against_the_catalog(messages: Sequence[Message]) -> None:
    for source in touched(messages):
        with acting(tenant_id=source.tenant_id):
            services.validate_cubes(
                source.datasource_name, only=source.only, renames=source.renames
            )
