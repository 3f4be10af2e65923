"""Classes as boxes.

A table with two quasi-identifiers, age and distance from the hospital, and one sensitive column. Every class of the
release covers a box: all its rows are released with the same two intervals. Boxes are small where the mix of sensitive
values is the same as everywhere, and large where it is not.
"""

from pathlib import Path

import numpy as np
import polars as pl

import tclose
from tclose.pages.svg import Drawing

ROWS = 240


def table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    age, km = rng.integers(20, 91, ROWS), rng.integers(0, 51, ROWS)
    ill = rng.random(ROWS) < 0.15 + 0.5 * (age > 60) * (km < 25)
    return pl.DataFrame({"age": age, "km": km, "state": np.where(ill, "ill", "well")})


def draw() -> str:
    df = table()
    schema = {
        "k": 6,
        "quasi": {"age": {"kind": "numeric", "publish": "bounds"}, "km": {"kind": "numeric", "publish": "bounds"}},
        "sensitive": {"state": {"distance": "equal", "t": 0.2}},
    }
    release = tclose.anonymize(df, schema, seed=1)
    drawing = Drawing(720, 470)
    drawing.text(24, 24, f"{len(df)} rows in {release.measured.classes} classes, t = 0.2", "ink b")

    def across(age: float) -> float:
        return 40 + (age - 20) * 9.2

    def up(km: float) -> float:
        return 430 - km * 7.6

    boxes = release.table.select("age_low", "age_high", "km_low", "km_high").unique().sort(pl.all())
    for low, high, near, far in boxes.iter_rows():
        drawing.box(across(low) - 4, up(far) - 4, across(high) - across(low) + 8, up(near) - up(far) + 8, "s quiet")
    for state, kind, square in (("well", "line0", False), ("ill", "line1", True)):
        rows = df.filter(pl.col("state") == state)
        places = [(across(age), up(km)) for age, km in rows.select("age", "km").iter_rows()]
        drawing.dots(places, kind, square, 5.5)
        drawing.text(560 + 60 * square, 24, state, kind)
    drawing.text(360, 462, "age", "ink b", "middle")
    drawing.text(8, 44, "km", "ink b")
    return drawing.svg("Rows as points, and the box that each class covers")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
