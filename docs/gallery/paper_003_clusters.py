"""Paper 003: equi-sized clusters.

Two sensitive attributes of different kinds, a diagnosis and a length of stay. `clusters`, `pca` and `microaggregation`
group rows by their sensitive values, and let each class take a row of every group. Their loss depends on k, which is
also the number of groups.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

SIZES = (5, 10, 20, 30)


def draw() -> str:
    df, made = tclose.datasets.hospital(1_000, seed=1)
    keys = made.as_dict()
    sensitive = {"diagnosis": {**keys["sensitive"]["diagnosis"], "t": 0.3}}
    sensitive["length_of_stay"] = {**keys["sensitive"]["length_of_stay"], "t": 0.3}
    quasi = {name: keys["quasi"][name] for name in ("age", "sex", "zip")}
    df = df.select("age", "sex", "zip", *sensitive)
    schema = {"k": 5, "quasi": quasi, "sensitive": sensitive}
    names = ("clusters", "pca", "microaggregation")
    found = tclose.compare(df, schema, methods=names, k=SIZES, seed=1, jobs=1, queries=0)
    lines = [
        ChartLine(name, [(float(run.k), run.loss) for run in found.runs if run.method == name and run.refused is None])
        for name in names
    ]
    drawing = Drawing(720, 320)
    chart(drawing, ChartAxis("k", [0, 10, 20, 30]), ChartAxis("loss", [0, 0.2, 0.4, 0.6, 0.8, 1]), lines)
    return drawing.svg("Loss over k of the three methods that cluster sensitive values")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
