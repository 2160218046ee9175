"""What synapse says: results of process mining, and signs that something is odd."""

from typing import Literal
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.facts import Count, Fact, Moment, Severity, Share
from apps.events.keys import Stream

_LOG = "018f2d1c-0000-7000-8000-000000000106"


class AboutLog(Event):
    event_log_id: UUID


class DateRange(Fact):
    start: Moment
    end: Moment


class ProcessLogIngested(
    AboutLog,
    type="PROCESS_LOG_INGESTED",
    stream=Stream.PROCESS_MINING,
    aggregate="event_log",
    key="event_log_id",
    label=_("Event log ingested"),
    aliases=("mining.log_ingested",),
):
    """An event log was read, checked and stored."""

    file_name: str
    format: Literal["XES", "CSV", "TABLE"]
    case_count: Count
    event_count: Count
    activity_count: Count
    date_range: DateRange
    ingested_by: str

    example = {
        "event_log_id": _LOG,
        "file_name": "purchase_order_log.xes",
        "format": "XES",
        "case_count": 1250,
        "event_count": 45000,
        "activity_count": 18,
        "date_range": {"start": "2025-01-01T00:00:00Z", "end": "2025-12-31T23:59:59Z"},
        "ingested_by": "EventLogWorker",
    }


class ProcessDiscovered(
    AboutLog,
    type="PROCESS_DISCOVERED",
    stream=Stream.PROCESS_MINING,
    aggregate="event_log",
    key="event_log_id",
    label=_("Process model discovered"),
    aliases=("mining.process_discovered",),
):
    """A process model was discovered in an event log."""

    algorithm: str
    bpmn_xml: str | None = Field(
        description=noop("Nothing when it is too large to travel: read it from the API.")
    )
    fitness: Share
    precision: Share
    generalization: Share
    activities_discovered: Count
    variants_count: Count

    example = {
        "event_log_id": _LOG,
        "algorithm": "heuristic_miner",
        "bpmn_xml": "<definitions/>",
        "fitness": 0.92,
        "precision": 0.87,
        "generalization": 0.85,
        "activities_discovered": 18,
        "variants_count": 42,
    }


class Deviation(Fact):
    """What some cases of the log do otherwise than the model."""

    case_id: str = Field(description=noop("A case of the log, as an example."))
    activity: str
    deviation_type: str
    frequency: Count


class ConformanceChecked(
    AboutLog,
    type="CONFORMANCE_CHECKED",
    stream=Stream.PROCESS_MINING,
    aggregate="event_log",
    key="event_log_id",
    label=_("Conformance checked"),
    aliases=("mining.conformance_checked",),
):
    """An event log was held against a reference model."""

    reference_model_id: UUID
    method: Literal["token_replay", "alignment"]
    fitness: Share
    deviations: tuple[Deviation, ...] = Field(
        max_length=100, description=noop("The most frequent ones.")
    )
    conformant_cases_ratio: Share

    example = {
        "event_log_id": _LOG,
        "reference_model_id": "018f2d1c-0000-7000-8000-00000000b9b9",
        "method": "token_replay",
        "fitness": 0.89,
        "deviations": [
            {
                "case_id": "case-1234",
                "activity": "승인 검토",
                "deviation_type": "skipped",
                "frequency": 45,
            }
        ],
        "conformant_cases_ratio": 0.78,
    }


class Bottleneck(Fact):
    """An activity that cases wait for."""

    activity: str
    avg_waiting_time_hours: float
    avg_processing_time_hours: float
    case_frequency: Count
    severity: Severity


class BottleneckDetected(
    AboutLog,
    type="BOTTLENECK_DETECTED",
    stream=Stream.PROCESS_MINING,
    aggregate="event_log",
    key="event_log_id",
    label=_("Bottleneck detected"),
    aliases=("mining.bottleneck_detected",),
):
    """Cases of an event log lose their time at certain activities."""

    bottlenecks: tuple[Bottleneck, ...] = Field(
        max_length=100, description=noop("The gravest ones.")
    )
    total_cycle_time_hours: float
    bottleneck_contribution_ratio: Share

    example = {
        "event_log_id": _LOG,
        "bottlenecks": [
            {
                "activity": "데이터 수치 검증",
                "avg_waiting_time_hours": 48.5,
                "avg_processing_time_hours": 2.3,
                "case_frequency": 890,
                "severity": "HIGH",
            }
        ],
        "total_cycle_time_hours": 168.0,
        "bottleneck_contribution_ratio": 0.29,
    }


class AnomalyIndicator(
    Event,
    type="ANOMALY_INDICATOR",
    stream=Stream.WATCHES,
    aggregate="indicator",
    key="indicator",
    label=_("Sign of an anomaly"),
    aliases=("watch.anomaly_indicator",),
):
    """A measured value is not what it should be."""

    indicator: str = Field(
        description=noop("What was measured and where; the same trouble has the same name.")
    )
    value: float
    expected: float | None = Field(None, description=noop("What it should have been."))
    severity: Severity
    summary: str
    case_id: UUID | None = None

    example = {
        "indicator": "conformance/purchase-order",
        "value": 0.61,
        "expected": 0.89,
        "severity": "MEDIUM",
        "summary": "Fewer cases follow the approved process than last month.",
        "case_id": None,
    }
