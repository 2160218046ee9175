"""Named places between two effects where the fault tests let a process die."""

import os
import signal
from collections.abc import Callable

_armed: dict[str, Callable[[], None]] = {}


def reach(name: str) -> None:
    """Does nothing, unless a test armed this place."""
    if _armed and name in _armed:
        _armed[name]()


def arm(name: str, action: Callable[[], None] | None = None) -> None:
    """Run the action (by default: die like a power cut) when this place is reached."""
    _armed[name] = action or _die


def disarm() -> None:
    _armed.clear()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm_from_environment() -> None:
    """AXIOM_FAILPOINTS="relay.sent:3" dies at the third time that place is reached."""
    for spec in filter(None, os.environ.get("AXIOM_FAILPOINTS", "").split(",")):
        name, _, times = spec.partition(":")
        arm(name, _after(int(times or 1)))


def _after(times: int) -> Callable[[], None]:
    left = [times]

    def count_down() -> None:
        left[0] -= 1
        if left[0] <= 0:
            _die()

    return count_down
