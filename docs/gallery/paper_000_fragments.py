"""Paper 000: fragments of two sensitive attributes.

A class must be close in two attributes at once. `fragments` cuts the plane of both into boxes and lets every class take
its share of each box. The rows of one class, drawn over all rows, lie all over the plane.
"""

from pathlib import Path

import polars as pl

import tclose
from tclose.pages.svg import Drawing


def draw() -> str:
    df, made = tclose.datasets.hospital(1_000, seed=1)
    keys = made.as_dict()
    wanted = {name: {"distance": "ordered", "bins": 10, "t": 0.25} for name in ("glucose", "length_of_stay")}
    df = df.select("age", "sex", "zip", *wanted)
    quasi = {name: keys["quasi"][name] for name in ("age", "sex", "zip")}
    release = tclose.anonymize(df, {"k": 5, "quasi": quasi, "sensitive": wanted}, method="fragments", seed=1)
    ranked = df.select(pl.col(name).rank("ordinal") / len(df) for name in wanted)
    sizes = pl.Series(release.classes).value_counts().sort("count", descending=True)
    largest = sizes.row(0)[0]
    drawing = Drawing(720, 420)
    drawing.text(24, 24, f"All {len(df):,} rows, and the {sizes.row(0)[1]} rows of one class", "ink b")
    places = [(60 + 620 * x, 380 - 330 * y) for x, y in ranked.iter_rows()]
    drawing.dots(places, "faint", size=4)
    drawing.dots(
        [place for place, label in zip(places, release.classes, strict=True) if label == largest], "line1", size=8
    )
    drawing.text(370, 410, "glucose, by rank", "ink b", "middle")
    drawing.text(24, 44, "length of stay, by rank", "ink b")
    return drawing.svg("The rows of one class among all rows, by two sensitive attributes")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
