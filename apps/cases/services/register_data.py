"""Data that comes into a case, and the moment when too much of it has issues."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.cases import selectors
from apps.cases.events import DataRegistered, IssueRatioHigh
from apps.cases.marks import follow_level
from apps.cases.models import Case, Dataset
from apps.events.outbox import publish


@transaction.atomic
def register_data(*, case: Case, now: datetime | None = None, **facts: Any) -> Dataset:
    """Register data in a case and say so; when too much of it has issues, say that too."""
    # The case stays locked: of two who register at once, the second sees the sum of both.
    case = selectors.locked_open(case)
    before = selectors.issues_of(case)
    dataset = Dataset(case=case, tenant_id=case.tenant_id, **facts)
    dataset.full_clean()
    dataset.save(force_insert=True)
    publish(
        DataRegistered(
            case_id=case.pk,
            dataset_id=dataset.pk,
            name=dataset.name,
            records_count=dataset.records_count,
            issues_count=dataset.issues_count,
        )
    )
    follow_issues(case, before, now)
    return dataset


@transaction.atomic
def revise_data(*, dataset: Dataset, now: datetime | None = None, **facts: Any) -> Dataset:
    """Correct what is known about registered data, after somebody cleaned it for instance."""
    dataset = selectors.locked(dataset)
    case = selectors.locked_open(dataset.case)
    before = selectors.issues_of(case)
    for name, value in facts.items():
        setattr(dataset, name, value)
    dataset.full_clean()
    dataset.save(update_fields=list(facts))
    follow_issues(case, before, now)
    return dataset


def follow_issues(case: Case, before: selectors.Issues, now: datetime | None = None) -> None:
    """Say so when the share of issues rose above what the case tolerates."""
    after = selectors.issues_of(case)
    event = IssueRatioHigh(
        case_id=case.pk,
        issue_ratio=after.ratio,
        threshold=after.threshold,
        issues_count=after.issues,
        records_count=after.records,
    )
    follow_level(event, was=before.is_high, now_is=after.is_high, at=now or timezone.now())
