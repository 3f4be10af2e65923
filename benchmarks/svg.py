"""Pictures as SVG text: points, boxes and lines, legible on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

# By name: on light, on dark. The lines of a chart take `line0`, `line1`, ... in turn.
COLOURS = {
    "back": ("#ffffff", "#12161c"),
    "ink": ("#1f2328", "#e6e9ee"),
    "faint": ("#d5dae0", "#3a424c"),
    "first": ("#0969b8", "#63b0ff"),
    "second": ("#c8570b", "#ffa257"),
    "line0": ("#0969b8", "#63b0ff"),
    "line1": ("#c8570b", "#ffa257"),
    "line2": ("#1a7f37", "#5ccf78"),
    "line3": ("#8a3fbf", "#cf9bff"),
    "line4": ("#a8336b", "#ff8fbf"),
    "line5": ("#6b5d00", "#d9c84a"),
}
TEXT_HEIGHT = 15.0


def _style() -> str:
    def rules(which: int) -> str:
        return "".join(f".{name}{{color:{shades[which]}}}" for name, shades in COLOURS.items())

    return (
        "text{font:13px system-ui,sans-serif;fill:currentColor}.b{font-weight:600}"
        ".f{fill:currentColor}.s{fill:none;stroke:currentColor;stroke-width:1.1}.t{fill-opacity:.05}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}"
    )


@dataclass
class Drawing:
    """An SVG in the making; classes name colours (`COLOURS`) and how they fill: f full, s stroke, t see-through."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>')

    def dots(self, points: Iterable[tuple[float, float]], kind: str, square: bool = False, size: float = 4.8) -> None:
        """Dots, or squares of the same size: so that colour is not all that tells them apart."""
        edge = 0.9 * size
        if square:
            path = "".join(
                f"M{x - edge / 2:.1f} {y - edge / 2:.1f}h{edge:.1f}v{edge:.1f}h-{edge:.1f}z" for x, y in points
            )
            self.parts.append(f'<path d="{path}" class="f {kind}"/>')
        else:
            path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
            self.parts.append(f'<path d="{path}" class="s {kind}" style="stroke-width:{size:g};stroke-linecap:round"/>')

    def ring(self, x: float, y: float) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="s ink"/>')

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="1" class="{kind}"/>'
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str, width: float = 1.3, dash: str = "") -> None:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{path}" class="s {kind}" style="stroke-width:{width:g}"{dashed}/>')

    def svg(self, title: str) -> str:
        """The whole file, with a title for those who cannot see it."""
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
                f'width="{self.width:g}" height="{self.height:g}" role="img">',
                f"<title>{escape(title)}</title>",
                f"<style>{_style()}</style>",
                f'<rect width="{self.width:g}" height="{self.height:g}" rx="6" class="f back"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


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
        drawing.line(bent, f"line{number}", 2)
        drawing.dots(places, f"line{number}")
        ends.append((places[-1], line.name, number))
    names = apart([y for (_, y), _, _ in ends])
    for ((x, y), name, number), beside in zip(ends, names, strict=True):
        if right - x > 12 or abs(beside - y) > 4:
            drawing.line([(x + 4, y), (right + 4, beside)], f"line{number}", 0.8, "2 3")
        drawing.text(right + 8, beside + 4, name, f"line{number}")


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
