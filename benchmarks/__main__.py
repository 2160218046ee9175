"""`python -m benchmarks [name ...]`: one JSON line per figure; a full run renews the docs."""

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence

from . import servers
from .figure import Figure, Size

BENCHES = {
    "relay_drain": "relaying", "relay_drain_big": "relaying", "relay_drain_churned": "relaying",
    "relay_idle": "relaying", "relay_roundtrips": "roundtrips",
    "consume_one": "consuming", "consume_batch": "consuming",
    "latency_50": "latency", "latency_1000": "latency",
    "publish_overhead": "publishing", "publish_bulk": "publishing", "peers": "comparing",
    "work_lists": "work", "console_lists": "console",
    "metadata_extract": "catalog",
    "watch_evaluate": "watching", "rule_cost": "watching",
    "alert_storm": "alerting", "alert_latency": "latency",
    "catalog_index": "searching", "catalog_search": "searching",
    "live_memory": "live", "live_broadcast": "live", "live_latency": "live", "chat": "chat",
}  # fmt: skip
"""Each benchmark and the module it is in, imported when Django is ready."""


def main() -> int:
    arguments = _arguments()
    begin = time.monotonic()
    servers.start()
    try:
        figures, failed = _measure(arguments.names or list(BENCHES), Size(arguments.scale))
        if arguments.write or (not arguments.names and arguments.scale == 1):
            _keep(figures, failed, (time.monotonic() - begin) / 60)
    finally:
        servers.stop()
    return 1 if failed else 0


def _measure(names: Sequence[str], size: Size) -> tuple[list[Figure], list[str]]:
    """The figures, and the benchmarks that did not come to an end: the others go on."""
    figures: list[Figure] = []
    failed: list[str] = []
    for name in names:
        try:
            figures.extend(_told(name, size))
        except Exception:  # noqa: BLE001  (a peer may fail in any way)
            traceback.print_exc()
            failed.append(name)
    return figures, failed


def _told(name: str, size: Size) -> Iterator[Figure]:
    bench = getattr(importlib.import_module(f"benchmarks.{BENCHES[name]}"), name)
    begin = time.monotonic()
    for figure in bench(size):
        print(figure.line(), flush=True)
        yield figure
    print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def _keep(figures: Sequence[Figure], failed: Sequence[str], minutes: float) -> None:
    from .report import keep

    keep(figures, failed, minutes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    chosen = os.environ.get("ONLY", "").split()
    parser.add_argument("names", nargs="*", default=chosen, help="which ones; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full size to do")
    parser.add_argument(
        "--write", action="store_true", help="keep this run in the docs, whole or not"
    )
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(BENCHES)):
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHES)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
