"""A stream whose people change.

Salaries in a stream rise over time. Every class is close to the window it came out of, not to the whole stream. The
picture shows the middle salary of each window's classes: it follows the stream.
"""

from pathlib import Path

import polars as pl

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

WINDOW, STEP = 400, 200


def draw() -> str:
    df, schema = tclose.datasets.census(2_400, seed=1)
    rows = pl.int_range(len(df))
    df = df.with_columns(salary=(pl.col("salary") // 2 + rows * 25 // len(df)).clip(0, 49))
    engine = tclose.stream.Engine(schema, window=WINDOW, step=STEP, method="mondrian", seed=1)
    outcomes = [*engine.feed(df), *engine.finish()]
    released = [each for outcome in outcomes for each in outcome.released]
    came_out = [(float(each.window.last), float(str(each.frame["salary"].median()))) for each in released]
    drawing = Drawing(720, 320)
    lines = [ChartLine("released", came_out)]
    chart(
        drawing,
        ChartAxis("rows read", [0, 500, 1000, 1500, 2000, 2500]),
        ChartAxis("median salary", [0, 10, 20, 30, 40]),
        lines,
    )
    return drawing.svg("The median salary of what each window released")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
