"""Charts as pure functions: nothing overlaps, scales are right, and every number has its place."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

from tclose.pages.charts import (
    Bar,
    BarsBeside,
    BoxOfValues,
    ChartAxis,
    ChartLine,
    apart,
    bars,
    bars_beside,
    boxes,
    chart,
    cloud,
    log_ticks,
    nice_ticks,
    plain,
    shares,
)
from tclose.pages.svg import SHAPES, Drawing
from tests.seeds import for_seeds

SVG = "{http://www.w3.org/2000/svg}"


def drawn(drawing: Drawing) -> ElementTree.Element:
    """The drawing read back as XML."""
    return ElementTree.fromstring(drawing.svg("a chart"))


@for_seeds(100)
def test_names_are_apart_in_their_order_and_within(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    heights = rng.uniform(0, 300, n) if seed % 2 else rng.choice([3.0, 150.0, 298.0], n)
    moved = apart(heights.tolist(), 15, (0.0, 300.0))
    places = sorted(moved)
    assert all(after - before >= 15 - 1e-9 for before, after in pairwise(places))
    assert places[0] >= 0
    assert places[-1] <= 300 + 1e-9
    order = np.argsort(heights, kind="stable")
    assert np.argsort(moved).tolist() == order.tolist()


def test_names_that_are_apart_stay_where_they_are() -> None:
    assert apart([0, 15, 100]) == [0, 15, 100]


@for_seeds(100)
def test_ticks_are_round_even_and_hold_all_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = sorted((10 ** rng.uniform(-6, 6, 2) * rng.choice([-1, 1], 2)).tolist())
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 13
    steps = np.diff(ticks)
    assert ticks[0] <= low + steps[0] * 1e-8
    assert ticks[-1] >= high - steps[0] * 1e-8
    assert np.allclose(steps, steps[0])
    digits = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
    assert min(abs(digits - each) for each in (1, 2, 2.5, 5, 10)) < 1e-6


def test_ticks_of_one_value_are_several() -> None:
    assert len(nice_ticks(3, 3)) > 1
    assert len(nice_ticks(0, 0)) > 1
    assert log_ticks(1, 1) == [1, 10]


def test_numbers_are_written_as_people_write_them() -> None:
    written = [plain(number) for number in (0, 0.1, 0.30000000000000004, 5, 999, 1000, 2.5e6, 1e-6)]
    assert written == ["0", "0.1", "0.3", "5", "999", "1,000", "2,500,000", "0.000001"]


def test_points_lie_where_their_numbers_say() -> None:
    drawing = Drawing(700, 348)
    line = ChartLine("a", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.25)], told=["low", "high", "between"])
    chart(drawing, ChartAxis("x", (0, 1)), ChartAxis("y", (0, 1)), [line], margin=100)
    marks = {title.text: (float(circle.get("cx", 0)), float(circle.get("cy", 0)))
             for circle in drawn(drawing).iter(f"{SVG}circle") for title in circle}  # fmt: skip
    (x0, y0), (x1, y1) = marks["low"], marks["high"]
    assert (x1, y1) == (600, 36)
    assert y0 == 300
    assert marks["between"] == pytest.approx(((x0 + x1) / 2, y0 + (y1 - y0) / 4), abs=0.1)


def test_a_logarithmic_axis_gives_each_power_the_same_room() -> None:
    axis = ChartAxis("seconds", (0.1, 1, 10), logarithmic=True)
    assert [axis.share(value) for value in (0.1, 1, 10)] == pytest.approx([0, 0.5, 1])


def test_twelve_lines_are_told_apart_by_more_than_colour() -> None:
    drawing = Drawing(700, 400)
    lines = [ChartLine(f"m{number}", [(0, number), (1, number)]) for number in range(12)]
    chart(drawing, ChartAxis("x", (0, 1)), ChartAxis("y", (0, 12)), lines)
    svg = drawing.svg("x")
    looks = re.findall(r'class="s (line\d)" stroke-width="2"( stroke-dasharray="[^"]*")?', svg)
    assert len(looks) == len(set(looks)) == 12
    assert len(SHAPES) >= 4


def test_a_bar_is_as_long_as_its_number() -> None:
    drawing = Drawing(600, 200)
    bars(drawing, ChartAxis("n", (0, 50, 100)), [Bar("all", 100, "100"), Bar("half", 50, "50"), Bar("none", 0, "0")])
    lengths = [float(box.get("width", 0)) for box in drawn(drawing).iter(f"{SVG}rect") if "bar" in box.get("class", "")]
    assert lengths[1] == pytest.approx(lengths[0] / 2, abs=0.1)
    assert lengths[2] == 1  # to be seen at all


def test_shares_fill_the_whole_length() -> None:
    drawing = Drawing(600, 100)
    shares(drawing, ("kept", "hidden"), [("age", (0.25, 0.75)), ("zip", (1.0, 0.0))])
    boxes_ = [box for box in drawn(drawing).iter(f"{SVG}rect") if "bar" in box.get("class", "")]
    lengths = [float(box.get("width", 0)) for box in boxes_]
    assert len(lengths) == 3
    assert lengths[0] + lengths[1] == pytest.approx(lengths[2], abs=0.2)
    assert lengths[1] == pytest.approx(3 * lengths[0], abs=0.2)


def test_groups_stand_before_the_whole() -> None:
    drawing = Drawing(600, 200)
    bars_beside(drawing, ChartAxis("%", (0, 100)), ["one", "two"], [BarsBeside("flu", 50, [25, 100])])
    found = [(box.get("class"), float(box.get("width", 0))) for box in drawn(drawing).iter(f"{SVG}rect")
             if "bar" in box.get("class", "")]  # fmt: skip
    whole, one, two = (width for _, width in found)
    assert one == pytest.approx(whole / 2, abs=0.2)
    assert two == pytest.approx(whole * 2, abs=0.2)


def test_quartiles_are_in_order() -> None:
    drawing = Drawing(600, 100)
    boxes(drawing, ChartAxis("rows", (1, 10, 100), logarithmic=True), [BoxOfValues("tight", (5, 6, 8, 10, 60))])
    assert "tight: 5, 6, 8, 10, 60" in drawing.svg("x")


def test_names_are_escaped() -> None:
    drawing = Drawing(600, 300)
    evil = '<script>"&'
    cloud(drawing, ChartAxis(evil, (0, 1)), ChartAxis(evil, (0, 1)), [ChartLine(evil, [(0, 0)], told=[evil])], [(0, 0)])
    svg = drawing.svg(evil)
    assert "<script" not in svg
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert texts.count(evil) == 3
