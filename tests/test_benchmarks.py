"""The benchmarks run, in a form too small to measure anything, and tell figures one can read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import DIRECTORY

ROOT = Path(__file__).resolve().parent.parent

FIGURES = {
    "relay_drain": 1, "relay_drain_big": 1, "relay_drain_churned": 1, "relay_idle": 1,
    "consume_one": 1, "consume_batch": 1, "latency_50": 1, "latency_1000": 1,
    "publish_overhead": 1, "publish_bulk": 1, "relay_roundtrips": 2, "peers": 3,
    "work_lists": 6, "console_lists": 35, "catalog_index": 3, "catalog_search": 1,
    "alert_storm": 1, "alert_latency": 1,
    "live_memory": 1, "live_broadcast": 1, "live_broadcast_gc": 1,
    "live_open_gc": 1, "chat": 1,
    "live_latency": 1,
    "metadata_first_run": 1, "metadata_first_run_memory": 1, "metadata_unchanged_run": 1,
    "metadata_one_change": 1, "metadata_one_change_indexed": 1, "metadata_reading": 1,
    "catalog_pages": 7,
    "watch_evaluate_1_tenant": 1, "watch_evaluate_1000_tenants": 1, "rule_cost": 1,
}  # fmt: skip
"""How many lines each benchmark prints."""
TIMED = {
    "relay_idle", "latency_50", "latency_1000", "work_lists", "console_lists", "alert_latency",
    "catalog_search", "catalog_pages", "chat", "live_latency",
}  # fmt: skip


@pytest.mark.timeout(900)
def test_every_benchmark_tells_its_figures():
    lines = _run("--scale", "0.002")

    told = [line["bench"] for line in lines]
    assert {name: told.count(name) for name in told} == FIGURES
    for line in lines:
        _check(line)


def test_an_unknown_benchmark_is_refused_with_the_known_ones():
    result = _benchmarks("relay_drian")

    assert result.returncode == 2
    assert "relay_drain" in result.stderr


def _run(*arguments):
    result = _benchmarks(*arguments)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def _benchmarks(*arguments):
    # Not pytest's own temporary directory: PostgreSQL runs as somebody who may not look there.
    environment = os.environ | {"AXIOM_BENCH_DIR": str(DIRECTORY / "bench"), "ONLY": ""}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def _check(line):
    assert line["value"] > 0 or line["bench"] == "publish_overhead", line
    # One round: the median of the ratios is the ratio of the medians.
    ratio = line["value"] / line["against_value"]
    assert line["ratio"] == pytest.approx(ratio, rel=0.01)
    assert line["unit"]
    assert line["against"]
    assert line["bar"]
    assert line["met"] in (True, False)
    assert ("p50_ms" in line and "p99_ms" in line) == (line["bench"] in TIMED)
