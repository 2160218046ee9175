"""The child: limits itself, does one thing, answers in JSON."""

import json
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_LARGEST_FILE = 200 * 1024 * 1024


def limit(seconds: float, memory_mb: int) -> None:
    """Bind this process and all it starts. Where a limit does not exist, the clock remains."""
    wanted = {
        resource.RLIMIT_AS: memory_mb * 1024 * 1024,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: _LARGEST_FILE,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in wanted.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, most))


def verb_named(name: str) -> Callable[..., Any]:
    """Only what is needed is imported: half of the child's time would be imports."""
    if name in {"make", "variables"}:
        from apps.documents.confined import making

        return making.make if name == "make" else making.variables
    if name == "recognise":
        from apps.documents.confined import recognising

        return recognising.recognise
    from apps.documents.confined import reading

    return reading.inspect if name == "inspect" else reading.read


def main() -> None:
    from apps.documents.confined.refusal import Refused

    order = json.load(sys.stdin)
    limit(**order.pop("limits"))
    try:
        answer = verb_named(order.pop("verb"))(**order)
    except Refused as refusal:
        answer = {"refused": refusal.reason, "detail": refusal.detail}
    except MemoryError:
        answer = {"refused": "bomb"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
