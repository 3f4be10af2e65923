"""A panel as a picture: one chart a table, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.papers.figures import LOSS, REAL, Panel
from tclose.pages.charts import ChartAxis, ChartLine, chart, log_ticks, nice_ticks
from tclose.pages.svg import Drawing

WIDTH, HEIGHT = 470.0, 320.0
SHARES = (LOSS, REAL)  # from 0 to 1; the others may be far apart, and their axis is logarithmic


def picture(panel: Panel, points: Sequence[dict[str, Any]]) -> str:
    """The lines of all methods, on each table by itself and on one scale."""
    tables = dict.fromkeys((point["table"], point["title"]) for point in points)
    drawing = Drawing(len(tables) * WIDTH, HEIGHT)
    for place, (table, title) in enumerate(tables):
        chosen = [point for point in points if point["table"] == table]
        single = Drawing(WIDTH, HEIGHT)
        chart(single, _across(panel, chosen), _up(panel, title, points), lines(chosen))
        drawing.parts += [f'<g transform="translate({place * WIDTH:g} 0)">', *single.parts, "</g>"]
    return drawing.svg(f"Figure {panel.name} of paper 004 anew: {panel.up} over {panel.across}, by method")


def lines(points: Sequence[dict[str, Any]]) -> list[ChartLine]:
    methods = dict.fromkeys(point["method"] for point in points)
    return [
        ChartLine(
            method,
            [(point["x"], point["y"]) for point in points if point["method"] == method],
            told=[
                f"{method} at {point['x']:g}: {point['y']:.4g}; {point['classes']:,} classes"
                for point in points
                if point["method"] == method
            ],
        )
        for method in methods
    ]


def _across(panel: Panel, points: Sequence[dict[str, Any]]) -> ChartAxis:
    return ChartAxis(panel.across, list(dict.fromkeys(point["x"] for point in points)), panel.logarithmic)


def _up(panel: Panel, table: str, points: Sequence[dict[str, Any]]) -> ChartAxis:
    least, most = (edge(point["y"] for point in points) for edge in (min, max))
    if panel.up in SHARES or least <= 0:
        return ChartAxis(f"{panel.up}, {table}", nice_ticks(0.0, most))
    return ChartAxis(f"{panel.up}, {table}", log_ticks(least, most), logarithmic=True)
