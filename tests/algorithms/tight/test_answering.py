"""Answers to COUNT queries: their error as an oracle has it, and a search that lowers it and breaks no promise."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import tclose
from tclose.algorithms import find
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.demand import decidable, soften
from tclose.algorithms.tight import tight
from tclose.algorithms.tight.answering import LEAST_UNIT, AnswerSearch, draw_workload, weighted
from tclose.algorithms.tight.pieces import Piece
from tclose.algorithms.tight.tight import Tight
from tclose.evaluation.utility.even_boxes import boxes_of, points_of
from tclose.evaluation.utility.queries import estimated_answers, precise_answers
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema
from tclose.table.count_queries import draw_queries
from tclose.table.encode import EncodedTable, encode
from tclose.table.objective import LOSS
from tclose.table.source import read
from tclose.table.workload import Workload
from tclose.testing import run
from tests.algorithms.tight.small_pieces import stop_compiling
from tests.oracles import answers as oracle
from tests.seeds import for_seeds

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # random numbers as plain Python
Labels = NDArray[np.int64]
PARENTS = {
    "a": "north",
    "b": "north",
    "c": "deep",
    "d": "deep",
    "deep": "south",
    "e": "south",
    "north": "*",
    "south": "*",
}
TREE = {"north": ["a", "b"], "south": {"deep": ["c", "d"], "e": []}}
ILLS = ("cold", "flu", "rash")


def small(seed: int, n: int = 24, missing: bool = True, recode: str = "generalize") -> tuple[pl.DataFrame, Schema]:
    draw = Random(seed)
    gone: list[Any] = [None] if missing else []
    rows = [
        {
            "age": draw.choice([*range(20, 33), *gone]),
            "town": draw.choice([*"abcde", *gone]),
            "job": draw.choice(["x", "y", "z"]),
            "ill": draw.choice(ILLS),
        }
        for _ in range(n)
    ]
    quasi = {
        "age": {"kind": "numeric"} | ({"step": 5} if recode == "generalize" else {}),
        "town": {"kind": "categorical", "hierarchy": TREE},
        "job": {"kind": "categorical"},
    }
    sensitive = {"ill": {"distance": "equal", "t": 0.6}}
    keys = {"k": 2, "quasi": quasi, "sensitive": sensitive, "missing": "category", "recode": recode}
    return pl.DataFrame(rows, schema_overrides={"age": pl.Int64}), Schema.from_dict(keys | {"objective": "queries"})


def shown_cells(members: list[dict[str, Any]], rows: list[dict[str, Any]], recode: str) -> dict[str, frozenset[Any]]:
    """What a class shows: ages from its least to its largest, snapped to fives and cut to those that occur; all leaves
    below the lowest common ancestor; and everything, missing values too, where that is the root or some are missing."""
    shown = {}
    for column in ("age", "town", "job"):
        values = {row[column] for row in members}
        every = {row[column] for row in rows}
        if column == "town" and recode == "generalize":
            every |= set("abcde")
        if column == "age" and recode == "generalize" and every - {None}:
            known = every - {None}
            every |= set(range(min(known), max(known) + 1))
        if None in values:
            shown[column] = frozenset(every if len(values) > 1 else {None})
        elif column == "age" and recode == "generalize":
            low, high = min(values) // 5 * 5, -(-max(values) // 5) * 5
            inside = [row["age"] for row in rows if row["age"] is not None and low <= row["age"] <= high]
            shown[column] = frozenset(range(min(inside), max(inside) + 1))
        elif column == "town" and recode == "generalize":
            leaves = below(values)
            shown[column] = frozenset(every if len(leaves) == 5 else leaves)
        else:
            shown[column] = frozenset(values if len(values) == 1 else every)
    return shown


def below(values: set[str]) -> set[str]:
    def ways(node: str) -> list[str]:
        return [node, *ways(PARENTS[node])] if node in PARENTS else [node]

    common = next(node for node in ways(min(values)) if all(node in ways(value) for value in values))
    return {leaf for leaf in "abcde" if common in ways(leaf)}


def random_labels(n: int, seed: int) -> Labels:
    return np.random.default_rng(seed).permutation(np.arange(n) // 3)


FILE = "age,town,job,ill\n20..25,,,flu\n,south,x|z,\n27..,a|e,,cold|rash\n22|24..28,deep,y,\n,,,flu\n50..,,,\n"
ASKED: list[dict[str, frozenset[Any]]] = [
    {"age": frozenset(range(20, 26)), "ill": frozenset(["flu"])},
    {"town": frozenset("cde"), "job": frozenset("xz")},
    {"age": frozenset(range(27, 99)), "town": frozenset("ae"), "ill": frozenset(["cold", "rash"])},
    {"age": frozenset([22, *range(24, 29)]), "town": frozenset("cd"), "job": frozenset("y")},
    {"ill": frozenset(["flu"])},
    {"age": frozenset(range(50, 99))},
]


@for_seeds(30)
def test_the_error_of_a_workload_is_that_of_the_oracle(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    recode = ("generalize", "suppress")[seed % 2]
    frame, schema = small(seed, missing=seed % 3 > 0, recode=recode)
    path = tmp_path_factory.mktemp("asked") / "queries.csv"
    path.write_text(FILE)
    table = encode(read(frame), replace(schema, workload=str(path)))
    assert table.objective.workload is not None
    search, labels, rows = AnswerSearch(table, table.objective.workload), random_labels(24, seed), frame.to_dicts()
    order = sorted(range(24), key=lambda row: labels[row])
    classes = [[rows[row] for row in members] for _, members in groupby(order, key=lambda row: labels[row])]
    shown = [shown_cells(members, rows, recode) for members in classes]
    assert search.precise.tolist() == [oracle.precise(rows, query) for query in ASKED]
    expected = [float(oracle.estimate(classes, shown, query)) for query in ASKED]
    assert search.estimates(labels) == pytest.approx(expected, abs=1e-5)
    expected_median = float(oracle.median_error(rows, classes, shown, ASKED))
    assert search.median_error(labels) == pytest.approx(expected_median, abs=1e-5)


@for_seeds(12)
def test_random_queries_are_answered_as_a_release_is_measured(seed: int) -> None:
    frame, schema = small(seed, 40, missing=seed % 2 > 0)
    release = tclose.anonymize(
        frame, replace(schema, objective="loss"), method="mondrian", seed=seed, allow_single_class=True
    )
    table = encode(read(frame), schema)
    queries = draw_queries(table, 50, 3, 0.1, np.random.default_rng(seed))
    search = AnswerSearch(table, draw_workload(table, np.random.default_rng(seed), 50))
    seen = beside(frame, release)
    assert search.precise.tolist() == precise_answers(points_of(seen), queries).tolist()
    told = estimated_answers(boxes_of(seen), queries)
    assert search.estimates(release.classes) == pytest.approx(told, abs=1e-5)


def improved(
    table: EncodedTable, requirement: Requirement, search: AnswerSearch, labels: Labels, seed: int,
    n_trials: int = 400,
) -> tuple[Labels, NDArray[np.float64]]:  # fmt: skip
    """The labels after a search, and how far it says that answers are off."""
    piece = Piece.of(table, decidable(requirement), soften(requirement), len(table))
    excess = search.excess(labels)
    found = search.improve(piece, labels, np.arange(len(table)), excess, n_trials, seed, Control())
    return found, excess


@for_seeds(20)
def test_the_search_lowers_the_error_and_breaks_no_promise(seed: int) -> None:
    frame, schema = small(seed, 60, missing=seed % 2 > 0)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    labels = run(find("mondrian"), table, requirement).labels
    search = AnswerSearch(table, draw_workload(table, np.random.default_rng(seed), 80))
    found, excess = improved(table, requirement, search, labels, seed)
    assert excess == pytest.approx(search.excess(found), abs=1e-3)  # what goes along is what is so
    truth, before = search.precise.tolist(), search.excess(labels).tolist()
    unit = max(search.median_error(labels), LEAST_UNIT)
    assert oracle.felt(excess.tolist(), truth, unit) <= oracle.felt(before, truth, unit) + 1e-6
    assert requirement.holds_in_all(table, found)
    assert (found == improved(table, requirement, search, labels, seed)[0]).all()


def test_the_kernels_as_plain_python_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = small(3, 30)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    search = AnswerSearch(table, draw_workload(table, np.random.default_rng(3), 12))
    labels = run(find("mondrian"), table, requirement).labels
    compiled = improved(table, requirement, search, labels, 5, n_trials=60)[0]
    stop_compiling(monkeypatch)
    plain = improved(table, requirement, AnswerSearch(table, search.workload), labels, 5, n_trials=60)[0]
    assert (plain == compiled).all()


def test_a_release_is_measured_by_other_queries_than_those_it_was_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = small(1, 40)
    drawn = []

    def draw(table: EncodedTable, rng: np.random.Generator, n: int = 200) -> Workload:
        drawn.append(draw_workload(table, rng, n))
        return drawn[-1]

    monkeypatch.setattr(tight, "draw_workload", draw)
    release = tclose.anonymize(frame, schema, method=Tight("fast"), seed=0, allow_single_class=True)
    assert release.record.objective == "queries"
    measured = draw_queries(encode(read(frame), schema), 200, 3, 0.1, np.random.default_rng(0))
    same = (drawn[0].lows.reshape(200, 3) == measured.lows[:, :3]) & (
        drawn[0].axes.reshape(200, 3) == measured.lines[:, :3]
    )
    assert same.all(axis=1).mean() < 0.5


@pytest.mark.slow
def test_answers_come_nearer_the_truth_than_by_loss() -> None:
    frame, schema = tclose.datasets.census(600, seed=1)
    table = encode(read(frame), replace(schema, objective="queries"))
    requirement = Requirement.of(schema, table)
    others = AnswerSearch(table, draw_workload(table, np.random.default_rng(99), 1000))  # that nobody optimized for
    by_loss = run(find("tight"), replace(table, objective=LOSS), requirement)
    found = run(find("tight"), table, requirement)
    assert others.median_error(found.labels) < others.median_error(by_loss.labels)
    assert table.loss(found.labels) > table.loss(by_loss.labels)
    again = run(find("tight"), table, requirement, found)
    assert requirement.holds_in_all(table, again.labels)


@pytest.mark.slow
def test_queries_of_a_user_are_answered_better_than_by_loss(tmp_path: Path) -> None:
    frame, schema = tclose.datasets.census(600, seed=2)
    (tmp_path / "asked.csv").write_text("age,sex\n" + "".join(f"{low}..{low + 15},\n" for low in range(20, 60, 2)))
    asked = replace(schema, objective="queries", workload=str(tmp_path / "asked.csv"))
    table = encode(read(frame), asked)
    assert table.objective.workload is not None
    requirement, search = Requirement.of(asked, table), AnswerSearch(table, table.objective.workload)
    by_loss = run(find("tight"), replace(table, objective=LOSS), requirement)
    found = run(find("tight"), table, requirement)
    assert search.median_error(found.labels) < 0.5 * search.median_error(by_loss.labels)


def test_queries_that_no_row_fits_change_nothing(tmp_path: Path) -> None:
    frame, schema = small(1, 30)
    (tmp_path / "asked.csv").write_text("age\n500..600\n")
    release = tclose.anonymize(
        frame,
        replace(schema, workload=str(tmp_path / "asked.csv")),
        method=Tight("fast"),
        seed=1,
        allow_single_class=True,
    )
    assert release.measured.k >= schema.k


def test_axes_weigh_by_what_they_are_worth_and_the_sum_stays() -> None:
    table = encode(read(small(1)[0]), small(1)[1])
    weights = [axis.weight for axis in weighted(table, np.array([0.0, 1.0, 3.0]), 1.0).axes]
    assert sum(weights) == pytest.approx(sum(axis.weight for axis in table.axes))
    assert 0 < weights[0] < weights[1] < weights[2]
    assert weighted(table, np.ones(3), 0.0) is table
    assert weighted(table, np.zeros(3), 1.0) is table
