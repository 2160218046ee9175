"""`python -m benchmarks [name ...]`: one JSON line per figure; a full run is kept in the docs."""

import argparse
import importlib
import os
import time
from collections.abc import Iterator, Sequence

from . import servers
from .figure import BENCHES, Figure, Size

MODULES = ("relaying", "consuming", "latency", "publishing", "roundtrips", "comparing")


def main() -> None:
    arguments = _arguments()
    begin = time.monotonic()
    servers.start()
    try:
        figures = list(_told(run(arguments.names, Size(arguments.scale))))
        if not arguments.names and arguments.scale == 1:
            _keep(figures, (time.monotonic() - begin) / 60)
    finally:
        servers.stop()


def run(names: Sequence[str], size: Size) -> Iterator[Figure]:
    """Run these benchmarks, or all of them."""
    for module in MODULES:  # Only now: they need Django to be ready.
        importlib.import_module(f"benchmarks.{module}")
    for name in names or BENCHES:
        yield from BENCHES[name](size)


def _told(figures: Iterator[Figure]) -> Iterator[Figure]:
    for figure in figures:
        print(figure.line(), flush=True)
        yield figure


def _keep(figures: Sequence[Figure], minutes: float) -> None:
    from .report import keep

    keep(figures, minutes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    chosen = os.environ.get("ONLY", "").split()
    parser.add_argument("names", nargs="*", default=chosen, help="which ones; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full size to do")
    return parser.parse_args()


if __name__ == "__main__":
    main()
