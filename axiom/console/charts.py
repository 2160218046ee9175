"""Charts as numbers that a template draws: no library, no script, dark where the page is dark."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, LEFT, BOTTOM = 640.0, 200.0, 8.0, 24.0
NARROW = 320.0


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    middle: float
    label: str
    value: str
    is_over: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars, and a line for what was promised."""

    title: str
    promise: str
    promise_y: float
    bars: list[Bar]
    width: float = WIDTH
    height: float = HEIGHT
    base: float = HEIGHT - BOTTOM


def chart(
    title: str, points: Sequence[tuple[str, float | None, str]], *, promise: float, told: str
) -> Chart:
    """A chart of (label, value, value in words); a month without a value has no bar."""
    most = max([promise * 1.25, *(value for _, value, _ in points if value is not None)])
    base = HEIGHT - BOTTOM
    reach = (base - 20) / most
    step = (WIDTH - 2 * LEFT) / max(1, len(points))
    bars = [
        _bar(LEFT + number * step, step, (value or 0.0) * reach, base, label, words,
             is_over=value is not None and value > promise)
        for number, (label, value, words) in enumerate(points)
    ]  # fmt: skip
    return Chart(title, told, round(base - promise * reach, 1), bars)


def _bar(
    x: float, step: float, height: float, base: float, label: str, words: str, *, is_over: bool
) -> Bar:
    width = min(56.0, step * 0.6)
    left = x + (step - width) / 2
    return Bar(
        round(left, 1), round(base - height, 1), round(width, 1), round(height, 1),
        round(x + step / 2, 1), label, words, is_over,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Course:
    """Many thin bars of a time, and the largest of them as the scale."""

    title: str
    most: str
    latest: str
    bars: list[Bar]
    first_label: str
    last_label: str
    width: float = NARROW
    height: float = 120.0
    link: str = ""
    """Where one finds what it is made of."""


def course(title: str, points: Sequence[tuple[str, float, str]], *, link: str = "") -> Course:
    """The course of (moment, value, value in words), the oldest first."""
    most = max((value for _, value, _ in points), default=0.0) or 1.0
    step = NARROW / max(1, len(points))
    bars = [
        Bar(round(number * step, 1), round(100.0 - value / most * 88, 1), round(step * 0.8, 1),
            round(value / most * 88, 1), round((number + 0.5) * step, 1), label, words, False)
        for number, (label, value, words) in enumerate(points)
    ]  # fmt: skip
    words = {value: told for _, value, told in points}
    return Course(
        title, words.get(most, "0"), points[-1][2] if points else "0", bars,
        points[0][0] if points else "", points[-1][0] if points else "", link=link,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """How often something happened in each part of a time, and the greatest of them as the scale."""

    title: str
    most: int
    bars: list[Bar]
    labelled: list[Bar]
    """Those whose labels fit below the chart without touching."""
    width: float = WIDTH
    height: float = HEIGHT
    base: float = HEIGHT - BOTTOM


def columns(title: str, points: Sequence[tuple[str, int]], *, labels: int = 3) -> Columns:
    """A chart of (label, count), the oldest first; nothing happened, no bar."""
    most = max((count for _, count in points), default=0)
    base, step = HEIGHT - BOTTOM, (WIDTH - 2 * LEFT) / max(1, len(points))
    reach = (base - 24) / (most or 1)
    bars = [
        _bar(LEFT + number * step, step, count * reach, base, label, str(count), is_over=False)
        for number, (label, count) in enumerate(points)
    ]
    every = max(1, -(-len(bars) // labels))
    return Columns(title, most, bars, bars[::every])
