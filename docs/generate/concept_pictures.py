"""The pictures of *t-closeness in pictures*: small distributions, drawn from distances that the package computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import tclose
from docs.generate.marked import DOCS
from tclose.distances import Equal, Form, Ordered, largest_rise
from tclose.pages.charts import ChartAxis, ChartLine, chart
from tclose.pages.svg import Drawing

FOLDER = DOCS / "pictures" / "understand"
DISEASES = ("flu", "asthma", "ulcer", "HIV")
WHOLE = (8, 6, 4, 2)
CLASSES = {"class A": (2, 2, 1, 0), "class B": (1, 0, 1, 3)}
BANDS = ("low", "middle", "high")
TREE = {"lung": ["flu", "asthma"], "belly": ["ulcer", "gastritis"]}
BAR, GAP = 34.0, 12.0


def shares(counts: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def distributions() -> str:
    """The share of each disease in the whole table, and in a close and in a far class."""
    drawing = Drawing(720, 250)
    panels = {"the whole table": WHOLE, **CLASSES}
    for place, (name, counts) in enumerate(panels.items()):
        left = 24 + place * 232
        _bars(drawing, left, name, counts, None if place == 0 else WHOLE)
        if place:
            distance = tclose.emd(list(counts), list(WHOLE), "equal")
            drawing.text(left, 238, f"distance {float(distance):g}", "ink b")
        else:
            drawing.text(left, 238, "20 rows", "quiet")
    return drawing.svg("The share of each disease in the whole table, in a close class and in a far one")


def _bars(drawing: Drawing, left: float, title: str, counts: tuple[int, ...], behind: tuple[int, ...] | None) -> None:
    """Upright bars of shares, the outline of other shares around them, and their names below."""
    bottom, scale = 196.0, 210.0
    drawing.text(left, 22, title, "ink b")
    drawing.line([(left, bottom), (left + 4 * (BAR + GAP), bottom)], "quiet", 1)
    for place, (disease, share) in enumerate(zip(DISEASES, shares(counts), strict=True)):
        x = left + place * (BAR + GAP)
        drawing.box(x, bottom - scale * float(share), BAR, scale * float(share), f"f line{place}")
        if behind is not None:
            whole = float(shares(behind)[place])
            drawing.line([(x - 4, bottom - scale * whole), (x + BAR + 4, bottom - scale * whole)], "ink", 2)
        drawing.text(x + BAR / 2, bottom - scale * float(share) - 5, f"{float(share):.0%}", "quiet", "middle")
        drawing.text(x + BAR / 2, bottom + 17, disease, "ink", "middle")


def moving_mass() -> str:
    """One optimal plan from a class to the table, along an order of five bands."""
    bands = ("very low", "low", "middle", "high", "very high")
    held, whole = (4, 1, 0, 0, 0), (1, 1, 1, 1, 1)
    drawing = Drawing(720, 310)
    bottom, wide = 200.0, 130.0
    for place, (band, share) in enumerate(zip(bands, shares(held), strict=True)):
        x = 40 + place * wide
        drawing.box(x, bottom - 150 * float(share), 56, 150 * float(share), "f line0")
        y = bottom - 150 * float(shares(whole)[place])
        drawing.line([(x - 6, y), (x + 62, y)], "ink", 2)
        drawing.text(x + 28, bottom + 18, band, "ink", "middle")
    level = bottom + 48
    for source, target, mass in tclose.moves(list(held), list(whole), "ordered"):
        start, end = 68 + source * wide, 68 + target * wide
        drawing.line([(start, level), (end, level)], "line1", 2)
        drawing.mark(end, level, "line1", "triangle")
        words = f"{float(mass):.0%} of the rows, {target - source} step{'s' if target - source > 1 else ''}"
        drawing.text((start + end) / 2, level - 5, words, "quiet", "middle")
        level += 20
    distance = tclose.emd(list(held), list(whole), "ordered")
    drawing.text(24, 22, f"Work: {float(distance):g} of the largest possible work", "ink b")
    return drawing.svg("Mass that has to move from the class, in bars, to the table, in lines")


def ground_distances() -> str:
    """The same two classes, measured with three ground distances."""
    leaves = [leaf for under in TREE.values() for leaf in under]
    hierarchy = tclose.Hierarchy.from_paths([(leaf, top, "*") for top, under in TREE.items() for leaf in under])
    distances: Mapping[str, str | tclose.distances.Distance] = {
        "equal: every two values are 1 apart": "equal",
        "ordered: steps along flu, asthma, ulcer, gastritis": "ordered",
        "hierarchical: lung and belly": tclose.distances.Hierarchical(hierarchy),
    }
    classes = {"flu and asthma alone": {"flu": 1, "asthma": 1}, "flu and ulcer alone": {"flu": 1, "ulcer": 1}}
    drawing = Drawing(720, 250)
    drawing.text(24, 22, "Distance from a table in which all four are equally frequent", "ink b")
    y = 54.0
    for title, distance in distances.items():
        drawing.text(24, y, title, "ink")
        for place, (name, counts) in enumerate(classes.items()):
            found = float(tclose.emd(counts, dict.fromkeys(leaves, 1), distance))
            drawing.box(200, y + 7 + 16 * place, 420 * found, 11, f"f line{place}")
            drawing.text(192, y + 17 + 16 * place, name, "quiet", "end")
            drawing.text(208 + 420 * found, y + 17 + 16 * place, f"{found:.3g}", "quiet")
        y += 66
    return drawing.svg("What the ground distance does to the distance of a class")


def belief() -> str:
    """How far the share of one value can rise at each t, by equal and by ordered distance."""
    thresholds = [Fraction(step, 40) for step in range(0, 21, 2)]
    forms: dict[str, Form] = {"equal": Equal().form(5), "ordered": Ordered().form(5)}
    lines = [
        ChartLine(name, [(float(t), 100 * float(largest_rise(form, [1] * 5, t))) for t in thresholds])
        for name, form in forms.items()
    ]
    drawing = Drawing(720, 320)
    chart(
        drawing,
        ChartAxis("t", [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ChartAxis("largest rise, points", [0, 20, 40, 60, 80, 100]),
        lines,
    )
    return drawing.svg("The largest rise of a share that each t allows, of five equally frequent values")


PICTURES: dict[str, Callable[[], str]] = {
    "distributions.svg": distributions,
    "moving-mass.svg": moving_mass,
    "ground-distances.svg": ground_distances,
    "belief.svg": belief,
}
