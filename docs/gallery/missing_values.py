"""Missing values: a value of their own, or rows left out.

A growing share of education is unknown. Under `category` all rows are released, and classes that mix known and unknown
values say `*`. Under `drop` the rows are gone, and here what is left loses less while few values
are missing.
"""

from pathlib import Path

import numpy as np
import polars as pl

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)


def draw() -> str:
    df, schema = tclose.datasets.census(1_500, seed=1)
    unknown = np.random.default_rng(1).random(len(df))
    lines = []
    for policy in ("category", "drop"):
        points = []
        for share in SHARES:
            holed = df.with_columns(education=pl.when(pl.Series(unknown >= share)).then("education"))
            keys = {**schema.as_dict(), "missing": policy}
            points.append((100 * share, tclose.anonymize(holed, keys, method="mondrian", seed=1).loss))
        lines.append(ChartLine(policy, points))
    drawing = Drawing(720, 320)
    chart(
        drawing, ChartAxis("unknown education, %", [0, 10, 20, 30]), ChartAxis("loss", [0, 0.1, 0.2, 0.3, 0.4]), lines
    )
    return drawing.svg("Loss of what is released, over the share of missing values")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
