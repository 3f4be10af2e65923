"""Which of k and t binds.

The same table, released with several k at a strict and at a loose t. With the strict t the classes have more than k
rows anyway, so a larger k costs little; with the loose one k alone decides.
"""

from fractions import Fraction
from pathlib import Path

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

SIZES = (2, 5, 10, 20, 40)


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    found = tclose.compare(df, schema, methods=["mondrian"], t=["0.1", "0.5"], k=SIZES, seed=1, jobs=1, queries=0)
    lines = []
    for t in (Fraction(1, 10), Fraction(1, 2)):
        runs = [run for run in found.runs if run.t == t]
        lines.append(ChartLine(f"t = {float(t)}", [(float(run.k), run.loss) for run in runs]))
    drawing = Drawing(720, 320)
    chart(drawing, ChartAxis("k", [0, 10, 20, 30, 40]), ChartAxis("loss", [0, 0.2, 0.4, 0.6, 0.8]), lines)
    return drawing.svg("Loss over k, at a strict and at a loose t")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
