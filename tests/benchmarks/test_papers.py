"""The figures of paper 004: what is drawn is what was measured, and verdicts follow from the curves."""

import doctest
import json
import math
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import tclose
from benchmarks.papers import claims, page, rebuild, tables
from benchmarks.papers.figures import FIGURES, PANELS
from benchmarks.papers.runs import METHODS, Question, Runs, Setting
from benchmarks.papers.tables import BANDS, census, nist, tree
from tclose.algorithms.tight.tight import Tight
from tclose.schema.hierarchy import Hierarchy
from tests.shared_data import shared

ROWS = 300


def made_up(**by_method: list[float]) -> claims.Curves:
    """One panel, its methods by name with `_` for `-`."""
    return {"p": {name.replace("_", "-"): list(enumerate(ys, 1)) for name, ys in by_method.items()}}


@pytest.mark.parametrize("fanout", [2, 3, 4, 5, 7, 8, 10, 25, 50])
def test_a_tree_of_one_fanout(fanout: int) -> None:
    leaves: list[str] = []

    def walk(node: Any) -> int:
        """The height, with all leaves gathered."""
        children = node if isinstance(node, list) else [*node]
        assert len(children) <= fanout
        if isinstance(node, list) or not any(node.values()):
            leaves.extend(children)
            return 1
        return 1 + max(walk(below) for below in node.values())

    assert walk(tree(fanout)) == math.ceil(round(math.log(BANDS, fanout), 9))
    assert leaves == [str(band) for band in range(BANDS)]
    assert Hierarchy.from_nested(tree(fanout)).height == math.ceil(round(math.log(BANDS, fanout), 9))


@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
def test_a_run_measures_what_a_release_has() -> None:
    table = census(ROWS)
    runs, setting = Runs(table, queries=400), Setting(ROWS, quasi=4, t="0.25", k=3)
    frame, schema = table.rows(ROWS, 4), table.schema(4, "0.25", 3, None)
    for name, method in METHODS.items():
        release = tclose.anonymize(frame, schema, method=method, seed=0)
        useful = tclose.utility(frame, release, queries=400, attributes=2, selectivity=0.2, cubes=(1,))
        expected = {
            Question("loss"): release.loss,
            Question("closeness"): float(release.measured.t["salary"]),
            Question("error", attributes=2, selectivity=0.2): useful.queries.median if useful.queries else math.nan,
            Question("divergence", level=1): (useful.cubes or {})[1],
        }
        for question, value in expected.items():
            found = runs.answer(setting, name, question)
            assert found["y"] == pytest.approx(value), (name, question)
            assert (found["rows"], found["classes"]) == (ROWS, release.measured.classes)


@pytest.mark.slow
def test_a_figure_is_drawn_from_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "nist_is_there", lambda: False)
    monkeypatch.setattr(rebuild, "METHODS", {name: m for name, m in METHODS.items() if name != "tight fast"})
    small = {"NUMBERS": (12, 19), "N_ROWS": ROWS, "QUERIES": 100, "FOLDER": tmp_path, "PAGE": tmp_path / "page.md"}
    for name, value in small.items():
        monkeypatch.setattr(rebuild, name, value)
    found = rebuild.run(Console(file=StringIO()))
    assert found["points"] == {12: 50, 19: 40}
    data = json.loads((tmp_path / "figure12.json").read_text())
    assert {"rows": ROWS, "seed": 0, "figure": 12}.items() <= data.items()
    assert [p["x"] for p in data["points"] if (p["method"], p["panel"]) == ("mondrian", "12a")] == [
        300, 600, 900, 1200, 1500,
    ]  # fmt: skip
    assert all(point["rows"] == point["x"] for point in data["points"])
    assert all(point["y"] == point["loss"] for point in data["points"] if point["panel"] == "12a")
    drawn = ElementTree.fromstring((tmp_path / "figure12a.svg").read_text())
    told = [title.text or "" for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    for point in (p for p in data["points"] if p["panel"] == "12a"):
        assert f"{point['method']} at {point['x']:g}: {point['y']:.4g}; {point['classes']:,} classes" in told
    text = (tmp_path / "page.md").read_text()
    assert "Figure 19" in text
    assert "Figure 10" not in text
    by_claim = Counter(each["claim"] for each in found["claims"])
    assert by_claim == {c.text: 2 if c.figure == 12 else 1 for c in claims.CLAIMS if c.figure in (12, 19)}
    for judged in found["claims"]:
        line = f"| {judged['claim']} | census | {judged['rival']} | **{judged['verdict']}** | {judged['numbers']} |"
        assert line in text


def test_every_figure_has_panels_and_claims() -> None:
    numbers = {figure.number for figure in FIGURES}
    assert numbers == {10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
    assert numbers == {panel.figure for panel in PANELS} == {claim.figure for claim in claims.CLAIMS}
    known = {panel.name: panel.figure for panel in PANELS}
    assert all(known[name] == claim.figure for claim in claims.CLAIMS for name in claim.needs)


def test_a_claim_about_mondrian_is_judged_against_both() -> None:
    points = {"sabre-knn": [3.0], "sabre-ak": [2.0], "incognito": [4.0], "textbook mondrian": [5.0], "mondrian": [1.0]}
    curves = {"p": {name: [(1.0, y) for y in ys] for name, ys in points.items()}}
    about = claims.Claim(10, "SABRE loses less.", ("p",), claims.below(("p",), claims.SABRE, claims.RIVALS))
    textbook, ours = page._verdicts(about, curves)
    assert (textbook["rival"], textbook["verdict"]) == ("textbook", "holds")
    assert "textbook mondrian has 2.5 times sabre-ak" in textbook["numbers"]
    assert (ours["rival"], ours["verdict"]) == ("ours", "holds in 2 of 4 comparisons")
    assert "; mondrian has 0.5 times sabre-ak" in ours["numbers"]
    other = claims.Claim(10, "KNN loses more.", ("p",), claims.below(("p",), claims.SABRE[1:], claims.SABRE[:1]))
    assert [each["rival"] for each in page._verdicts(other, curves)] == [""]


def test_a_stream_loses_what_its_rows_do() -> None:
    """Every row once, in windows of which a stream has about ten."""
    runs = Runs(census(600))
    panel = next(each for each in PANELS if each.name == "15a")
    assert rebuild.places_of(panel, 1000, 600) == [7, 14, 28, 56]
    setting = panel.setting(Setting(600, quasi=2, t="0.6", k=2), 28)
    assert (setting.window, setting.step) == (56, 28)
    found = runs.answer(setting, "mondrian", Question("loss"))
    assert found["rows"] == 600
    assert 0 < found["y"] == found["loss"] < 1
    engine = tclose.stream.Engine(runs.census.schema(2, "0.6", 2, None), window=56, step=28, seed=0, method="mondrian")
    lost = 0.0
    for outcome in [*engine.feed(runs.census.rows(600, 2)), *engine.finish()]:
        lost += sum(released.loss * len(released.frame) for released in outcome.released)
    assert found["y"] == pytest.approx(lost / 600)


def test_monotone_counts_the_steps_that_go_the_other_way() -> None:
    curves = made_up(sabre_ak=[3, 2, 2, 4], mondrian=[1, 2, 3, 4])
    assert claims.monotone("p", ["sabre-ak"], rising=False)(curves)[0] == [True, True, False]
    assert claims.monotone("p", ["sabre-ak", "mondrian"], rising=True)(curves)[0] == [False, True] + [True] * 4


def test_below_asks_every_pair_at_every_place() -> None:
    curves = made_up(sabre_knn=[1, 5], sabre_ak=[2, 2], incognito=[4, 4], mondrian=[2, 30])
    met, told = claims.below(["p"], claims.SABRE, claims.RIVALS)(curves)
    assert met == [True, False, True, True, True, True, False, True]
    assert "mondrian has 1 to 15 times sabre-ak" in told
    assert claims.below(["p"], ["sabre-ak"], ["mondrian"], factor=10)(curves)[0] == [False, True]
    assert claims.within("p", "sabre-ak", "sabre-knn", 1.1)(curves)[0] == [False, True]


def test_gaps_widen_only_where_the_rival_ends_above() -> None:
    curves = made_up(sabre_knn=[1, 1.4], sabre_ak=[1, 4], incognito=[2, 3], mondrian=[0, 0.5])
    assert claims.gaps_widen("p")(curves)[0] == [True, False, False, False]
    assert claims.rises_less("p", 0.5)(curves)[0] == [True, False, False, False]


def test_steady_uneven_and_smaller() -> None:
    curves = made_up(sabre_knn=[1, 1.05, 1.08], sabre_ak=[1, 3, 2], incognito=[3, 2, 1], mondrian=[0.5, 2.5, 2])
    assert claims.steady("p", claims.SABRE, 1.1)(curves)[0] == [True, False]
    assert claims.uneven("p", claims.FOUR)(curves)[0] == [False, True, False, True]
    assert claims.smaller_loses_less("p", claims.FOUR)(curves)[0] == [True, True, False, True]
    assert claims.ordered("p", ["mondrian", "sabre-knn"])(curves)[0] == [True, False, False]
    assert claims.under_place("p")(curves)[0] == [
        *(False, True, True), *(False, False, True), *(False, False, True), *(True, False, True),
    ]  # fmt: skip


def test_the_examples_are_true() -> None:
    for module in (tables, claims, page):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0


@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
def test_the_real_table_has_the_shape_of_the_paper() -> None:
    shared("nist_acs_2019.csv.gz")
    table = nist(10**6)
    assert table.frame.height == 37_114
    assert len(table.quasi) == 7
    bands = table.frame["income"].to_numpy()
    assert (bands.min(), bands.max(), len(np.unique(bands))) == (0, BANDS - 1, BANDS)
    sample = table.rows(500, 7)
    release = tclose.anonymize(sample, table.schema(7, "0.35", 6, None), method=Tight("fast"), seed=0)
    assert release.measured.t["income"] <= 0.35
