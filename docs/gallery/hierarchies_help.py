"""A hierarchy keeps more than stars.

Places of birth and kinds of work, once flat and once with a hierarchy. Without one a class that mixes two values says
`*`; with one it says what they have in common.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing

COLUMNS = ("birth_place", "marital_status", "work_class")


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    keys = schema.as_dict()
    flat = {name: {"kind": "categorical"} if name in COLUMNS else asked for name, asked in keys["quasi"].items()}
    entries = []
    for name, quasi in (("flat", flat), ("with hierarchies", keys["quasi"])):
        release = tclose.anonymize(df, {**keys, "quasi": quasi}, seed=1, method=tclose.Tight(effort="fast"))
        for column in COLUMNS:
            stars = sum(value == "*" for value in release.table[column]) / len(df)
            kind = "line1" if name == "flat" else "line0"
            entries.append(Bar(f"{column}, {name}", 100 * stars, f"{stars:.0%}", kind))
    drawing = Drawing(720, bars_height(len(entries)))
    bars(
        drawing,
        ChartAxis("cells that say nothing (*), %", [0, 20, 40, 60, 80, 100]),
        sorted(entries, key=lambda b: b.name),
    )
    return drawing.svg("Cells that are hidden altogether, with and without hierarchies")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
