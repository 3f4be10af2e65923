"""Paper 001: the least work.

The tutorial's example: nine salaries from 3k to 11k in the table, and a class that has 3k, 4k and 5k alone.
`tclose.moves` gives one cheapest way to turn the class into the table, and `tclose.emd` the work:
0.375 of the largest possible.
"""

from pathlib import Path

import tclose
from tclose.pages.svg import Drawing

SALARIES = [f"{thousands}k" for thousands in range(3, 12)]
CLASS = [1, 1, 1, 0, 0, 0, 0, 0, 0]
TABLE = [1] * 9


def draw() -> str:
    distance = tclose.emd(CLASS, TABLE, "ordered")
    plan = tclose.moves(CLASS, TABLE, "ordered")
    drawing = Drawing(720, 130 + 24 * len(plan))
    drawing.text(24, 24, f"Distance {distance} = {float(distance)}", "ink b")
    for place, salary in enumerate(SALARIES):
        x = 40 + 66 * place
        drawing.box(x - 18, 50, 36, 24, "f line0" if CLASS[place] else "s quiet")
        drawing.text(x, 96, salary, "ink", "middle")
    for line, (source, target, mass) in enumerate(plan):
        start, end, y = 40 + 66 * source, 40 + 66 * target, 118 + 24 * line
        drawing.line([(start, y), (end, y)], "line1", 2)
        drawing.mark(end, y, "line1", "triangle")
        drawing.text(end + 10, y + 4, f"{mass} of the mass", "quiet")
    return drawing.svg("What moves from the class to the table, and how far")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
