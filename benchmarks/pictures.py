"""Draw the pictures of docs/tight.md from real runs: `python -m benchmarks.pictures`, or some by name.

TCLOSE_PICTURE_SECONDS is the time of effort `best`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tclose
from benchmarks.results import ROOT
from benchmarks.tables import Table, measure
from tclose.algorithms import find
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.demand import decidable, soften
from tclose.algorithms.tight.pieces import Piece
from tclose.algorithms.tight.tight import Tight
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

FOLDER = ROOT / "docs" / "pictures"
N_TOY, SIDE, K_TOY = 300, 100, 8
T_TOY, T_CUTS = Fraction(1, 5), Fraction(1, 10)  # the stricter one so that the first cut needs mending
PANEL = 300.0
CENSUS_ROWS = 20_000
BEST_SECONDS = float(os.environ.get("TCLOSE_PICTURE_SECONDS", 60))
THRESHOLDS = ("0.05", "0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5")
Labels = NDArray[np.int64]


def toy(t: Fraction = T_TOY) -> tuple[EncodedTable, Requirement]:
    """Rows on a square, and a sensitive attribute of two values: ill, mostly to the upper right, and well.

    Of the seeds 1 to 6 this is the one with which `mondrian` loses least.
    """
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, SIDE + 1, N_TOY), rng.integers(0, SIDE + 1, N_TOY)
    ill = rng.random(N_TOY) < 0.2 + 0.6 / (1 + np.exp((SIDE - x - y) / 15))
    frame = pl.DataFrame({"x": x, "y": y, "state": np.where(ill, "ill", "well")})
    keys = {
        "k": K_TOY,
        "quasi": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
        "sensitive": {"state": {"distance": "equal", "t": str(float(t))}},
    }
    table = encode(read(frame), Schema.from_dict(keys))
    return table, Requirement.of(Schema.from_dict(keys), table)


def partition(table: EncodedTable, requirement: Requirement, method: Any) -> Labels:
    return find(method).partition(table, requirement, rng=np.random.default_rng(0), control=Control()).labels


def first_cut(table: EncodedTable, requirement: Requirement, mends: int) -> Labels:
    """The labels after only the whole table was cut."""
    asked = decidable(requirement)
    return Piece.of(table, asked, soften(asked), len(table)).split(0.0, mends, len(table), Control())


def distances(table: EncodedTable, labels: Labels) -> list[float]:
    """How far each class is: for two values, the difference of the shares of one."""
    ill = table.codes[0] == 0
    return [abs(float(ill[labels == each].mean() - ill.mean())) for each in range(int(labels.max()) + 1)]


def _moved(table: EncodedTable, labels: Labels) -> NDArray[np.bool_]:
    """The rows that lie on the other side of the cut than their class: of all cuts, that with the fewest."""
    wrong = [
        (places > place) != (labels == side)
        for places in table.places
        for place in np.unique(places)
        for side in range(2)
    ]
    return min(wrong, key=np.count_nonzero)


def panel(
    drawing: Drawing,
    left: float,
    table: EncodedTable,
    labels: Labels | None,
    heads: list[str],
    ringed: NDArray[np.bool_] | None = None,
) -> None:
    """The toy table in a square, the boxes of its classes around its rows, and some words above."""
    top, pad = 52.0, 8.0
    for line, words in enumerate(heads):
        drawing.text(left, 20 + 18 * line, words, "ink b" if line == 0 else "ink")
    drawing.box(left, top, PANEL, PANEL, "s faint")
    inside = PANEL - 2 * pad
    shares = [axis.coordinates[places] for axis, places in zip(table.axes, table.places, strict=True)]
    across, down = left + pad + shares[0] * inside, top + pad + (1 - shares[1]) * inside
    for each in range(0 if labels is None else int(labels.max()) + 1):
        a, b = across[labels == each], down[labels == each]
        place = (a.min() - 4, b.min() - 4, np.ptp(a) + 8, np.ptp(b) + 8)
        drawing.box(*place, "f t ink")
        drawing.box(*place, "s ink")
    for ill, kind in enumerate(("first", "second")):
        shown = (table.codes[0] == 0) == ill
        drawing.dots(zip(across[shown], down[shown], strict=True), kind, square=bool(ill))
    if ringed is not None:
        for x, y in zip(across[ringed], down[ringed], strict=True):
            drawing.ring(x, y)


def table_picture() -> str:
    """The toy table."""
    table, _ = toy()
    ill = float((table.codes[0] == 0).mean())
    drawing = Drawing(2 * PANEL + 20, PANEL + 72)
    panel(drawing, 20, table, None, [f"{len(table)} rows, two quasi-identifiers", "x across, y up"])
    left = PANEL + 44
    drawing.dots([(left + 4, 92)], "second", square=True, size=8)
    drawing.text(left + 18, 97, f"ill: {ill:.0%} of the rows")
    drawing.dots([(left + 4, 116)], "first", size=8)
    drawing.text(left + 18, 121, "well")
    lines = (
        f"A class may have {ill - T_TOY:.0%} to {ill + T_TOY:.0%} ill",
        f"(t = {float(T_TOY):g}) and needs {K_TOY} rows (k = {K_TOY}).",
        "To the lower left most are well, to the",
        "upper right most are ill: there, small",
        "boxes are rarely close.",
    )
    for place, words in enumerate(lines):
        drawing.text(left, 160 + 20 * place, words)
    return drawing.svg("A toy table: rows as points, coloured by the sensitive value")


def cuts_picture() -> str:
    """The cut that saves most, the close one that saves most, and the mended one that does."""
    table, requirement = toy(T_CUTS)
    free = replace(requirement, attributes=tuple(replace(each, t=Fraction(1)) for each in requirement.attributes))
    drawing = Drawing(3 * PANEL + 80, PANEL + 92)
    cuts = {
        "The cut that saves most": first_cut(table, free, 0),
        "The close cut that saves most": first_cut(table, requirement, 0),
        "The mended cut that saves most": first_cut(table, requirement, 6),
    }
    whole = table.loss(np.zeros(len(table), np.int64))
    for place, (title, labels) in enumerate(cuts.items()):
        saved = (whole - table.loss(labels)) / whole
        far = ", ".join(f"{distance:.2f}" for distance in distances(table, labels))
        sizes = " + ".join(str(size) for size in np.bincount(labels))
        over = _moved(table, labels)
        left = 20 + place * (PANEL + 20)
        panel(drawing, left, table, labels, [title, f"saves {saved:.0%}; distances {far}"], over)
        words = f"; {over.sum()} moved over (ringed)" if over.any() else ""
        drawing.text(left, PANEL + 76, f"{sizes} rows{words}")
    return drawing.svg("The first cut of the toy table: not close, close, and mended")


def classes_picture() -> str:
    """What mondrian and tight make of the toy table."""
    table, requirement = toy()
    drawing = Drawing(2 * PANEL + 60, PANEL + 72)
    for place, method in enumerate(("mondrian", "tight")):
        labels = partition(table, requirement, method)
        words = [method, f"{int(labels.max()) + 1} classes, loss {table.loss(labels):.3f}"]
        panel(drawing, 20 + place * (PANEL + 20), table, labels, words)
    return drawing.svg("The classes of mondrian and of tight on the toy table")


def time_picture() -> str:
    """Loss over time, by effort."""
    frame, schema = tclose.datasets.census(CENSUS_ROWS, seed=1)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    lines = []
    for effort in ("fast", "balanced", "best"):
        method = Tight(effort)
        method.partition(table.take(np.arange(1000)), requirement, rng=np.random.default_rng(0), control=Control(5.0))
        points: list[tuple[float, float]] = []
        began = time.perf_counter()

        def listen(loss: float | None, done: float | None, began: float = began, points: Any = points) -> None:
            if loss is not None:
                points.append((time.perf_counter() - began, loss))

        method.partition(table, requirement, rng=np.random.default_rng(0), control=Control(BEST_SECONDS, listen))
        lines.append(ChartLine(effort, points, steps=True))
    losses = [loss for line in lines for _, loss in line.points]
    last = max(seconds for line in lines for seconds, _ in line.points)
    first = min(seconds for line in lines for seconds, _ in line.points)
    scale = [factor * 10.0**power for power in range(-3, 5) for factor in (1, 2, 5)]
    ticks = [
        tick
        for before, tick, after in zip([0.0, *scale], scale, [*scale[1:], np.inf], strict=False)
        if after > first and before < last
    ]
    drawing = Drawing(640, 360)
    heights = [place / 50 for place in range(int(max(losses) * 50) + 2)]
    chart(drawing, ChartAxis("seconds", ticks, logarithmic=True), ChartAxis("loss", heights), lines, 90)
    return drawing.svg(f"Loss over time on {CENSUS_ROWS:,} census rows, by effort")


def methods_picture() -> str:
    """Loss against t, by method."""
    frame, schema = tclose.datasets.census(CENSUS_ROWS, seed=1)
    table = Table("census", "synthetic census", frame, schema.as_dict(), ROOT)
    runs: dict[str, Any] = {name: name for name in ("incognito", "sabre-ak", "sabre-knn", "mondrian")}
    runs |= {f"tight {effort}": Tight(effort) for effort in ("fast", "balanced")}
    lines = [
        ChartLine(name, [(float(t), measure(table, t, method)["loss"]) for t in THRESHOLDS])
        for name, method in reversed(runs.items())
    ]
    drawing = Drawing(680, 400)
    across = ChartAxis("t", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5))
    chart(drawing, across, ChartAxis("loss", (0, 0.2, 0.4, 0.6, 0.8, 1)), lines)
    return drawing.svg(f"Loss against t on {CENSUS_ROWS:,} census rows, by method")


PICTURES: dict[str, Callable[[], str]] = {
    "table": table_picture,
    "cuts": cuts_picture,
    "classes": classes_picture,
    "time": time_picture,
    "methods": methods_picture,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        (FOLDER / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")


if __name__ == "__main__":
    main()
