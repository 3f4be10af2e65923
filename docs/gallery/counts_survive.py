"""Counts that survive.

Analysts ask how many rows have this age, that work and such a salary. `tclose.utility` asks 1,000 such questions of a
release and of the original. The median error tells what the release is still good for. Errors far
above 100 % come from values that are very unevenly frequent.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing

METHODS = ("tight", "mondrian", "sabre-knn", "incognito")


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    entries = []
    for place, name in enumerate(METHODS):
        release = tclose.anonymize(df, schema, method=name, seed=1, allow_single_class=True)
        found = tclose.utility(df, release, queries=1_000)
        error = 100 * float(found.queries.median or 0) if found.queries else 0.0
        entries.append(Bar(name, error, f"{error:.0f} %", f"line{place}"))
    drawing = Drawing(720, bars_height(len(entries)))
    bars(drawing, ChartAxis("median error of 1,000 counts, %", [0, 200, 400, 600]), entries)
    return drawing.svg("The median error of counts, by method")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", tclose.HighLossWarning)
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
