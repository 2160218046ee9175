"""What metadata says. The data source, and the case where there is one, are in the envelope."""

from typing import Any, Literal
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import ConfigDict, Field

from apps.events.catalog import Event, InEnvelope
from apps.events.facts import Count, Fact, Moment
from apps.events.keys import Stream

LISTED_TABLES = 1000
"""A list of tables names no more than this: the counts and one event per table tell the rest."""


class MetadataChange(Event):
    # A pydantic model cannot have fields called `schema` or `label`, so those are aliases here.
    model_config = ConfigDict(serialize_by_alias=True)

    datasource_name: InEnvelope[str]
    case_id: InEnvelope[UUID | None] = None

    example_beside = {"datasource_name": "erp_db"}


class TablesDiff(Fact):
    """Tables that came, went, changed or stayed since the extraction before."""

    tables_added: tuple[str, ...] = Field(max_length=LISTED_TABLES)
    tables_removed: tuple[str, ...] = Field(max_length=LISTED_TABLES)
    tables_changed: tuple[str, ...] = Field((), max_length=LISTED_TABLES)
    tables_unchanged: Count
    tables_added_count: Count | None = Field(
        None, description=noop("Also those beyond the listed ones.")
    )
    tables_removed_count: Count | None = Field(
        None, description=noop("Also those beyond the listed ones.")
    )
    tables_changed_count: Count | None = Field(
        None, description=noop("Also those beyond the listed ones.")
    )


class MetadataExtracted(
    MetadataChange,
    type="metadata.extracted",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Metadata extracted"),
):
    """A data source was read and its new state is stored."""

    schemas_count: Count
    tables_count: Count
    columns_count: Count
    foreign_keys_count: Count
    snapshot_id: str | None = None
    duration_ms: Count
    engine: str
    diff: TablesDiff

    example = {
        "schemas_count": 3,
        "tables_count": 45,
        "columns_count": 312,
        "foreign_keys_count": 18,
        "snapshot_id": "snap-001",
        "duration_ms": 12500,
        "engine": "postgresql",
        "diff": {
            "tables_added": ["public.new_products", "public.new_orders"],
            "tables_removed": ["public.deprecated_log"],
            "tables_changed": [],
            "tables_unchanged": 42,
            "tables_added_count": 2,
            "tables_removed_count": 1,
            "tables_changed_count": 0,
        },
    }


class AboutTable(MetadataChange):
    schema_name: str = Field(alias="schema")
    table_name: str


class TableAdded(
    AboutTable,
    type="metadata.table.added",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Table added"),
):
    """A table or view appeared in a data source."""

    table_type: str
    columns_count: Count
    row_count: Count | None = Field(None, description=noop("An estimate, where there is one."))
    renamed_from: str | None = Field(
        None, description=noop("The table is not new: this was its name, as schema.table.")
    )

    example = {
        "schema": "public",
        "table_name": "new_products",
        "table_type": "BASE TABLE",
        "columns_count": 8,
        "row_count": 1520,
        "renamed_from": None,
    }


class TableRemoved(
    AboutTable,
    type="metadata.table.removed",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Table removed"),
):
    """A table or view disappeared from a data source."""

    had_queries: bool = False
    affected_query_count: Count = 0
    renamed_to: str | None = Field(
        None, description=noop("The table is not gone: this is its name now, as schema.table.")
    )

    example = {
        "schema": "public",
        "table_name": "deprecated_log",
        "had_queries": True,
        "affected_query_count": 3,
        "renamed_to": None,
    }


class Change(Fact):
    """One property, before and after; nothing stands for "was not there"."""

    old: Any
    new: Any


class ColumnModified(
    AboutTable,
    type="metadata.column.modified",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Column changed"),
):
    """A column changed, appeared, disappeared or was renamed."""

    column_name: str = Field(description=noop("After a rename, the new name."))
    change: Literal["modified", "added", "removed", "renamed"] = Field(
        "modified", description=noop("What happened to the column.")
    )
    previous_name: str | None = Field(None, description=noop("Of a renamed column."))
    changes: dict[str, Change] = Field(
        description=noop(
            "What differs, by property: dtype, nullable, default, primary_key, foreign_key, "
            "indexes. Of an added column every old value is null, of a removed one every new."
        )
    )
    breaking: bool | None = Field(
        None, description=noop("Whether queries that worked may fail now.")
    )
    reason: str = ""

    example = {
        "schema": "public",
        "table_name": "processes",
        "column_name": "status",
        "change": "modified",
        "previous_name": None,
        "changes": {
            "dtype": {"old": "varchar(10)", "new": "varchar(20)"},
            "nullable": {"old": False, "new": True},
        },
        "breaking": False,
        "reason": "A longer text holds every shorter one.",
    }


class DescriptionUpdated(
    AboutTable,
    type="metadata.description.updated",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Description updated"),
):
    """A table or a column is described otherwise than before."""

    target_type: Literal["table", "column"]
    column_name: str | None = None
    old_description: str | None
    new_description: str | None
    source: str = Field(description=noop("By hand, by a generator, or from the database itself."))

    example = {
        "target_type": "table",
        "schema": "public",
        "table_name": "biz_proc_metrics",
        "column_name": None,
        "old_description": None,
        "new_description": "비즈니스 프로세스 성과 지표.",
        "source": "llm_enrichment",
    }


class SnapshotCreated(
    MetadataChange,
    type="metadata.snapshot.created",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Snapshot created"),
):
    """The state of a data source's metadata was kept."""

    snapshot_id: str
    tables_count: Count
    columns_count: Count
    snapshot_label: str = Field("", alias="label")

    example = {
        "snapshot_id": "snap-002",
        "tables_count": 45,
        "columns_count": 312,
        "label": "추출 후 자동 스냅샷",
    }


class RestoreDiff(Fact):
    """How much a restore changed."""

    tables_added: Count
    tables_removed: Count
    columns_changed: Count


class SnapshotRestored(
    MetadataChange,
    type="metadata.snapshot.restored",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Snapshot restored"),
):
    """The metadata of a data source is what it was at an earlier time: read all of it again."""

    snapshot_id: str
    restored_from: Moment = Field(description=noop("When the snapshot was made."))
    tables_count: Count
    columns_count: Count
    diff_from_current: RestoreDiff

    example = {
        "snapshot_id": "snap-001",
        "restored_from": "2026-02-19T10:00:00Z",
        "tables_count": 42,
        "columns_count": 290,
        "diff_from_current": {"tables_added": 0, "tables_removed": 3, "columns_changed": 5},
    }


class TagChanged(
    AboutTable,
    type="metadata.tag.changed",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Tag changed"),
):
    """A tag was put on a table or a column, changed or taken off."""

    target_type: Literal["table", "column"]
    column_name: str | None = None
    tag_name: str
    action: Literal["added", "changed", "removed"]
    old_value: Any = None
    new_value: Any = None

    example = {
        "target_type": "table",
        "schema": "public",
        "table_name": "temp_import_log",
        "column_name": None,
        "tag_name": "text_to_sql_is_valid",
        "action": "removed",
        "old_value": True,
        "new_value": False,
    }


class GlossaryUpdated(
    MetadataChange,
    type="metadata.glossary.updated",
    stream=Stream.METADATA_CHANGES,
    aggregate="datasource",
    key="datasource_name",
    label=_("Glossary updated"),
):
    """A term of the business was defined, redefined or removed."""

    action: Literal["upsert", "delete"]
    term: str
    definition: str | None
    synonyms: tuple[str, ...] = ()
    related_columns: tuple[str, ...] = Field((), description=noop("As schema.table.column."))
    previous_definition: str | None = None

    example = {
        "action": "upsert",
        "term": "매출",
        "definition": "상품/서비스 판매로 발생한 수익 총액",
        "synonyms": ["수익", "매출액", "revenue"],
        "related_columns": ["public.biz_proc_metrics.mtr_value"],
        "previous_definition": None,
    }
