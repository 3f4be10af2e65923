"""Utility metrics against slow oracles, on random releases of every kind."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, isinf

import numpy as np
import polars as pl
import pytest

from tclose.evaluation.utility import cubes, queries
from tclose.evaluation.utility.class_size import average_class_size
from tclose.evaluation.utility.classification import classification_metric
from tclose.evaluation.utility.counting_loops import count_boxes, count_points, find
from tclose.evaluation.utility.cubes import cube_divergence
from tclose.evaluation.utility.discernibility import discernibility
from tclose.evaluation.utility.entropy import nonuniform_entropy
from tclose.evaluation.utility.even_boxes import boxes_of, points_of
from tclose.evaluation.utility.loss import general_loss, loss_by_column
from tclose.evaluation.utility.queries import estimated_answers, precise_answers, query_error
from tclose.evaluation.utility.reading_back import ReadBack, read_release
from tclose.evaluation.utility.summed_loss import summed_loss
from tclose.evaluation.utility.suppressed import suppressed_cells
from tclose.schema.schema import Schema
from tclose.table.axes import TreeAxis
from tclose.table.count_queries import Queries, draw_queries, lengths
from tclose.table.line_cells import cells
from tests.evaluation.utility.random_releases import ILL, Case, random_case
from tests.oracles import utility as oracle
from tests.oracles.utility import Value
from tests.seeds import for_seeds

PLAIN = ("age", "born", "job", "flat", "zip")  # without steps and tails, whose ends are not values
MIXED = ("age", "pay", "seen", "zip", "phone", "job")


# What is covered


def of_all_kinds(seed: int) -> Case:
    return random_case(seed, missing=(0, 0.1, 0.6)[seed % 3], dropped=seed % 2 == 1)


@for_seeds(30)
def test_every_released_value_is_read_back_as_what_it_covers(seed: int) -> None:
    case = of_all_kinds(seed)
    order = [case.read.source.frame.row(row) for row in range(len(case.kept))]
    for place, (line, axis) in enumerate(zip(case.lines, case.read.table.axes, strict=True)):
        values = _values_of_places(case, place)
        low, high = (ends[case.read.labels] for ends in case.read.spans[place])
        expected = {shown: case.after[row][line] for row, shown in enumerate(case.shown)}
        for row, shown in enumerate(order):
            told = frozenset(values[low[row] : high[row] + 1])
            assert told == expected[shown[:-1]], (line, shown)
        assert len(values) == axis.size


def _values_of_places(case: Case, place: int) -> list[Value]:
    """The value at each place of an axis, from the rows of the original (those of unused leaves from the tree)."""
    axis, line = case.read.table.axes[place], case.lines[place]
    found: list[Value] = [None] * axis.size
    if isinstance(axis, TreeAxis):
        found[: len(axis.leaves)] = [axis.hierarchy.labels[node] for node in axis.leaves]
    for row, at in enumerate(case.read.table.places[place].tolist()):
        found[at] = case.before[row][line]
    return found


@for_seeds(15)
def test_the_loss_is_that_of_the_partition(seed: int) -> None:
    """Of all kinds: steps, tails and missing values too."""
    case = of_all_kinds(2 * seed)
    assert general_loss(case.read) == pytest.approx(case.loss, abs=1e-12)


# Losses


def _losses(case: Case, summed: bool) -> list[Fraction]:
    """By released row and line, the loss of the definition; those of kind digits weigh less."""
    found = []
    for row in case.kept:
        total = Fraction(0)
        for line, covered in case.after[row].items():
            domain = case.domains[line] - {None}
            if line in case.numeric:
                loss = oracle.numeric_loss(covered, [value for value in domain if isinstance(value, int)])
            else:
                loss = (oracle.summed_leaf_loss if summed else oracle.leaf_loss)(covered, len(domain))
            width = sum(other.split()[0] == line.split()[0] for other in case.domains)
            total += loss / width
        found.append(total)
    return found


@for_seeds(20)
def test_losses(seed: int) -> None:
    case = random_case(seed, missing=(0, 0.2)[seed % 2], names=(*PLAIN, "phone"), dropped=True)
    n, n_dropped = len(case.before), len(case.before) - len(case.kept)
    general = (sum(_losses(case, summed=False)) / 6 + n_dropped) / n
    assert general_loss(case.read) == pytest.approx(float(general), abs=1e-12)
    assert summed_loss(case.read) == pytest.approx(
        float((sum(_losses(case, summed=True)) + 6 * n_dropped) / n), abs=1e-12
    )


def test_weights() -> None:
    case = random_case(3, names=PLAIN)
    alone = loss_by_column(case.read)
    assert general_loss(case.read) == pytest.approx(sum(alone.values()) / len(PLAIN))
    weighed = general_loss(case.read, {"age": 3, "job": 1})
    assert weighed == pytest.approx(0.75 * alone["age"] + 0.25 * alone["job"])
    with pytest.raises(ValueError, match="Not quasi-identifiers: ill"):
        general_loss(case.read, {"ill": 1})
    for wrong in ({}, {"age": 0}, {"age": 2, "job": -1}):
        with pytest.raises(ValueError, match="Weights must be"):
            general_loss(case.read, wrong)


# Classes


@for_seeds(21)
def test_measures_of_classes(seed: int) -> None:
    names = (("flat",), ("job", "flat"), MIXED)[seed % 3]
    case = random_case(seed, missing=(0, 0.2)[seed % 2], names=names, dropped=True)
    n, shown = len(case.before), [case.shown[row] for row in case.kept]
    after, ill = [case.after[row] for row in case.kept], [case.ill[row] for row in case.kept]
    hidden = [oracle.is_hidden(row, case.domains) for row in after]
    assert suppressed_cells(case.read) == oracle.suppressed_cells(after, case.domains, n)
    assert case.read.n_suppressed == n - len(shown) + sum(hidden)
    assert discernibility(case.read) == oracle.discernibility(shown, hidden, n)
    expected = oracle.classification_metric(shown, ill, hidden, n)
    assert classification_metric(case.read, "ill") == pytest.approx(float(expected), abs=1e-12)
    assert average_class_size(case.read, 3) == pytest.approx(len(shown) / len(set(shown)) / 3)


@for_seeds(30)
def test_entropy(seed: int) -> None:
    case = of_all_kinds(seed)
    after = [row if place in case.kept else {} for place, row in enumerate(case.after)]
    found = nonuniform_entropy(case.read)
    assert found.bits == pytest.approx(oracle.entropy(case.before, after), abs=1e-8)
    assert found.most == pytest.approx(oracle.entropy(case.before, [{}] * len(after)), abs=1e-8)
    assert 0 <= found.share <= 1 + 1e-12


# Queries


def _wanted(case: Case, asked: Queries, query: int) -> tuple[dict[str, frozenset[Value]], frozenset[Value]]:
    """A query as the values it asks for."""
    wanted: dict[str, frozenset[Value]] = {}
    for line, low, high in zip(asked.lines[query], asked.lows[query], asked.highs[query], strict=True):
        if line == len(case.lines):
            return wanted, frozenset(ILL[low:high])
        name = case.lines[line]
        if name in case.numeric:
            wanted[name] = frozenset(range(case.numeric[name] + low, case.numeric[name] + high))
        else:
            wanted[name] = frozenset(_values_of_places(case, line)[low:high])
    raise AssertionError


@for_seeds(20)
def test_queries(seed: int) -> None:
    case = random_case(seed, missing=(0, 0.2)[seed % 2], names=MIXED, dropped=seed % 3 == 0)
    if any(not domain - {None} for domain in case.domains.values()):
        return
    n, attributes, selectivity = 25, 1 + seed % 4, (0.05, 0.3)[seed % 2]
    asked = draw_queries(case.read.table, n, attributes, selectivity, np.random.default_rng(seed))
    kept, ill = [case.cells[row] for row in case.kept], [case.ill[row] for row in case.kept]
    answers = []
    for query in range(n):
        wanted, of_ill = _wanted(case, asked, query)
        sick = [row for row, value in zip(case.points, case.ill, strict=True) if value in of_ill]
        answers.append((oracle.precise(sick, wanted), oracle.estimate(kept, ill, wanted, of_ill)))
    true, told = zip(*answers, strict=True)
    assert precise_answers(points_of(case.read), asked).tolist() == list(true)
    assert estimated_answers(boxes_of(case.read), asked) == pytest.approx([float(one) for one in told], abs=1e-9)
    found = query_error(case.read, n, attributes=attributes, selectivity=selectivity, seed=seed)
    assert (found.asked, found.answered) == (n, sum(one > 0 for one in true))
    if found.answered:
        assert found.median == pytest.approx(oracle.median_error(answers), abs=1e-9)
    else:
        assert found.as_dict()["median"] is None


def test_queries_are_drawn_as_the_paper_says() -> None:
    """lambda quasi-identifiers and the sensitive attribute; on each a share of theta^(1 / (lambda + 1))."""
    read = _census(1000)
    asked = draw_queries(read.table, 4000, 3, 0.1, np.random.default_rng(1))
    n_quasi = len(read.table.axes)
    assert asked.lines.shape == (4000, 4)
    assert set(asked.lines[:, 3]) == {n_quasi}
    assert all(len(set(lines)) == 4 for lines in asked.lines.tolist())
    assert set(asked.lines[:, :3].ravel()) == set(range(n_quasi))
    whole = lengths(read.table)[asked.lines]
    covered = asked.highs - asked.lows
    assert np.abs(covered - whole * 0.1**0.25).max() <= 0.5
    assert (asked.lows >= 0).all()
    assert (asked.highs <= whole).all()
    ages = asked.lines == 0
    room = (whole - covered)[ages]
    assert set(asked.lows[ages]) == set(range(room.max() + 1))  # every place, both ends included
    assert abs(asked.lows[ages].mean() / room.mean() - 0.5) < 0.03


def _census(n: int) -> ReadBack:
    import tclose

    frame, schema = tclose.datasets.census(n, seed=1)
    return read_release(frame, frame, schema)


def test_the_same_queries_for_every_release_of_a_table() -> None:
    one, other = random_case(5, names=MIXED).read, random_case(5, names=MIXED, dropped=True).read
    drawn = [draw_queries(read.table, 50, 2, 0.1, np.random.default_rng(3)) for read in (one, other)]
    for name in ("lines", "lows", "highs"):
        assert np.array_equal(getattr(drawn[0], name), getattr(drawn[1], name))


@pytest.mark.parametrize(("attributes", "selectivity"), [(0, 0.1), (10, 0.1), (2, 0), (2, 1.5)])
def test_queries_that_cannot_be(attributes: int, selectivity: float) -> None:
    with pytest.raises(ValueError, match=r"A query can ask|selectivity must be"):
        query_error(random_case(1, names=MIXED).read, 10, attributes=attributes, selectivity=selectivity)


@for_seeds(6)
def test_kernels_without_compiler(seed: int) -> None:
    """And over several blocks of points and boxes."""
    rng = np.random.default_rng(seed)
    n, asked = (5000, 3) if seed == 0 else (700, 8)
    points = rng.integers(0, 9, (3, n)).astype(np.int32)
    weights = rng.integers(1, 4, n).astype(np.int32)
    lines = np.column_stack([rng.integers(0, 2, asked), np.full(asked, 2)])
    lows = rng.integers(0, 5, (asked, 2)).astype(np.int32)
    highs = lows + rng.integers(1, 5, (asked, 2)).astype(np.int32)
    for count in (count_points, count_points.py_func):  # type: ignore[attr-defined]
        found = count(points, weights, lines, lows, highs)
        for query in range(asked):
            inside = np.ones(n, bool)
            for line, low, high in zip(lines[query], lows[query], highs[query], strict=True):
                inside &= (points[line] >= low) & (points[line] < high)
            assert found[query] == weights[inside].sum()
    starts = rng.integers(0, 9, (2, 700)).astype(np.float64)
    stops = starts + rng.integers(1, 5, (2, 700))
    first = np.append(0, np.cumsum(rng.integers(1, 4, 700)))
    codes = np.concatenate([np.sort(rng.permutation(9)[:size]) for size in np.diff(first)]).astype(np.int32)
    rows = rng.integers(1, 5, len(codes))
    below = np.append(0, np.cumsum(rows))
    for count in (count_boxes, count_boxes.py_func):  # type: ignore[attr-defined]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(count_boxes.py_func.__globals__, "find", find.py_func)  # type: ignore[attr-defined]
            found = count(starts, stops, first, codes, below, lines, lows.astype(float), highs.astype(float))
        for query in range(asked):
            line, low, high = lines[query, 0], lows[query], highs[query]
            width = np.minimum(stops[line], high[0]) - np.maximum(starts[line], low[0])
            share = np.maximum(width, 0) / (stops[line] - starts[line])
            within = np.where((codes >= low[1]) & (codes < high[1]), rows, 0)
            assert found[query] == pytest.approx(np.sum(share * np.add.reduceat(within, first[:-1])))


# Cubes


@pytest.mark.parametrize("most_cells", [1 << 23, 0])
@for_seeds(12)
def test_cubes(seed: int, most_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held as a whole, or asked cell by cell."""
    monkeypatch.setattr(cubes, "MOST_CELLS", most_cells)
    case = random_case(seed, missing=(0, 0.2)[seed % 2], names=("age", "pay", "zip", "job"), dropped=seed % 3 == 0)
    kept, ill = [case.cells[row] for row in case.kept], [case.ill[row] for row in case.kept]
    for level in (0, 1, 2, 3):
        expected = oracle.cube_divergence(case.points, case.ill, kept, ill, level)
        found = cube_divergence(case.read, level)
        assert found == pytest.approx(expected, abs=1e-9) if not isinf(expected) else found == inf


def test_a_group_that_is_gone_is_told_from_rounding() -> None:
    """Adding and taking away many boxes leaves a little more or less than nothing behind them."""
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    table = pl.DataFrame({"age": range(101)})
    rng = np.random.default_rng(0)
    lows = rng.integers(0, 50, 100)
    shown = pl.DataFrame(
        {"age": [f"[{low}, {low + wide}]" for low, wide in zip(lows, rng.integers(1, 49, 100), strict=True)]}
    )
    read = read_release(table, shown, schema)
    assert cube_divergence(read, 1) == inf
    points, boxes = points_of(read), boxes_of(read)
    told = cubes._filled(points, boxes, (0, 1), np.array([np.arange(101), np.zeros(101, np.int64)]))
    assert told[-1] == 0
    assert told.sum() == pytest.approx(100)


@pytest.mark.parametrize("span", [10**7, 10**9])
def test_cells_with_next_to_nothing_are_told_as_well(span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows are hidden, and lie so thinly that beside an exact row nothing would be left of them."""
    rng = np.random.default_rng(1)
    schema = Schema.from_dict({"k": 1, "quasi": {"a": {"kind": "numeric"}, "b": {"kind": "numeric"}}})
    table = pl.DataFrame({"a": rng.integers(0, span, 60), "b": rng.integers(0, span, 60)})
    is_hidden = pl.int_range(60) % 2 == 0
    shown = table.select(pl.when(is_hidden).then(pl.lit("*")).otherwise(pl.all().cast(pl.String)).name.keep())
    read = read_release(table, shown, schema)
    held = cube_divergence(read, 2)
    monkeypatch.setattr(cubes, "MOST_CELLS", 0)
    assert held == pytest.approx(cube_divergence(read, 2), rel=1e-9)


def test_a_cube_of_too_many_lines() -> None:
    with pytest.raises(ValueError, match="0 to 4"):
        cube_divergence(random_case(1, names=("age", "pay", "zip", "job")).read, 5)


# Ends of the scale


def _schema(k: int = 2) -> Schema:
    quasi = {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}}
    return Schema.from_dict({"k": k, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 1}}})


def _people(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(20, 60, n).astype(str), "sex": rng.choice(["f", "m"], n)}
    return pl.DataFrame(columns | {"ill": rng.choice(ILL, n)})


@pytest.mark.parametrize("n", [1, 2, 60])
def test_a_table_as_it_is_loses_nothing(n: int) -> None:
    read = read_release(_people(n), _people(n), _schema())
    assert general_loss(read) == summed_loss(read) == suppressed_cells(read) == 0
    assert nonuniform_entropy(read).bits == nonuniform_entropy(read).share == 0
    assert query_error(read, 200).median == 0
    assert [cube_divergence(read, level) for level in (0, 1, 2)] == pytest.approx([0, 0, 0], abs=1e-12)


def test_a_table_all_hidden_loses_everything() -> None:
    people = _people()
    shown = people.with_columns(age=pl.lit("*"), sex=pl.lit("*"))
    read = read_release(people, shown, _schema())
    assert general_loss(read) == 1
    assert summed_loss(read) == 2
    assert suppressed_cells(read) == 120
    assert read.n_suppressed == 60
    assert discernibility(read) == 60 * 60
    assert classification_metric(read, "ill") == 1
    assert nonuniform_entropy(read).share == pytest.approx(1)
    assert average_class_size(read) == 60
    assert query_error(read, 200).median > 0
    assert cube_divergence(read, 2) > cube_divergence(read, 1) > 0
    assert cube_divergence(read, 0) == 0  # sensitive values are as they were


def test_rows_left_out_lose_everything() -> None:
    people = _people()
    read = read_release(people, people[:20], _schema())
    assert general_loss(read) == pytest.approx(40 / 60)
    assert suppressed_cells(read) == 80
    assert read.n_suppressed == 40


def test_merging_classes_never_loses_less() -> None:
    people = _people().sort("age")
    ages = people["age"].to_list()
    losses = []
    for size in (60, 30, 15, 5):
        ends = [(ages[row // size * size], ages[min(row // size * size + size, 60) - 1]) for row in range(60)]
        shown = people.with_columns(age=pl.Series([f"[{low}, {high}]" for low, high in ends]))
        read = read_release(people, shown, _schema())
        losses.append((general_loss(read), summed_loss(read), nonuniform_entropy(read).bits, discernibility(read)))
    for wide, narrow in pairwise(losses):
        assert all(one > other for one, other in zip(wide, narrow, strict=True))


def test_without_a_sensitive_attribute() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}}})
    people = _people().drop("ill")
    read = read_release(people, people.with_columns(sex=pl.lit("*")), schema)
    asked = draw_queries(read.table, 300, 2, 0.25, np.random.default_rng(0))
    assert set((asked.highs - asked.lows)[asked.lines == 0]) == {round(len(range(20, 60)) * 0.5)}
    assert query_error(read, 300).answered > 100
    share = people["sex"].value_counts(normalize=True)["proportion"].to_numpy()
    sexes = float(np.sum(share * np.log(share / 0.5)))
    assert cube_divergence(read, 1) == pytest.approx(sexes / 2, abs=1e-12)


def test_the_cells_of_numbers_are_those_of_their_last_decimal() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"pay": {"kind": "numeric"}}})
    table = pl.DataFrame({"pay": ["1.25", "1.5", "2"]})
    read = read_release(table, table.with_columns(pay=pl.lit("[1.25, 2]")), schema)
    assert cells(read.table.axes[0]).tolist() == [0, 25, 75]
    asked = Queries(np.array([[0, 1]]), np.array([[0, 0]]), np.array([[38, 1]]))  # 1.25 to 1.62
    assert estimated_answers(boxes_of(read), asked)[0] == pytest.approx(3 * 38 / 76)
    assert precise_answers(points_of(read), asked).tolist() == [2]


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    read = random_case(8, names=MIXED).read
    one = query_error(read, 100)
    monkeypatch.setattr(queries, "PIECE", 7)
    assert query_error(read, 100) == one
