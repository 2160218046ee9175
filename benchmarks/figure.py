"""One measured figure, and how large a measurement is to be."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """What was measured, what it is held against, and whether that is good enough."""

    bench: str
    value: float
    unit: str
    against: str
    against_value: float | None
    ratio: float | None
    bar: str
    met: bool
    p50_ms: float | None = None
    p99_ms: float | None = None

    def line(self) -> str:
        told = {k: _short(v) for k, v in asdict(self).items()}
        latency = self.p50_ms is not None
        return json.dumps(told if latency else _without(told, "p50_ms", "p99_ms"))


def _short(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _without(told: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in told.items() if name not in names}


@dataclass(frozen=True)
class Size:
    """How much to do: 1.0 is what the bars speak of, a test is content with a hundredth."""

    scale: float = 1.0

    def of(self, count: int, least: int = 1) -> int:
        return max(least, int(count * self.scale))

    def rounds(self, count: int) -> int:
        return count if self.scale >= 1 else 1


Round = tuple[float, float]
"""One repetition: what we reached and what the other reached, moments apart."""


def faster(
    name: str, rounds: Sequence[Round], *, against: str, least: float, unit: str = "events/s"
) -> Figure:
    """Ours over theirs, where more is better; the median over the rounds speaks."""
    ratio = median(ours / theirs for ours, theirs in rounds)
    return Figure(
        bench=name, value=median(o for o, _ in rounds), unit=unit, against=against,
        against_value=median(t for _, t in rounds), ratio=ratio,
        bar=f"ratio >= {least}", met=ratio >= least,
    )  # fmt: skip


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
