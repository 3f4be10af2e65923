"""Charts: lines named at their ends, bars, and boxes of quartiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tclose.pages.svg import TEXT_HEIGHT, Drawing

N_COLOURS = 10


@dataclass(frozen=True)
class Line:
    """A line of a chart, with its name at its end."""

    name: str
    points: list[tuple[float, float]]
    steps: bool = False  # a value holds until the next


@dataclass(frozen=True)
class Axis:
    """What an axis shows, and its ticks, of which the first and the last are its ends."""

    title: str
    ticks: Sequence[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is."""
        scale: Callable[[float], float] = math.log if self.logarithmic else float
        first, last = scale(self.ticks[0]), scale(self.ticks[-1])
        return (scale(value) - first) / (last - first)


def chart(drawing: Drawing, across: Axis, up: Axis, lines: Sequence[Line], margin: float = 120.0) -> None:
    """Lines over the whole drawing, named at their right ends, in a margin that wide."""
    left, right, top, bottom = 62.0, drawing.width - margin, 34.0, drawing.height - 48.0

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return left + across.share(point[0]) * (right - left), bottom - up.share(point[1]) * (bottom - top)

    for tick in up.ticks:
        y = at((across.ticks[0], tick))[1]
        drawing.line([(left, y), (right, y)], "faint", 1)
        drawing.text(left - 8, y + 4, f"{tick:g}", anchor="end")
    for tick in across.ticks:
        x = at((tick, up.ticks[0]))[0]
        drawing.line([(x, bottom), (x, bottom + 4)], "ink", 1)
        drawing.text(x, bottom + 19, f"{tick:g}", anchor="middle")
    drawing.text(14, 20, up.title)
    drawing.text((left + right) / 2, drawing.height - 9, across.title, anchor="middle")
    ends = []
    for number, line in enumerate(lines):
        places = [at(point) for point in line.points]
        bent = places[:1]
        for before, after in pairwise(places):
            bent += [(after[0], before[1]), after] if line.steps else [after]
        drawing.line(bent, f"line{number % N_COLOURS}", 2)
        drawing.dots(places, f"line{number % N_COLOURS}")
        ends.append((places[-1], line.name, number))
    names = apart([y for (_, y), _, _ in ends])
    for ((x, y), name, number), beside in zip(ends, names, strict=True):
        if right - x > 12 or abs(beside - y) > 4:
            drawing.line([(x + 4, y), (right + 4, beside)], f"line{number % N_COLOURS}", 0.8, "2 3")
        drawing.text(right + 8, beside + 4, name, f"line{number % N_COLOURS}")


def apart(heights: Sequence[float], least: float = TEXT_HEIGHT) -> list[float]:
    """The heights, moved as little as needed so that no two are nearer than a line of text."""
    order = sorted(range(len(heights)), key=lambda each: heights[each])
    groups: list[list[int]] = []
    for each in order:
        groups.append([each])
        while len(groups) > 1 and _first(groups[-1], heights, least) < _last(groups[-2], heights, least) + least:
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = [0.0] * len(heights)
    for group in groups:
        for place, each in enumerate(group):
            moved[each] = _first(group, heights, least) + place * least
    return moved


def _first(group: list[int], heights: Sequence[float], least: float) -> float:
    """The height of the first of names that stand one below the other around their middle."""
    return sum(heights[each] for each in group) / len(group) - (len(group) - 1) * least / 2


def _last(group: list[int], heights: Sequence[float], least: float) -> float:
    return _first(group, heights, least) + (len(group) - 1) * least


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from below `low` to above `high`, evenly apart.

    Examples
    --------
    >>> nice_ticks(0.03, 0.42)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    if high <= low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from below `low` to above `high`.

    Examples
    --------
    >>> log_ticks(0.3, 42)
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


@dataclass(frozen=True)
class Bar:
    """A named length, with words for it and its colour."""

    name: str
    value: float
    words: str
    kind: str = "line0"


def bars(drawing: Drawing, across: Axis, entries: Sequence[Bar], left: float = 130.0) -> None:
    """Horizontal bars, one below the other, from the first tick on."""
    right, top, row = drawing.width - 70.0, 30.0, 22.0
    _grid(drawing, across, left, right, top, top + row * len(entries))
    for place, entry in enumerate(entries):
        y = top + row * place
        drawing.text(left - 8, y + 15, entry.name, anchor="end")
        length = max(across.share(max(entry.value, across.ticks[0])) * (right - left), 1.0)
        drawing.box(left, y + 4, length, row - 8, f"f {entry.kind}")
        drawing.text(left + length + 6, y + 15, entry.words)


@dataclass(frozen=True)
class Box:
    """A named distribution: least, lower quartile, median, upper quartile, largest."""

    name: str
    marks: tuple[float, float, float, float, float]
    kind: str = "line0"


def boxes(drawing: Drawing, across: Axis, entries: Sequence[Box], left: float = 130.0) -> None:
    """Distributions, one below the other: a line from end to end, a box from quartile to quartile."""
    right, top, row = drawing.width - 40.0, 30.0, 26.0
    _grid(drawing, across, left, right, top, top + row * len(entries))
    for place, entry in enumerate(entries):
        y = top + row * place + row / 2
        least, lower, middle, upper, most = (left + across.share(mark) * (right - left) for mark in entry.marks)
        drawing.text(left - 8, y + 4, entry.name, anchor="end")
        drawing.line([(least, y), (most, y)], entry.kind, 1.5)
        drawing.box(lower, y - 7, max(upper - lower, 2.0), 14, f"f t {entry.kind}")
        drawing.box(lower, y - 7, max(upper - lower, 2.0), 14, f"s {entry.kind}")
        drawing.line([(middle, y - 7), (middle, y + 7)], entry.kind, 2.6)


def _grid(drawing: Drawing, across: Axis, left: float, right: float, top: float, bottom: float) -> None:
    """Lines down from every tick, the ticks below them, and what they tell above."""
    for tick in across.ticks:
        x = left + across.share(tick) * (right - left)
        drawing.line([(x, top), (x, bottom)], "faint", 1)
        drawing.text(x, bottom + 17, f"{tick:g}", anchor="middle")
    drawing.text(left, 18, across.title)
