"""The verifier's own reading of `coarsest` and `finest`: each rule at, below and beyond its limit."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.column_widths import limit_problems
from tests.fuzz.coarseness import beyond_limits
from tests.seeds import for_seeds
from tests.small_tables import limited_table

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}}
REPEATED = {"x": {"x": ["p", "q"]}, "y": {"*": ["r"]}}
DAYS = {"build": "dates", "levels": ["month", "year"]}
STEPS = {"build": "intervals", "widths": [5, 10]}
BEGINNINGS = {"build": "prefixes", "lengths": [3, 1]}
RULES: list[tuple[str, dict[str, Any], list[Any], list[Any], list[Any]]] = [  # kept, too coarse, too fine
    ("width", {"kind": "numeric", "coarsest": 10}, ["[20, 30]", "25", None], ["[20, 30.5]", "*"], []),
    ("no width", {"kind": "numeric", "coarsest": 0}, ["20", None], ["[20, 21]", "*"], []),
    ("a decimal width", {"kind": "numeric", "coarsest": 0.3}, ["[0.1, 0.4]"], ["[0.1, 0.41]"], []),
    ("tails", {"kind": "numeric", "coarsest": 10, "bottom": 18, "top": 90}, ["<18", ">90", "[<18, 28]", "[80, >90]"],
     ["[<18, 29]", "[79, >90]", "[<18, >90]"], []),
    ("day", {"kind": "date", "coarsest": "day"}, ["2021-03-02"], ["2021-03-02/2021-03-03", "*"], []),
    ("month", {"kind": "date", "coarsest": "month"}, ["2021-03-01/2021-03-31"], ["2021-03-31/2021-04-01"], []),
    ("quarter", {"kind": "date", "coarsest": "quarter"}, ["2021-01-01/2021-03-31"], ["2021-03-31/2021-04-01"], []),
    ("year", {"kind": "date", "coarsest": "year"}, ["2021-01-01/2021-12-31"], ["2021-12-31/2022-01-01"], []),
    ("text", {"kind": "text", "coarsest": 2, "finest": 3}, ["021**", "02***", "0"], ["0****", "*"], ["0213*", "0213"]),
    ("level", {"kind": "categorical", "hierarchy": TREE, "coarsest": 1, "finest": 1}, ["u", "w", "e"], ["v", "*"],
     ["a", "c"]),
    ("root", {"kind": "categorical", "hierarchy": TREE, "coarsest": 3, "finest": 2}, ["*", "v", "u"], [], ["w", "a"]),
    ("label", {"kind": "categorical", "hierarchy": TREE, "coarsest": "w"}, ["a", "u", "w", "e"], ["v", "*"], []),
    ("repeated labels", {"kind": "categorical", "hierarchy": REPEATED, "coarsest": 1}, ["x", "*", "p"], ["y"], []),
    ("values alone", {"kind": "categorical", "coarsest": 0}, ["a", None], ["*"], []),
    ("periods", {"kind": "categorical", "hierarchy": DAYS, "coarsest": 1, "finest": 1}, ["2021-03"], ["2021", "*"],
     ["2021-03-02"]),
    ("intervals", {"kind": "categorical", "hierarchy": STEPS, "coarsest": 1, "finest": 1}, ["[0, 5)"], ["[0, 10)", "*"],
     ["3"]),
    ("beginnings", {"kind": "categorical", "hierarchy": BEGINNINGS, "coarsest": 1, "finest": 1}, ["021**"],
     ["0****", "*"], ["02139"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keys", "kept", "coarse", "fine"), RULES, ids=[rule[0] for rule in RULES])
def test_each_rule(name: str, keys: dict[str, Any], kept: list[Any], coarse: list[Any], fine: list[Any]) -> None:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"q": keys}})
    for cells, told in ((kept, []), (coarse, ["coarser"]), (fine, ["finer"])):
        for cell in cells:
            problems = limit_problems(Source.of(pl.DataFrame({"q": [cell]}, schema={"q": pl.String})), schema)
            assert [word for word in ("coarser", "finer") if word in " ".join(problems)] == told, cell
            plain = {"k": 1, "missing": "category", "quasi": {"q": keys}}
            assert bool(beyond_limits([{"q": cell}], plain)) == bool(told), cell
    if coarse or fine:
        found = limit_problems(Source.of(pl.DataFrame({"q": [*kept, *coarse, *fine]}, schema={"q": pl.String})), schema)
        assert len(found) == bool(coarse) + bool(fine)
        assert all(str(cell) not in problem for problem in found for cell in coarse + fine if len(str(cell)) > 1)


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [("20", "30", True), ("20", "31", False), (None, "28", True), (None, "29", False), ("*", "*", False),
     (None, None, True), ("80", None, True), ("79", None, False)],
)  # fmt: skip
def test_bounds(low: str | None, high: str | None, holds: bool) -> None:
    keys = {"kind": "numeric", "coarsest": 10, "bottom": 18, "top": 90, "publish": "bounds"}
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"q": keys}})
    frame = pl.DataFrame({"q_low": [low], "q_high": [high]}, schema={"q_low": pl.String, "q_high": pl.String})
    assert (not limit_problems(Source.of(frame), schema)) == holds


def test_a_release_that_is_too_coarse_does_not_hold() -> None:
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric", "coarsest": 5}}}
    assert tclose.verify(pl.DataFrame({"age": ["[20, 25]", "[20, 25]"]}), schema).holds
    found = tclose.verify(pl.DataFrame({"age": ["[20, 26]", "[20, 26]"]}), schema)
    assert found.problems == ("'age': 2 rows are coarser than its `coarsest` allows.",)


@cache
def releasable(place: int) -> tuple[int, tclose.Release, tclose.Schema]:
    """A table with limits that can be kept, by its place among them: its seed, a release, and what was asked."""
    for seed in count(0 if place == 0 else releasable(place - 1)[0] + 1):
        frame, schema = limited_table(seed)
        try:
            return seed, tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True), schema
        except tclose.InfeasibleError:
            continue
    raise AssertionError


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@for_seeds(60, everyday=6)
def test_releases_are_within_their_limits(seed: int) -> None:
    release, schema = releasable(seed)[1:]
    verdict = tclose.verify(release.aligned(), schema)
    assert verdict.holds
