"""Paper 004: buckets of SABRE.

SABRE sorts the sensitive values into buckets first and lets every class take its share of each. `mondrian` cuts the
table by quasi-identifiers and checks the sensitive values only to refuse a cut. The picture compares them over t.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

METHODS = ("sabre-knn", "sabre-ak", "mondrian", "incognito")
THRESHOLDS = ("0.1", "0.2", "0.3", "0.4", "0.5")


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    found = tclose.compare(df, schema, methods=METHODS, t=THRESHOLDS, seed=1, jobs=1, queries=0)
    lines = []
    for name in METHODS:
        runs = [run for run in found.runs if run.method == name and run.refused is None and run.t is not None]
        lines.append(ChartLine(name, [(float(run.t or 0), run.loss) for run in runs]))
    drawing = Drawing(720, 340)
    chart(drawing, ChartAxis("t", [0, 0.1, 0.2, 0.3, 0.4, 0.5]), ChartAxis("loss", [0, 0.2, 0.4, 0.6, 0.8, 1]), lines)
    return drawing.svg("Loss over t of the methods of paper 004")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
