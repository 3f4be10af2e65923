"""Measure the figures, and leave data, pictures and a page."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.papers import page
from benchmarks.papers.draw import picture
from benchmarks.papers.figures import BY_STEP, BY_WINDOW, FIGURES, PANELS, ROWS, Panel, part_of
from benchmarks.papers.runs import METHODS, QUERIES, SEED, Runs, Setting
from benchmarks.papers.tables import SEED as TABLE_SEED
from benchmarks.papers.tables import Census, census, nist, nist_is_there
from benchmarks.results import ROOT, machine, show

FOLDER = ROOT / "docs" / "pictures" / "papers"
PAGE = ROOT / "docs" / "papers-004.md"
N_ROWS = int(os.environ.get("TCLOSE_ROWS", 100_000))
NUMBERS = tuple(figure.number for figure in FIGURES)


def run(console: Console) -> dict[str, Any]:
    """All figures, and the page; for `python -m benchmarks papers`."""
    counts = rebuild(NUMBERS, FOLDER, N_ROWS, QUERIES)
    judged = page.judged(FOLDER)
    PAGE.write_text(page.text(FOLDER), encoding="utf-8")
    lines = [[f"{each['figure']}, {each['table']}", each["claim"], each["verdict"]] for each in judged]
    show(console, "Claims of paper 004, on these tables", ["figure, table", "claim", "verdict"], lines)
    return {"rows": N_ROWS, "points": counts, "claims": judged}


def rebuild(numbers: Sequence[int], folder: Path, n_rows: int, queries: int) -> dict[int, int]:
    """Measure these figures, write their data and pictures, and count their points."""
    folder.mkdir(parents=True, exist_ok=True)
    points: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    load = os.getloadavg()[0]
    for table in _tables(n_rows):
        runs = Runs(table, queries)
        for number in numbers:
            for panel in (each for each in PANELS if each.figure == number):
                print(f"figure {panel.name}, {table.title}", file=sys.stderr, flush=True)
                points[number] += measure(panel, runs, n_rows)
        _write(points, folder, n_rows, queries, load)  # a table that fails does not take the others with it
    draw(folder)
    return {number: len(found) for number, found in points.items()}


def _write(points: dict[int, list[dict[str, Any]]], folder: Path, n_rows: int, queries: int, load: float) -> None:
    """The data of each figure."""
    for number, found in points.items():
        data = {
            "paper": "004",
            "figure": number,
            "rows": n_rows,
            "seed": SEED,
            "table_seed": TABLE_SEED,
            "queries": queries,
            "machine": machine(),
            "load_before": round(load, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "points": found,
        }
        (folder / f"figure{number}.json").write_text(page.as_json(data), encoding="utf-8")


def draw(folder: Path) -> None:
    """The pictures of all figures whose data is there."""
    for number, data in page.figures(folder).items():
        for panel in (each for each in PANELS if each.figure == number):
            drawn = picture(panel, [point for point in data["points"] if point["panel"] == panel.name])
            (folder / f"figure{panel.name}.svg").write_text(drawn, encoding="utf-8")


def measure(panel: Panel, runs: Runs, n_rows: int) -> list[dict[str, Any]]:
    """The points of a panel on one table."""
    most = len(runs.census.frame)
    default = Setting(min(2 * n_rows if panel.across in (BY_STEP, BY_WINDOW) else n_rows, most))
    places = places_of(panel, most, default.rows)
    return [
        {
            "panel": panel.name,
            "table": runs.census.name,
            "title": runs.census.title,
            "method": method,
            "x": x,
            **runs.answer(panel.setting(default, x), method, panel.question(x)),
        }
        for method in panel.methods
        if method in METHODS
        for x in places
    ]


def places_of(panel: Panel, most: int, n_rows: int) -> list[float]:
    """The places across on a table that has so many rows at most, of which so many are taken."""
    if panel.across == ROWS:
        return [most * int(fifth) // 5 for fifth in panel.xs]
    if panel.across in (BY_STEP, BY_WINDOW):
        return [int(parts) * part_of(n_rows) for parts in panel.xs]
    return list(panel.xs)


def _tables(n_rows: int) -> list[Census]:
    """The synthetic census, five times as large as by default, and the real one, at most as large, if it is there."""
    if not nist_is_there():
        print("The real table is left out: the shared data is not there.", file=sys.stderr)
    return [census(5 * n_rows), *([nist(5 * n_rows)] if nist_is_there() else [])]
