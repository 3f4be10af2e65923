"""What an attacker reaches before and after.

Someone knows a neighbour's age, sex and postal code, and finds the row. In the raw table most rows are unique, and the
row gives the diagnosis away. `tclose.attack` measures both tables with the same attacks.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    release = tclose.anonymize(df, schema, method="mondrian", seed=1)
    found = tclose.attack(df, release)
    entries = []
    for name, reached in (("raw table", found.before), ("release", found.after)):
        assert reached is not None
        kind = "line1" if name == "raw table" else "line0"
        unique = 100 * reached.linkage.unique
        rise = 100 * float(reached.skewness["salary"].worst_rise)
        entries.append(Bar(f"unique rows, {name}", unique, f"{unique:.0f} %", kind))
        entries.append(Bar(f"largest rise, {name}", rise, f"{rise:.0f} points", kind))
    drawing = Drawing(720, bars_height(len(entries)))
    bars(drawing, ChartAxis("percent", [0, 20, 40, 60, 80, 100]), sorted(entries, key=lambda bar: bar.name))
    return drawing.svg("Unique rows and the largest rise of a belief, in the raw table and in the release")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
