"""How far a reading has come."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """A step, and how much of it is done."""

    step: str
    done: int = 0
    total: int = 0


Watcher = Callable[[Progress], None]
"""Called now and then; what it raises ends the reading."""


def unwatched(progress: Progress) -> None:
    """Nobody wants to know."""
