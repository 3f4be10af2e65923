"""Paper 003 anew: class sizes, loss and time on Adult with two sensitive attributes (tables 6 to 8, figures 3 to 6).

TCLOSE_DISTANCES, names with commas between, chooses how occupations are apart: tree, equal.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from benchmarks import adult
from benchmarks.results import ROOT, show, verdict
from tclose.algorithms import Algorithm, find
from tclose.algorithms.clusters.microaggregation import Microaggregation
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import Tight
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.class_distances import class_distances
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

KS = (2, 5, 10, 15, 20)
KS_OF_TIGHT = (2, 10)
THRESHOLDS = ("0.1", "0.2", "0.3", "0.4", "0.5")
QUASI = ("age", "workclass", "marital-status", "race", "sex", "native-country", "salary-class")
DISTANCES: dict[str, dict[str, Any]] = {
    "tree": {"distance": "hierarchical", "hierarchy": "occupation.csv"},
    "equal": {"distance": "equal"},
}
METHODS: dict[str, str | Algorithm] = {
    "clusters": "clusters",
    "pca": "pca",
    "k-first": Microaggregation("k-first"),
    "t-first": Microaggregation("t-first"),
    "tight": Tight("fast"),
}
# Tables 6, 7 and 8: for each k the smallest, largest and average class at t = 0.1 to 0.5.
PRINTED = {
    "clusters": {
        2: "8/14/12 8/10/9 8/10/9 6/10/8 6/8/7",
        5: "10/25/18 10/20/16 10/20/13 5/15/10 5/15/8",
        10: "10/30/25 10/20/18 10/20/14 10/20/12 10/20/12",
        15: "15/15/15 15/15/15 15/15/15 15/15/15 15/15/15",
        20: "20/20/20 20/20/20 20/20/20 20/20/20 20/20/20",
    },
    "pca": {
        2: "8/12/10 8/10/9 6/8/7 6/8/7 6/8/6",
        5: "10/20/15 10/16/14 5/10/8 5/11/6 5/10/6",
        10: "10/30/28 10/30/20 10/20/16 10/20/12 10/20/12",
        15: "15/30/18 15/30/18 15/15/15 15/15/15 15/15/15",
        20: "20/40/22 20/40/22 20/20/20 20/20/20 20/20/20",
    },
    "k-first": {
        2: "8/10/9 8/10/9 6/10/8 6/8/7 6/8/7",
        5: "10/20/14 10/20/12 5/10/8 5/10/8 5/10/6",
        10: "10/30/25 10/20/15 10/20/14 10/20/12 10/10/10",
        15: "15/30/23 15/30/21 15/15/15 15/15/15 15/15/15",
        20: "20/40/27 20/40/24 20/20/20 20/20/20 20/20/20",
    },
}
PICTURE = ROOT / "docs" / "pictures" / "multiple.svg"


def run(console: Console) -> dict[str, Any]:
    if not adult.is_there():
        console.print("multiple is not measured: the shared data is not there.")
        return {"cases": []}
    frame = rows()
    cases = []
    for distance in os.environ.get("TCLOSE_DISTANCES", ",".join(DISTANCES)).split(","):
        table = encode(read(frame), schema(distance, 2, "0.5"))
        for method in METHODS.values():
            measure(table.take(np.arange(2000)), schema(distance, 2, "0.5"), method)  # loads and compiles
        done = [
            {"distance": distance, "method": name, "k": k, "t": t, **measure(table, schema(distance, k, t), method)}
            for name, method in METHODS.items()
            for k in (KS_OF_TIGHT if name == "tight" else KS)
            for t in THRESHOLDS
        ]
        _show(console, distance, done)
        cases += done
    if any(case["distance"] == "tree" for case in cases):
        PICTURE.write_text(picture([case for case in cases if case["distance"] == "tree"]), encoding="utf-8")
    return {"cases": cases, "smallest": _smallest(console, frame)}


def rows() -> pl.DataFrame:
    """The 45,222 complete rows with the nine columns of table 5."""
    columns = [*QUASI, "occupation", "education-num"]
    table = pl.read_csv(adult.TABLE, columns=columns).select(columns)
    return table.filter(pl.all_horizontal(pl.col(name) != "?" for name in adult.WITH_MISSING))


def schema(distance: str, k: int, t: str) -> Schema:
    quasi = {
        name: {"kind": "numeric"} if name == "age" else {"kind": "categorical", "hierarchy": f"{name}.csv"}
        for name in QUASI
    }
    sensitive = {"occupation": {**DISTANCES[distance], "t": t}, "education-num": {"distance": "ordered", "t": t}}
    return Schema.from_dict({"k": k, "quasi": quasi, "sensitive": sensitive}, base=adult.HIERARCHIES)


def measure(table: EncodedTable, asked: Schema, method: str | Algorithm) -> dict[str, Any]:
    """What one run finds: classes as the method forms them, also where two of them look alike when released."""
    requirement = Requirement.of(asked, table)
    started, worked = time.perf_counter(), time.process_time()
    found = find(method).partition(table, requirement, rng=np.random.default_rng(0), control=Control())
    sizes = np.bincount(found.labels)
    tallies = (Tally.of(found.labels, codes, d.size) for codes, d in zip(table.codes, table.domains, strict=True))
    distances = [class_distances(d.form, tally) for d, tally in zip(table.domains, tallies, strict=True)]
    return {
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "average": float(sizes.mean()),
        "loss": table.loss(found.labels),
        "farthest": float(max(each.largest() for each in distances)),
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - worked,
    }


def _show(console: Console, distance: str, cases: Sequence[dict[str, Any]]) -> None:
    found = {(case["method"], case["k"], case["t"]): case for case in cases}
    header = ["k", *(f"t = {t}" for t in THRESHOLDS)]
    for name in METHODS:
        lines = []
        for k in dict.fromkeys(case["k"] for case in cases if case["method"] == name):
            ours = [found[name, k, t] for t in THRESHOLDS]
            lines.append([str(k), *(f"{one['smallest']}/{one['largest']}/{one['average']:.1f}" for one in ours)])
            if name in PRINTED:
                lines.append(["printed", *PRINTED[name][k].split()])
        show(console, f"{name}, occupation {distance}: smallest/largest/average class", header, lines)
    for what, digits in (("loss", 3), ("processor_seconds", 1)):
        lines = [
            [f"{name} {k}", *(f"{found[name, k, t][what]:.{digits}f}" for t in THRESHOLDS)]
            for name, k in dict.fromkeys((case["method"], case["k"]) for case in cases)
            if what == "loss" or k == KS[0]
        ]
        show(
            console,
            f"occupation {distance}: {what} (of 7 quasi-identifiers the mean)",
            ["method, k", *header[1:]],
            lines,
        )
    met = all(case["farthest"] <= float(case["t"]) and case["smallest"] >= case["k"] for case in cases)
    verdict(console, met, "every class of every run has k rows and is within t")


def smallest_class(branches: Sequence[Sequence[int]], is_tree: bool, t: Fraction) -> int:
    """The fewest rows that can be within t of a table, whose rows of each value are given branch by branch.

    By a tree of height 2 the distance is (sum over values of |c n - s N| + the same over branches)
    / (4 n s), by the equal distance the first sum / (2 n s). The best values for every number of
    rows of a branch, and then the best numbers.
    """
    n = sum(map(sum, branches))
    size = 0
    while True:
        size += 1
        least: dict[int, int] = {0: 0}
        for rows in branches:
            costs = _least_costs(rows, size, n)
            if is_tree:
                costs = [cost + abs(taken * n - size * sum(rows)) for taken, cost in enumerate(costs)]
            least = {
                total: min(least[total - taken] + costs[taken] for taken in range(total + 1) if total - taken in least)
                for total in range(size + 1)
            }
        if Fraction(least[size], (4 if is_tree else 2) * n * size) <= t:
            return size


def _least_costs(rows: Sequence[int], size: int, n: int) -> list[int]:
    """The least sum of |c n - s N| over these values with 0, 1, ... s rows: one more where that costs least."""
    taken = [0] * len(rows)
    costs = [size * sum(rows)]
    for _ in range(size):
        steps = [abs((c + 1) * n - size * row) - abs(c * n - size * row) for c, row in zip(taken, rows, strict=True)]
        best = min(range(len(rows)), key=steps.__getitem__)
        costs.append(costs[-1] + steps[best])
        taken[best] += 1
    return costs


def _smallest(console: Console, frame: pl.DataFrame) -> dict[str, dict[str, int]]:
    """How small a class can be at all, by occupation alone."""
    branches = Hierarchy.read(adult.HIERARCHIES / "occupation.csv").nested()
    of_value = dict(frame["occupation"].value_counts().iter_rows())
    counts = [[of_value[leaf] for leaf in leaves] for leaves in branches.values()]
    found = {name: {t: smallest_class(counts, name == "tree", Fraction(t)) for t in THRESHOLDS} for name in DISTANCES}
    lines = [[name, *(str(sizes[t]) for t in THRESHOLDS)] for name, sizes in found.items()]
    show(console, "The smallest class that can be, by occupation alone", ["", *(f"t = {t}" for t in THRESHOLDS)], lines)
    return found


def picture(cases: Sequence[dict[str, Any]]) -> str:
    """Figures 3 to 6: loss over t for each k, method by method, and time over t at k = 2."""
    width, height = 430.0, 300.0
    drawing = Drawing(2 * width, 2 * height)
    across = ChartAxis("t", tuple(map(float, THRESHOLDS)))
    titles = {"clusters": "loss, clusters", "pca": "loss, pca", "k-first": "loss, microaggregation k-first"}
    for place, (name, title) in enumerate(titles.items()):
        lines = [
            ChartLine(f"k = {k}", [(float(c["t"]), c["loss"]) for c in cases if c["method"] == name and c["k"] == k])
            for k in reversed(KS)
        ]
        highest = max(loss for line in lines for _, loss in line.points)
        up = ChartAxis(title, [step / 10 for step in range(int(highest * 10) + 2)])
        _panel(drawing, place, width, height, across, up, lines)
    lines = [
        ChartLine(
            name, [(float(c["t"]), c["processor_seconds"]) for c in cases if c["method"] == name and c["k"] == KS[0]]
        )
        for name in METHODS
    ]
    longest = max(seconds for line in lines for _, seconds in line.points)
    up = ChartAxis("processor seconds, k = 2", [step * math.ceil(longest / 4) for step in range(5)])
    _panel(drawing, 3, width, height, across, up, lines)
    return drawing.svg("Loss and time over t on Adult with two sensitive attributes, by method and k")


def _panel(
    drawing: Drawing,
    place: int,
    width: float,
    height: float,
    across: ChartAxis,
    up: ChartAxis,
    lines: Sequence[ChartLine],
) -> None:
    panel = Drawing(width, height)
    chart(panel, across, up, lines, 90)
    moved = f'<g transform="translate({place % 2 * width:g} {place // 2 * height:g})">'
    drawing.parts += [moved, *panel.parts, "</g>"]
