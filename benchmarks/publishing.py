"""What publishing adds to a business transaction."""

import time
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from statistics import median
from uuid import UUID

from django.db import transaction

from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.outbox import publish, publish_many

from . import servers
from .events import ClaimFiled, an_event
from .figure import Figure, Size, faster
from .models import Claim
from .stage import stage

TENANT = UUID("018f2d1c-0000-7000-8000-000000000001")
BULK = 500


def publish_overhead(size: Size) -> Iterator[Figure]:
    """What `publish()` adds to a transaction of one ORM insert."""
    rounds = _in_turn(file_claim, file_claim_and_say_so, size.of(200, 10), size.rounds(5))
    plain, added = median(p for p, _ in rounds), median(told - p for p, told in rounds)
    ratio = median((told - plain) / plain for plain, told in rounds)
    yield Figure(
        bench="publish_overhead", value=added * 1000, unit="ms added",
        against="transaction of one ORM insert", against_value=plain * 1000,
        ratio=ratio, bar="ratio <= 0.4", met=ratio <= 0.40,
    )  # fmt: skip


def publish_bulk(size: Size) -> Iterator[Figure]:
    """500 rows and 500 events in one transaction, against the 500 rows alone."""
    rounds = _in_turn(file_claims, file_claims_and_say_so, size.of(20, 3), size.rounds(5))
    speeds = [(BULK / told, BULK / plain) for plain, told in rounds]
    yield faster(
        "publish_bulk", speeds, against="bulk insert of the rows", least=0.6, unit="rows/s"
    )


def _in_turn(
    plain: Callable[[], None], told: Callable[[], None], times: int, rounds: int
) -> list[tuple[float, float]]:
    """The usual seconds of both, each round taking turns so that both meet the same weather."""
    with stage("here", 0), acting(tenant_id=TENANT, actor="alice@example.com"):
        _usual_seconds(plain, told, times)
        return [_usual_seconds(plain, told, times) for _ in range(rounds)]


def _usual_seconds(
    plain: Callable[[], None], told: Callable[[], None], times: int
) -> tuple[float, float]:
    servers.checkpoint()
    pairs = [(_seconds(plain), _seconds(told)) for _ in range(times)]
    return median(p for p, _ in pairs), median(t for _, t in pairs)


def _seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _a_claim() -> Claim:
    return Claim(
        tenant_id=TENANT, case_id=uuid7(), creditor="Hanbit Textile Co., Ltd.",
        amount=Decimal("12500000.00"), currency="KRW", filed_on=date(2026, 1, 31),
        note="Filed by the creditor's counsel with two annexes.",
    )  # fmt: skip


def file_claim() -> None:
    with transaction.atomic():
        _a_claim().save(force_insert=True)


def file_claim_and_say_so() -> None:
    with transaction.atomic():
        claim = _a_claim()
        claim.save(force_insert=True)
        publish(an_event(ClaimFiled, 1, claim.id))


def file_claims() -> None:
    with transaction.atomic():
        Claim.objects.bulk_create([_a_claim() for _ in range(BULK)])


def file_claims_and_say_so() -> None:
    with transaction.atomic():
        claims = Claim.objects.bulk_create([_a_claim() for _ in range(BULK)])
        publish_many([an_event(ClaimFiled, n, claim.id) for n, claim in enumerate(claims)])
