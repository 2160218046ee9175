"""What is asked of everybody in the comparison."""

from contextlib import AbstractContextManager
from typing import Protocol

from ..stage import Stage

PAYLOAD = {
    "claim_id": "018f2d1c-0000-7000-8000-000000000001", "number": 1, "currency": "KRW",
    "creditor": "Hanbit Textile Co., Ltd.", "amount": "12500000.00",
    "note": "Filed by the creditor's counsel with two annexes.",
}  # fmt: skip
"""The same bytes for all."""


class Peer(Protocol):
    told: str
    """Its name, version and the settings that make it fast."""

    def at_work(self, place: Stage) -> AbstractContextManager[object]:
        """One worker with an empty handler."""

    def enqueue(self, place: Stage, count: int) -> None:
        """So many jobs in one transaction."""

    def done(self, place: Stage) -> bool:
        """Whether everything was handled."""
