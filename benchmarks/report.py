"""Keeps what was measured last in docs/benchmarks.md, with the machine it ran on."""

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil
import psycopg
import redis

from . import servers
from .figure import Figure

PAGE = servers.ROOT / "docs" / "benchmarks.md"
_BLOCK = re.compile(r"(<!-- last run -->\n)(.*)(\n<!-- end of last run -->)", re.DOTALL)
_NAME = re.compile(r"\| `(\w+)` \|")


def keep(figures: Sequence[Figure], failed: Sequence[str], minutes: float) -> None:
    """Put these figures in the place of what was measured before; the others stay."""
    page = PAGE.read_text()
    known = _BLOCK.search(page)
    rows = _merged(known[2].splitlines() if known else [], figures)
    text = "\n".join([_machine(minutes), "", *_HEAD, *rows, *_failures(failed)])
    PAGE.write_text(_BLOCK.sub(lambda found: found[1] + text + found[3], page))


def _merged(lines: Sequence[str], figures: Sequence[Figure]) -> list[str]:
    """One group of rows per name, each where its name stood before."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        if found := _NAME.match(line):
            groups.setdefault(found[1], []).append(line)
    groups.update({figure.bench: [] for figure in figures if figure.bench not in groups})
    for name in {figure.bench for figure in figures}:
        groups[name] = [_row(figure) for figure in figures if figure.bench == name]
    return [line for group in groups.values() for line in group]


def _machine(minutes: float) -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"The last run took {minutes:.0f} minutes. {_cpu()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB. Python {platform.python_version()}, PostgreSQL {_postgres()}, "
        f"Valkey {_valkey()}. Load averages at the end: {load}."
    )


def _cpu() -> str:
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def _postgres() -> str:
    with psycopg.connect(servers.database_url("postgres")) as connection:
        return connection.info.parameter_status("server_version") or "?"


def _valkey() -> str:
    with redis.Redis.from_url(servers.redis_url(0)) as client:
        info = client.info("server")
        return str(info.get("valkey_version") or info["redis_version"])


_HEAD = [
    "| Figure | Value | Against | Its value | Ratio | p50, p99 (ms) | Bar | Met | Measured |",
    "|---|--:|---|--:|--:|--:|---|---|---|",
]


def _failures(failed: Sequence[str]) -> list[str]:
    return ["", f"Did not come to an end: {', '.join(failed)}."] if failed else []


def _row(figure: Figure) -> str:
    latency = f"{figure.p50_ms:.1f}, {figure.p99_ms:.1f}" if figure.p50_ms is not None else ""
    cells = (
        f"`{figure.bench}`", f"{_number(figure.value)} {figure.unit}", figure.against,
        _number(figure.against_value), _number(figure.ratio), latency, figure.bar,
        "yes" if figure.met else "**no**", f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
