"""The event table of the design, held against what the apps declare."""

import inspect
import json
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from django.utils.functional import Promise

from apps.events import catalog
from apps.events.catalog import Event
from apps.events.errors import PayloadDoesNotFit
from apps.events.outline import outline
from axiom.translation import Message, messages_in_python, sentences

TABLE = {
    # family: (stream, types)
    "process": ("axiom:events", """
        PROCESS_STARTED PROCESS_COMPLETED PROCESS_TERMINATED WORKITEM_CREATED
        WORKITEM_SUBMITTED WORKITEM_APPROVED WORKITEM_COMPLETED
    """),
    "document": ("axiom:events", """
        DOCUMENT_UPLOADED DOCUMENT_OCR_COMPLETED DOCUMENT_EXTRACTED DOCUMENT_GENERATED
    """),
    "case": ("axiom:events", """
        CASE_CREATED CASE_STATUS_CHANGED CASE_ASSIGNED COMMENT_ADDED COMMENT_DELETED
    """),
    "agent": ("axiom:events", "AGENT_FEEDBACK_RECEIVED AGENT_KNOWLEDGE_UPDATED"),
    "account": ("axiom:events", "USER_CREATED"),
    "alert": ("axiom:events", """
        ALERT_TRIGGERED ALERT_ESCALATED ALERT_ACKNOWLEDGED ALERT_TEAM_NOTIFIED ALERT_RESOLVED
    """),
    "watch": ("axiom:watches", """
        DEADLINE_APPROACHING PAYMENT_DUE DATA_REGISTERED CASH_LOW REVIEW_SCHEDULED
        ISSUE_RATIO_HIGH APPROVAL_DEADLINE_MISSED ANOMALY_INDICATOR
    """),
    "worker": ("axiom:workers", """
        WORKER_OCR_STARTED WORKER_OCR_COMPLETED WORKER_EXTRACT_COMPLETED
        WORKER_GENERATE_COMPLETED
    """),
    "mining": ("axiom:process_mining", """
        PROCESS_LOG_INGESTED PROCESS_DISCOVERED CONFORMANCE_CHECKED BOTTLENECK_DETECTED
    """),
    "metadata": ("axiom:metadata_changes", """
        metadata.extracted metadata.table.added metadata.table.removed
        metadata.column.modified metadata.description.updated metadata.snapshot.created
        metadata.snapshot.restored metadata.tag.changed metadata.glossary.updated
    """),
    # Not filled by the outbox, but its two groups read it as they read any stream.
    "chat": ("axiom:chat", "CHAT_MESSAGE_SENT"),
}  # fmt: skip
ALIASES_OF_ADR_004 = {
    "process.initiated": "PROCESS_STARTED",
    "process.completed": "PROCESS_COMPLETED",
    "process.terminated": "PROCESS_TERMINATED",
    "workitem.created": "WORKITEM_CREATED",
    "workitem.submitted": "WORKITEM_SUBMITTED",
    "workitem.approved": "WORKITEM_APPROVED",
    "case.created": "CASE_CREATED",
    "case.status_changed": "CASE_STATUS_CHANGED",
    "case.assigned": "CASE_ASSIGNED",
    "document.uploaded": "DOCUMENT_UPLOADED",
    "document.ocr_completed": "DOCUMENT_OCR_COMPLETED",
    "document.extracted": "DOCUMENT_EXTRACTED",
    "agent.feedback_received": "AGENT_FEEDBACK_RECEIVED",
    "agent.knowledge_updated": "AGENT_KNOWLEDGE_UPDATED",
    "watch.alert_triggered": "ALERT_TRIGGERED",
    "watch.alert_escalated": "ALERT_ESCALATED",
}
U = "018f2d1c-0000-7000-8000-000000000001"
# As the requirements show them, ids filled in.
PAYLOADS_OF_THE_REQUIREMENTS = {
    "PROCESS_STARTED": {
        "proc_inst_id": U, "proc_def_id": U, "initiator_id": U, "first_workitem_id": U,
    },
    "WORKITEM_COMPLETED": {
        "workitem_id": U, "proc_inst_id": U, "activity_name": "데이터 수치 검증",
        "result": {"checked": 3}, "completed_by": "agent:gpt-4o", "confidence": 0.92,
    },
    "PROCESS_LOG_INGESTED": {
        "event_log_id": U, "file_name": "purchase_order_log.xes", "format": "XES",
        "case_count": 1250, "event_count": 45000, "activity_count": 18,
        "date_range": {"start": "2025-01-01T00:00:00Z", "end": "2025-12-31T23:59:59Z"},
        "ingested_by": "EventLogWorker",
    },
    "PROCESS_DISCOVERED": {
        "event_log_id": U, "algorithm": "heuristic_miner", "bpmn_xml": "...", "fitness": 0.92,
        "precision": 0.87, "generalization": 0.85, "activities_discovered": 18,
        "variants_count": 42,
    },
    "CONFORMANCE_CHECKED": {
        "event_log_id": U, "reference_model_id": U, "method": "token_replay", "fitness": 0.89,
        "deviations": [{"case_id": "case-1234", "activity": "승인 검토",
                        "deviation_type": "skipped", "frequency": 45}],
        "conformant_cases_ratio": 0.78,
    },
    "BOTTLENECK_DETECTED": {
        "event_log_id": U,
        "bottlenecks": [{"activity": "데이터 수치 검증", "avg_waiting_time_hours": 48.5,
                         "avg_processing_time_hours": 2.3, "case_frequency": 890,
                         "severity": "HIGH"}],
        "total_cycle_time_hours": 168.0, "bottleneck_contribution_ratio": 0.29,
    },
    "metadata.extracted": {
        "schemas_count": 3, "tables_count": 45, "columns_count": 312, "foreign_keys_count": 18,
        "snapshot_id": "snap-001", "duration_ms": 12500, "engine": "postgresql",
        "diff": {"tables_added": ["new_products", "new_orders"],
                 "tables_removed": ["deprecated_log"], "tables_unchanged": 42},
    },
    "metadata.table.added": {
        "schema": "public", "table_name": "new_products", "table_type": "BASE TABLE",
        "columns_count": 8, "row_count": 1520,
    },
    "metadata.table.removed": {
        "schema": "public", "table_name": "deprecated_log", "had_queries": True,
        "affected_query_count": 3,
    },
    "metadata.column.modified": {
        "schema": "public", "table_name": "processes", "column_name": "status",
        "changes": {"dtype": {"old": "varchar(10)", "new": "varchar(20)"},
                    "nullable": {"old": False, "new": True}},
    },
    "metadata.description.updated": {
        "target_type": "table", "schema": "public", "table_name": "biz_proc_metrics",
        "column_name": None, "old_description": None, "new_description": "성과 지표",
        "source": "llm_enrichment",
    },
    "metadata.snapshot.created": {
        "snapshot_id": "snap-002", "tables_count": 45, "columns_count": 312,
        "label": "추출 후 자동 스냅샷",
    },
    "metadata.snapshot.restored": {
        "snapshot_id": "snap-001", "restored_from": "2026-02-19T10:00:00Z", "tables_count": 42,
        "columns_count": 290,
        "diff_from_current": {"tables_added": 0, "tables_removed": 3, "columns_changed": 5},
    },
    "metadata.tag.changed": {
        "target_type": "table", "schema": "public", "table_name": "temp_import_log",
        "tag_name": "text_to_sql_is_valid", "action": "removed", "old_value": True,
        "new_value": False,
    },
    "metadata.glossary.updated": {
        "action": "upsert", "term": "매출", "definition": "상품/서비스 판매로 발생한 수익 총액",
        "synonyms": ["수익", "매출액", "revenue"],
        "related_columns": ["public.biz_proc_metrics.mtr_value"], "previous_definition": None,
    },
}  # fmt: skip


def declared_by_apps() -> list[type[Event]]:
    """Without the types that tests declare for themselves."""
    return [kind for kind in catalog.event_types() if kind.__module__.startswith("apps.")]


each_type = pytest.mark.parametrize("kind", declared_by_apps(), ids=lambda kind: kind.type)


def test_the_apps_declare_the_table_of_the_design_no_more_and_no_less():
    wanted = {name: stream for stream, types in TABLE.values() for name in types.split()}
    assert {kind.type: str(kind.stream) for kind in declared_by_apps()} == wanted


def test_the_dotted_names_of_adr_004_are_aliases():
    named = {alias: catalog.canonical(alias) for alias in ALIASES_OF_ADR_004}
    assert named == ALIASES_OF_ADR_004


@each_type
def test_an_upper_case_type_has_a_dotted_alias(kind):
    assert kind.type[0].islower() or (kind.aliases and all("." in name for name in kind.aliases))


@each_type
def test_an_example_is_an_event_and_shows_every_field(kind):
    event = catalog.build(kind.type, kind.example, **kind.example_beside)
    assert json.loads(event.payload_json()) == kind.example
    assert event.aggregate_id
    assert catalog.build(kind.type, kind.example, **event.envelope_values()) == event


@each_type
def test_a_type_is_labelled_and_told_in_one_sentence(kind):
    assert isinstance(kind.label, Promise)
    assert kind.__doc__.split("\n\n")[0].endswith(".")


@each_type
def test_what_happened_is_there_for_the_translator(kind):
    source = Path(inspect.getfile(kind)).read_text()
    assert Message(kind.happening()) in set(sentences([source], "Event"))
    said = {row.description for row in outline(kind.payload_schema())} - {""}
    assert {Message(words) for words in said} <= set(messages_in_python(source))


@pytest.mark.parametrize("name", PAYLOADS_OF_THE_REQUIREMENTS)
def test_the_payloads_of_the_requirements_fit(name):
    payload = PAYLOADS_OF_THE_REQUIREMENTS[name]
    event = catalog.build(name, payload, datasource_name="erp_db")
    assert payload.items() <= _as_far_as_given(payload, json.loads(event.payload_json())).items()


def _as_far_as_given(given, full):
    """Fields we added have defaults; what was given has to come back as it was."""
    if isinstance(given, dict):
        return {name: _as_far_as_given(given[name], full[name]) for name in given}
    return full


def test_a_change_of_metadata_tells_its_source_and_case_in_the_envelope():
    payload = PAYLOADS_OF_THE_REQUIREMENTS["metadata.table.added"]
    event = catalog.build("metadata.table.added", payload, datasource_name="erp_db", case_id=U)
    assert event.envelope_values() == {"case_id": U, "datasource_name": "erp_db"}
    assert event.case_id == UUID(U)
    assert not {"case_id", "datasource_name"} & set(json.loads(event.payload_json()))
    assert event.aggregate_id == "erp_db"


def test_a_change_of_metadata_without_its_source_is_refused():
    payload = PAYLOADS_OF_THE_REQUIREMENTS["metadata.table.added"]
    with pytest.raises(PayloadDoesNotFit, match="datasource_name"):
        catalog.build("metadata.table.added", payload)


def test_an_amount_is_a_number_that_comes_back_to_the_cent():
    amount = Decimal("9999999999999.99")
    payload = {"case_id": U, "cash_balance": amount, "threshold": 1, "currency": "KRW"}
    text = catalog.build("CASH_LOW", payload).payload_json()
    assert '"cash_balance":9999999999999.99' in text
    assert catalog.build("CASH_LOW", json.loads(text)).cash_balance == amount


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("DEADLINE_APPROACHING", {"days_before": 5}, "days_before"),
        ("DEADLINE_APPROACHING", {"deadline": "2026-02-27T09:00:00"}, "timezone"),
        ("CASH_LOW", {"cash_balance": "1.001"}, "decimal places"),
        ("CASH_LOW", {"cash_balance": 99999999999999.99}, "digits"),
        ("CASH_LOW", {"currency": "won"}, "currency"),
        ("ISSUE_RATIO_HIGH", {"issue_ratio": 25}, "issue_ratio"),
        ("ALERT_TRIGGERED", {"severity": "URGENT"}, "severity"),
        ("CASE_CREATED", {"case_id": "42"}, "case_id"),
        ("PROCESS_LOG_INGESTED", {"case_count": -1}, "case_count"),
    ],
)
def test_a_wrong_fact_is_refused_by_name(name, change, why):
    example = catalog.event_class_of(name).example
    with pytest.raises(PayloadDoesNotFit, match=why):
        catalog.build(name, {**example, **change})
