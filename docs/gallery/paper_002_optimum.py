"""Paper 002: the optimum of a small table.

Finding the release that loses least is NP-hard, but for sixteen rows `exact` finds it and proves it. `tclose.gap`
measures the other methods by that.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing

METHODS = ("exact", "tight", "mondrian", "sabre-knn", "clusters", "incognito")


def draw() -> str:
    df, schema = tclose.datasets.census(16, seed=3)
    keys = {**schema.as_dict(), "k": 2}
    keys["sensitive"]["salary"]["t"] = 0.3
    found = tclose.gap(df, keys, methods=METHODS, seed=1)
    losses = sorted((entry.loss, entry.method) for entry in found.entries if entry.loss is not None)
    entries = [Bar(method, loss, f"{loss:.3f}", "line1" if method == "exact" else "line0") for loss, method in losses]
    drawing = Drawing(720, bars_height(len(entries)))
    bars(drawing, ChartAxis("loss", [0, 0.2, 0.4, 0.6, 0.8, 1]), entries)
    return drawing.svg("The least loss that is possible, and what methods lose")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
