"""The events that the benchmarks carry; they differ only in the handler that takes them."""

from uuid import UUID

from apps.events.catalog import Event


class _ClaimEvent(Event):
    claim_id: UUID
    number: int
    creditor: str
    amount: str
    currency: str = "KRW"
    note: str = ""


class ClaimFiled(_ClaimEvent, type="BENCH_CLAIM_FILED", aggregate="claim", key="claim_id"):
    """A claim was filed; nobody of the benchmarks' group reacts to it."""


class ClaimChecked(_ClaimEvent, type="BENCH_CLAIM_CHECKED", aggregate="claim", key="claim_id"):
    """Handled one by one, each with a row through the ORM."""


class ClaimSorted(_ClaimEvent, type="BENCH_CLAIM_SORTED", aggregate="claim", key="claim_id"):
    """Handled in batches."""


class ClaimTimed(_ClaimEvent, type="BENCH_CLAIM_TIMED", aggregate="claim", key="claim_id"):
    """Handled by writing down when it came."""


class ClaimWatched(_ClaimEvent, type="BENCH_CLAIM_WATCHED", aggregate="claim", key="claim_id"):
    """Held against the rules of the watch."""


def an_event(kind: type[_ClaimEvent], number: int, claim_id: UUID) -> _ClaimEvent:
    """One event of a usual size, about 200 bytes of payload."""
    return kind(
        claim_id=claim_id, number=number, creditor="Hanbit Textile Co., Ltd.",
        amount="12500000.00", note="Filed by the creditor's counsel with two annexes.",
    )  # fmt: skip
