"""Charts: lines named at their ends, clouds of points, bars, and boxes of quartiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tclose.pages.svg import SHAPES, TEXT_HEIGHT, Drawing

N_COLOURS = 10
DASHES = ("", "6 4", "2 3")
LETTER = 7.3  # the width of a letter, about
Point = tuple[float, float]


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart, with its name at its end."""

    name: str
    points: list[Point]
    steps: bool = False  # a value holds until the next
    told: Sequence[str] = ()  # of each point, shown when it is pointed at
    look: int | None = None  # the number of its colour and shape, if not that of its place


@dataclass(frozen=True)
class ChartAxis:
    """What an axis shows, and its ticks, of which the first and the last are its ends."""

    title: str
    ticks: Sequence[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is."""
        scale: Callable[[float], float] = math.log if self.logarithmic else float
        first, last = scale(self.ticks[0]), scale(self.ticks[-1])
        return (scale(value) - first) / (last - first)


@dataclass(frozen=True)
class _Frame:
    """Where a chart lies in its drawing."""

    across: ChartAxis
    up: ChartAxis
    left: float
    right: float
    top: float
    bottom: float

    def at(self, point: Point) -> Point:
        return (
            self.left + self.across.share(point[0]) * (self.right - self.left),
            self.bottom - self.up.share(point[1]) * (self.bottom - self.top),
        )


@dataclass(frozen=True)
class Guides:
    """Straight lines that help to read a chart.

    Attributes
    ----------
    uprights
        Places across that are marked, ascending, each with words for it.
    chord
        The ends of a thin line.
    level
        A height that is marked.
    """

    uprights: Sequence[tuple[float, str]] = ()
    chord: tuple[Point, Point] | None = None
    level: float | None = None


def chart(
    drawing: Drawing,
    across: ChartAxis,
    up: ChartAxis,
    lines: Sequence[ChartLine],
    margin: float | None = None,
    guides: Guides | None = None,
) -> None:
    """Lines over the whole drawing, named at their right ends.

    The names are in a margin that wide, or as wide as they are.
    """
    guides = guides or Guides()
    below = TEXT_HEIGHT * max(len(guides.uprights) - 1, 0)
    frame = _framed(drawing, across, up, [line.name for line in lines], margin, below=below)
    _guide(drawing, frame, guides)
    ends = []
    looks = [place if line.look is None else line.look for place, line in enumerate(lines)]
    for number, line in zip(looks, lines, strict=True):
        places = [frame.at(point) for point in line.points]
        bent = places[:1]
        for before, after in pairwise(places):
            bent += [(after[0], before[1]), after] if line.steps else [after]
        drawing.line(bent, _colour(number), 2, DASHES[number // N_COLOURS % len(DASHES)])
        _marks(drawing, places, line, number)
        ends.append(places[-1])
    names = apart([y for _, y in ends], within=(frame.top, frame.bottom))
    for number, (x, y), line, beside in zip(looks, ends, lines, names, strict=True):
        if frame.right - x > 12 or abs(beside - y) > 4:
            drawing.line([(x + 5, y), (frame.right + 6, beside)], _colour(number), 0.8, "2 3")
        drawing.text(frame.right + 10, beside + 4, line.name, _colour(number))


def _guide(drawing: Drawing, frame: _Frame, guides: Guides) -> None:
    """Draw the guides: the words of uprights stand above the chart, each a line below the one before."""
    if guides.chord is not None:
        drawing.line([frame.at(end) for end in guides.chord], "quiet", 1, "3 4")
    if guides.level is not None:
        y = frame.at((frame.across.ticks[0], guides.level))[1]
        drawing.line([(frame.left, y), (frame.right, y)], "ink", 1.2, "6 4")
    for place, (value, words) in enumerate(guides.uprights):
        x = frame.at((value, frame.up.ticks[0]))[0]
        y = frame.top - 2 - TEXT_HEIGHT * (len(guides.uprights) - 1 - place)
        drawing.line([(x, y - 6), (x, frame.bottom)], "ink", 1.2, "6 4")
        near = frame.right - x < len(words) * LETTER
        drawing.text(x - 6 if near else x + 6, y, words, "ink b", "end" if near else "start")


def cloud(
    drawing: Drawing, across: ChartAxis, up: ChartAxis, groups: Sequence[ChartLine], edge: Sequence[Point] = ()
) -> None:
    """Points of several groups, each of its own colour and shape, listed at the right; and a line that bounds them."""
    frame = _framed(drawing, across, up, [group.name for group in groups], None, 26.0)
    if edge:
        places = [frame.at(point) for point in edge]
        bent = [(places[0][0], frame.top), places[0]]
        for before, after in pairwise(places):
            bent += [(after[0], before[1]), after]
        drawing.line([*bent, (frame.right, bent[-1][1])], "quiet", 1.4, "5 4")
    for number, group in enumerate(groups):
        places = [frame.at(point) for point in group.points]
        _marks(drawing, places, group, number, 4.6)
        y = frame.top + 6 + number * (TEXT_HEIGHT + 3)
        drawing.mark(frame.right + 20, y - 4, _colour(number), _shape(number))
        drawing.text(frame.right + 32, y, group.name, _colour(number))


def _framed(
    drawing: Drawing,
    across: ChartAxis,
    up: ChartAxis,
    names: Sequence[str],
    margin: float | None,
    more: float = 0.0,
    below: float = 0.0,
) -> _Frame:
    """Draw axes and grid, and leave room for the names at the right, and `below` the title."""
    wide = max(map(len, names), default=0) * LETTER + 22 + more if margin is None else margin
    left = 18 + max(len(plain(tick)) for tick in up.ticks) * LETTER
    frame = _Frame(across, up, max(left, 46.0), drawing.width - wide, 36.0 + below, drawing.height - 48.0)
    for tick in up.ticks:
        y = frame.at((across.ticks[0], tick))[1]
        drawing.line([(frame.left, y), (frame.right, y)], "faint", 1)
        drawing.text(frame.left - 8, y + 4, plain(tick), "quiet", "end")
    for tick in across.ticks:
        x = frame.at((tick, up.ticks[0]))[0]
        drawing.line([(x, frame.bottom), (x, frame.bottom + 4)], "quiet", 1)
        drawing.text(x, frame.bottom + 19, plain(tick), "quiet", "middle")
    drawing.text(8, 18, up.title, "ink b")
    drawing.text((frame.left + frame.right) / 2, drawing.height - 9, across.title, "ink b", "middle")
    return frame


def _marks(drawing: Drawing, places: Sequence[Point], line: ChartLine, number: int, size: float = 3.6) -> None:
    told = line.told or [""] * len(places)
    for (x, y), words in zip(places, told, strict=True):
        drawing.mark(x, y, _colour(number), _shape(number), words, size)


def _colour(number: int) -> str:
    return f"line{number % N_COLOURS}"


def _shape(number: int) -> str:
    return SHAPES[number % len(SHAPES)]


def plain(number: float) -> str:
    """A number of a scale, as people write it.

    Examples
    --------
    >>> plain(0.25), plain(1200000.0), plain(0.001)
    ('0.25', '1,200,000', '0.001')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.6f}".rstrip("0").rstrip(".")


def apart(
    heights: Sequence[float], least: float = TEXT_HEIGHT, within: tuple[float, float] = (-math.inf, math.inf)
) -> list[float]:
    """The heights, moved as little as needed so that no two are nearer than a line of text, and all are within.

    Examples
    --------
    >>> apart([10, 12, 50], least=10)
    [6.0, 16.0, 50.0]
    >>> apart([98, 99], least=10, within=(0.0, 100.0))
    [90.0, 100.0]
    """
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
    limit = within[1]
    for each in reversed(order):
        moved[each] = min(moved[each], limit)
        limit = moved[each] - least
    limit = within[0]
    for each in order:
        moved[each] = max(moved[each], limit)
        limit = moved[each] + least
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


def bars(drawing: Drawing, across: ChartAxis, entries: Sequence[Bar]) -> None:
    """Horizontal bars, one below the other, from the first tick on."""
    left = _left([entry.name for entry in entries])
    right = drawing.width - 20.0 - max(len(entry.words) for entry in entries) * LETTER
    top, row = 30.0, 22.0
    _grid(drawing, across, left, right, top, top + row * len(entries))
    for place, entry in enumerate(entries):
        y = top + row * place
        drawing.text(left - 8, y + 15, shortened(entry.name), anchor="end")
        length = max(across.share(max(entry.value, across.ticks[0])) * (right - left), 1.0)
        drawing.box(left, y + 4, length, row - 8, f"bar f {entry.kind}", f"{entry.name}: {entry.words}")
        drawing.text(left + length + 6, y + 15, entry.words, "quiet")


def bars_height(n: int) -> float:
    """The height of a drawing of so many bars."""
    return 30.0 + 22.0 * n + 28.0


@dataclass(frozen=True)
class BarsBeside:
    """Lengths of one name in several groups, and behind them the length in the whole."""

    name: str
    whole: float
    values: Sequence[float]


def bars_beside(drawing: Drawing, across: ChartAxis, groups: Sequence[str], entries: Sequence[BarsBeside]) -> None:
    """For each name a wide pale bar for the whole and a thin one for each group; what they are stands above."""
    left, right, top = _left([entry.name for entry in entries]), drawing.width - 40.0, 60.0
    row = beside_row(len(groups))
    _grid(drawing, across, left, right, top, top + row * len(entries), title_at=18.0)
    x = 18.0
    for place, name in enumerate(("the whole table", *groups)):
        drawing.box(x, 32, 12, 12, "f m quiet" if place == 0 else f"f {_colour(place - 1)}")
        drawing.text(x + 18, 42, name, "quiet")
        x += 18 + len(name) * LETTER + 14
    for place, entry in enumerate(entries):
        y = top + row * place

        def length(value: float) -> float:
            return max(across.share(value) * (right - left), 0.0)

        drawing.text(left - 8, y + row / 2 + 4, shortened(entry.name), anchor="end")
        told = f"{entry.name}, {{}}: {{:.1f}}%"
        drawing.box(left, y + 2, length(entry.whole), row - 4, "bar f m quiet", told.format("whole table", entry.whole))
        for number, (name, value) in enumerate(zip(groups, entry.values, strict=True)):
            words = told.format(name, value)
            drawing.box(left, y + 5 + 7 * number, max(length(value), 1.0), 5, f"bar f {_colour(number)}", words)


def beside_row(n_groups: int) -> float:
    """The height of a row with so many groups."""
    return max(8.0 + 7.0 * n_groups, 20.0)


def beside_height(n_groups: int, n: int) -> float:
    """The height of a drawing of so many groups and names."""
    return 60.0 + beside_row(n_groups) * n + 28.0


@dataclass(frozen=True)
class BoxOfValues:
    """A named distribution: least, lower quartile, median, upper quartile, largest."""

    name: str
    marks: tuple[float, float, float, float, float]
    kind: str = "line0"


def boxes(drawing: Drawing, across: ChartAxis, entries: Sequence[BoxOfValues]) -> None:
    """Distributions, one below the other: a line from end to end, a box from quartile to quartile."""
    left, right, top, row = _left([entry.name for entry in entries]), drawing.width - 40.0, 30.0, 24.0
    _grid(drawing, across, left, right, top, top + row * len(entries))
    for place, entry in enumerate(entries):
        y = top + row * place + row / 2
        least, lower, middle, upper, most = (left + across.share(mark) * (right - left) for mark in entry.marks)
        drawing.text(left - 8, y + 4, shortened(entry.name), anchor="end")
        drawing.line([(least, y), (most, y)], entry.kind, 1.5)
        told = f"{entry.name}: " + ", ".join(plain(mark) for mark in entry.marks)
        drawing.box(lower, y - 7, max(upper - lower, 2.0), 14, "f back")
        drawing.box(lower, y - 7, max(upper - lower, 2.0), 14, f"f m {entry.kind}", told)
        drawing.box(lower, y - 7, max(upper - lower, 2.0), 14, f"s {entry.kind}")
        drawing.line([(middle, y - 7), (middle, y + 7)], entry.kind, 2.6)


def boxes_height(n: int) -> float:
    """The height of a drawing of so many boxes."""
    return 30.0 + 24.0 * n + 28.0


def shares(drawing: Drawing, parts: Sequence[str], entries: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Bars of one length, each parted by its shares, which add up to 1; what the parts are stands above."""
    left, right, top, row = _left([name for name, _ in entries]), drawing.width - 20.0, 36.0, 26.0
    kinds = [f"f shade{place} line0" for place in range(len(parts))]
    x = left
    for kind, part in zip(kinds, parts, strict=True):
        drawing.box(x, 8, 12, 12, kind)
        drawing.box(x, 8, 12, 12, "s line0")
        drawing.text(x + 18, 18, part)
        x += 18 + len(part) * LETTER + 18
    for place, (name, lengths) in enumerate(entries):
        y, x = top + row * place, left
        drawing.text(left - 8, y + 15, shortened(name), anchor="end")
        for kind, part, length in zip(kinds, parts, lengths, strict=True):
            wide = length * (right - left)
            if wide > 0:
                drawing.box(x, y + 2, wide, row - 8, f"bar {kind}", f"{name}: {part} in {length:.0%} of the rows")
            x += wide
        drawing.box(left, y + 2, right - left, row - 8, "s line0")


def shares_height(n: int) -> float:
    """The height of a drawing of so many parted bars."""
    return 36.0 + 26.0 * n + 6.0


def shortened(name: str, most: int = 34) -> str:
    """A name that fits beside a bar."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _left(names: Sequence[str]) -> float:
    """Where bars begin, so that their names fit."""
    return 18 + max((len(shortened(name)) for name in names), default=0) * LETTER


def _grid(
    drawing: Drawing, across: ChartAxis, left: float, right: float, top: float, bottom: float, title_at: float = 18.0
) -> None:
    """Lines down from every tick, the ticks below them, and what they tell above."""
    for tick in across.ticks:
        x = left + across.share(tick) * (right - left)
        drawing.line([(x, top), (x, bottom)], "faint", 1)
        drawing.text(x, bottom + 17, plain(tick), "quiet", "middle")
    drawing.text(left, title_at, across.title, "ink b")
