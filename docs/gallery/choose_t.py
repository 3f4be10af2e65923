"""What a stricter t costs.

`tclose.suggest` tries several t and measures, at each, what analysts lose and how much more an attacker may believe.
Nothing is released. The t to take is the largest one at which the rise is still what you allow.
"""

from pathlib import Path

import tclose
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing


def draw() -> str:
    df, schema = tclose.datasets.census(1_500, seed=1)
    found = tclose.suggest(df, schema, seed=1, max_rise=0.3, queries=0)
    loss = [(float(run.t or 0), 100 * run.loss) for run in found.runs]
    rise = [(float(run.t or 0), 100 * run.gains.rise) for run in found.runs]
    drawing = Drawing(720, 320)
    lines = [ChartLine("loss, %", loss), ChartLine("rise, points", rise)]
    chart(drawing, ChartAxis("t", [0, 0.1, 0.2, 0.3, 0.4, 0.5]), ChartAxis("percent", [0, 20, 40, 60, 80, 100]), lines)
    return drawing.svg("Loss and largest rise of a belief, over t")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
