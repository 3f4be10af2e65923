"""A cap where t is not enough.

By an ordered distance rows can move to a neighbouring value at little cost, so t = 0.2 still lets the share of one
value rise a lot. `rise = 0.1` beside it limits the rise itself.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height
from tclose.pages.svg import Drawing


def draw() -> str:
    df, schema = tclose.datasets.census(2_000, seed=1)
    keys = schema.as_dict()
    entries = []
    for place, (name, more) in enumerate({"t alone": {}, "t and rise": {"rise": 0.1}}.items()):
        salary = {**keys["sensitive"]["salary"], "t": 0.2, **more}
        release = tclose.anonymize(df, {**keys, "sensitive": {"salary": salary}}, method="mondrian", seed=1)
        rise = 100 * float(tclose.assess(release.table, release.schema).disclosure["salary"].rise)
        entries.append(Bar(f"largest rise, {name}", rise, f"{rise:.0f} points", f"line{place}"))
        entries.append(Bar(f"loss, {name}", 100 * release.loss, f"{release.loss:.0%}", f"line{place}"))
    drawing = Drawing(720, bars_height(len(entries)))
    bars(drawing, ChartAxis("percent", [0, 20, 40, 60, 80, 100]), sorted(entries, key=lambda bar: bar.name))
    return drawing.svg("The largest rise and the loss, with and without a cap")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
