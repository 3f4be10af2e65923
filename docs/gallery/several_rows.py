"""Several rows a person.

Visits to a doctor: some persons have ten rows. Without a `unit`, five rows can be one person. With
`unit_rows = "all"` every class has at least five persons, and with `"one"` a row of each is kept.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing


def visits() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    persons = rng.choice(300, 1_500, p=rng.dirichlet(np.full(300, 0.4)))
    age = rng.integers(20, 91, 300)[persons]
    illness = np.array(["flu", "asthma", "ulcer"])[rng.integers(0, 3, 300)[persons]]
    return pl.DataFrame({"person": persons, "age": age, "month": rng.integers(1, 13, 1_500), "illness": illness})


def draw() -> str:
    df = visits()
    asked: dict[str, Any] = {
        "k": 5,
        "quasi": {"age": {"kind": "numeric"}, "month": {"kind": "numeric"}},
        "sensitive": {"illness": {"distance": "equal", "t": 0.4}},
    }
    ways: dict[str, dict[str, Any]] = {
        "nobody says whose a row is": {"identifiers": ["person"]},
        'unit_rows = "all"': {"unit": "person", "unit_rows": "all"},
        'unit_rows = "one"': {"unit": "person", "unit_rows": "one"},
    }
    entries = []
    for place, (name, keys) in enumerate(ways.items()):
        release = tclose.anonymize(df, {**asked, **keys}, method="mondrian", seed=1)
        labelled = df.with_columns(label=pl.Series(release.classes)).filter(pl.col("label") >= 0)
        fewest = min(labelled.group_by("label").agg(pl.col("person").n_unique())["person"].to_list())
        entries.append(Bar(name, fewest, f"{fewest} persons, {len(release.table):,} rows", f"line{place}"))
    drawing = Drawing(720, bars_height(len(entries)))
    bars(drawing, ChartAxis("persons in the class with the fewest", [0, 2, 4, 6, 8]), entries)
    return drawing.svg("The fewest persons of a class, in three ways")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", tclose.RepeatedIdentifierWarning)
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
