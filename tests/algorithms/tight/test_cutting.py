"""Cuts and their mending, against all cuts tried one by one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight import cutting_loops as cutting
from tclose.algorithms.tight import mending_loops as mending
from tclose.algorithms.tight.pieces import Piece
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read
from tests.algorithms.tight.small_pieces import cases, classes_of, piece_of, rows_of, stop_compiling
from tests.oracles import tight as oracle

Sides = NDArray[np.int8]
SLACKS = (0.0, 0.3, 0.75)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)


def some_rows(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """A few of n rows, in any order, with room behind them."""
    return rng.permutation(n)[: int(rng.integers(1, n + 1))]


def wide_piece(n: int = 400) -> tuple[Piece, oracle.Rows]:
    """An axis with a place for every row, and one with few."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {"id": rng.permutation(n) * 3, "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["a", "b"], n)}
    )
    keys: dict[str, Any] = {
        "k": 2,
        "quasi": {"id": {"kind": "numeric"}, "sex": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.3}},
    }
    schema = Schema.from_dict(keys)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    return piece_of(table, requirement), rows_of(table, requirement)


def check_cuts(piece: Piece, rows: oracle.Rows, members: NDArray[np.int64], cuts: cutting.Cuts) -> None:
    n_cuts, total = cutting.find_cuts(piece.task, members, len(members), cuts, piece.halt)
    assert total == pytest.approx(rows.cost(members.tolist()))
    expected = oracle.cuts(rows, members.tolist())
    found = {(int(axis), int(place)): saved for (axis, place, _), saved in zip(cuts.where, cuts.saved[:n_cuts])}  # noqa: B905
    assert len(found) == n_cuts
    assert found == pytest.approx(expected, abs=1e-9)
    for axis, place, n_left in cuts.where[:n_cuts].tolist():
        assert n_left == len(oracle.sides(rows, members.tolist(), axis, place)[0])
    assert not cuts.counts.any()


@pytest.mark.usefixtures("uncompiled")
def test_all_cuts_are_found_and_what_they_save() -> None:
    for seed, piece, rows in cases(range(25)):
        rng, n = np.random.default_rng(seed), len(piece.table)
        cuts = piece._cuts(n)
        for members in (np.arange(n), some_rows(rng, n), some_rows(rng, n)):
            check_cuts(piece, rows, members, cuts)


@pytest.mark.usefixtures("uncompiled")
def test_few_rows_on_a_long_axis() -> None:
    piece, rows = wide_piece()
    rng, cuts = np.random.default_rng(3), piece._cuts(400)
    for size in (1, 2, 5, 9, 40, 100, 150):
        members = rng.permutation(400)[:size]
        check_cuts(piece, rows, members, cuts)
        (low, high), _ = rows.box(members.tolist())
        n_places = cutting.places_of(piece.task, members, size, 0, low, high, cuts)
        places = sorted(rows.places[row][0] for row in members)
        assert (high - low < 4 * size + 64) == (size >= 100) or size == 1
        assert cuts.found[:n_places].tolist() == places
        assert np.flatnonzero(cuts.counts).tolist() == places
        cuts.counts[:] = 0


@pytest.mark.usefixtures("uncompiled")
def test_limit() -> None:
    for k in (1, 2, 7):
        for n in (1, 2 * k, 3 * k, 100, 10**6):
            for slack in SLACKS:
                found = [mending.limit(size, k, n, slack) for size in (1, 2 * k, 2 * k + 1, 50, 99, 10**5, 10**6)]
                expected = [oracle.limit(size, k, n, slack) for size in (1, 2 * k, 2 * k + 1, 50, 99, 10**5, 10**6)]
                assert found == pytest.approx(expected)
                assert found[:2] == [1, 1]
                assert all(1 - slack - 1e-12 <= each <= 1 for each in found)
                assert found == sorted(found, reverse=True)


@dataclass(frozen=True)
class Trial:
    """Rows with a side each, from a random cut."""

    members: NDArray[np.int64]
    sides: Sides

    @classmethod
    def of(cls, rows: oracle.Rows, rng: np.random.Generator) -> Trial | None:
        members = rng.permutation(len(rows.places))
        cuts = list(oracle.cuts(rows, members.tolist()))
        if not cuts:
            return None
        axis, place = cuts[int(rng.integers(len(cuts)))]
        return cls(members, np.array([rows.places[row][axis] > place for row in members], np.int8))

    def rows(self, side: int) -> list[int]:
        found: list[int] = self.members[self.sides == side].tolist()
        return found


def options(n: int, slack: float, n_mends: int = 0) -> mending.SplitOptions:
    """Of a table of n rows."""
    return mending.SplitOptions(n_all=n, slack=slack, smallest=0, n_mends=n_mends)


def division(n: int, sides: int = 0) -> cutting.Division:
    """All rows on one side."""
    return cutting.Division(sides=np.full(n, sides, np.int8), trial=np.empty(n, np.int8))


def mended(piece: Piece, members: NDArray[np.int64], sides: Sides, only: int, slack: float) -> bool:
    """Mend two sides of all rows."""
    n = len(members)
    lined_up = mending.line_up(piece.task, members, n, sides)
    return mending.mend(piece.task, members, sides, only, options(n, slack), *lined_up, piece.tools())


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("few_values", [256, 0])
def test_mended_sides_are_within_their_limits(few_values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row after the other, and several at once."""
    monkeypatch.setattr(mending, "FEW_VALUES", few_values)
    monkeypatch.setattr(mending, "ROWS_AT_ONCE", 2)
    n_mended, n_failed = 0, 0
    for seed, piece, rows in cases(range(30), 60, Fraction(1, 5)):
        n = len(piece.table)
        start = Trial.of(rows, np.random.default_rng(seed))
        if start is None:
            continue
        for only in (-1, 0, 1):
            for slack in SLACKS[:2]:
                end = Trial(start.members, start.sides.copy())
                if not mended(piece, end.members, end.sides, only, slack):
                    n_failed += 1
                    continue
                n_mended += bool((start.sides != end.sides).any())
                assert set(end.sides.tolist()) == {0, 1}
                for side in (0, 1):
                    members = end.rows(side)
                    assert len(members) >= rows.k
                    limit = oracle.limit(len(members), rows.k, n, slack)
                    assert rows.ratio(frozenset(members)) <= limit + 1e-9
                if only >= 0:
                    assert (end.sides[start.sides != only] == 1 - only).all()
    assert n_mended > 55
    assert n_failed < 20


@pytest.mark.usefixtures("uncompiled")
def test_rows_line_up_by_what_they_add_to_the_other_side() -> None:
    for seed, piece, rows in cases(range(25)):
        trial = Trial.of(rows, np.random.default_rng(seed))
        if trial is None:
            continue
        n_axes, n = len(piece.table.axes), len(trial.members)
        heads, following = mending.line_up(piece.task, trial.members, n, trial.sides)
        for attribute in range(len(piece.requirement.attributes)):
            column = n_axes + len(piece.requirement.attributes) + attribute
            for side in (0, 1):
                found = []
                for value in range(piece.task.soft.n_values):
                    each, chain = int(heads[attribute, side, value]), []
                    while each >= 0:
                        row = int(trial.members[each])
                        assert (trial.sides[each], piece.task.space.rows[row, column]) == (side, value)
                        chain.append(rows.loss([*trial.rows(1 - side), row]))
                        found.append(each)
                        each = int(following[attribute, each])
                    assert chain == pytest.approx(sorted(chain), abs=1e-12)
                assert sorted(found) == np.flatnonzero(trial.sides == side).tolist()


@pytest.mark.usefixtures("uncompiled")
def test_what_is_said_of_both_sides() -> None:
    verdicts = set()
    for seed, piece, rows in cases(range(25)):
        trial = Trial.of(rows, np.random.default_rng(seed))
        if trial is None:
            continue
        n, n_values = len(trial.members), piece.task.soft.n_values
        cost = cutting.sides_cost(piece.task.space, trial.members, n, trial.sides)
        assert cost == pytest.approx(rows.total([trial.rows(0), trial.rows(1)]))
        room = np.empty(n, np.int64)
        hold = cutting.both_hold(piece.task, trial.members, n, trial.sides, room, piece.tools().scratch)
        assert hold == (rows.allowed(trial.rows(0)) and rows.allowed(trial.rows(1)))
        verdicts.add(hold)
        counts, sizes = np.full((2, n_values), 9), np.full(2, 9)
        mending.tally(piece.task, trial.members, n, trial.sides, counts, sizes)
        first = len(piece.table.axes) + len(piece.requirement.attributes)
        for side in (0, 1):
            values = piece.task.space.rows[trial.rows(side), first:].ravel()
            assert counts[side].tolist() == np.bincount(values, minlength=n_values).tolist()
            assert sizes[side] == len(trial.rows(side))
        mixed = np.concatenate([[-1, -2], trial.members, [-3]])
        middle = cutting.divide(mixed, 2, 2 + n, trial.sides, room)
        assert mixed.tolist() == [-1, -2, *trial.rows(0), *trial.rows(1), -3]
        assert middle == 2 + len(trial.rows(0))
    assert verdicts == {True, False}


def is_within(rows: oracle.Rows, members: list[int], axis: int, place: int, slack: float) -> bool:
    """Whether both sides of a cut are allowed, and within their limits."""
    both = [frozenset(side) for side in oracle.sides(rows, members, axis, place)]
    limits = [oracle.limit(len(side), rows.k, len(members), slack) + 1e-9 for side in both]
    return all(map(rows.allowed, both)) and all(map(float.__le__, map(rows.ratio, both), limits))


def best_mended(
    piece: Piece, rows: oracle.Rows, members: NDArray[np.int64], cuts: list[tuple[float, int, int]], slack: float
) -> float:
    """What the cut that would save most saves when it is mended in the best of three ways; 0 if that is not needed."""
    most = 0.0
    if not cuts or cuts[0][0] <= 1e-9 or is_within(rows, members.tolist(), *cuts[0][1:], slack):
        return most
    for only in (-1, 0, 1):
        sides = np.array([rows.places[row][cuts[0][1]] > cuts[0][2] for row in members], np.int8)
        if mended(piece, members, sides, only, slack):
            both = [members[sides == side].tolist() for side in (0, 1)]
            if all(map(rows.allowed, both)):
                most = max(most, rows.cost(members.tolist()) - rows.total(both))
    return most


@pytest.mark.usefixtures("uncompiled")
def test_the_best_cut() -> None:
    """Without mending it is the one that saves most of those that may be; the more is mended, the better."""
    n_better = 0
    for seed, piece, rows in cases([*range(12), 25, 28, 33], 60, Fraction(1, 10)):
        n = len(piece.table)
        members = np.random.default_rng(seed).permutation(n)
        room = piece._cuts(n), division(n), piece.tools()
        sides: Sides = room[1].sides
        found = oracle.cuts(rows, members.tolist())  # of those that save as much, the kernel takes the rightmost first
        ordered = sorted((-round(saved, 9), axis, -place) for (axis, place), saved in found.items())
        cuts = [(found[axis, -place], axis, -place) for _, axis, place in ordered]
        for slack in SLACKS:
            may_be = (cut[0] for cut in cuts if cut[0] > 1e-9 and is_within(rows, members.tolist(), *cut[1:], slack))
            best = next(may_be, 0.0)
            assert cutting.best_cut(piece.task, members, options(n, slack), 10**6, *room) == pytest.approx(best)
            first = cutting.best_cut(piece.task, members, options(n, slack), 1, *room)
            assert first == pytest.approx(best if cuts and best == cuts[0][0] else 0.0)
            once = cutting.best_cut(piece.task, members, options(n, slack, 1), 10**6, *room)
            assert once == pytest.approx(max(best, best_mended(piece, rows, members, cuts, slack)))
            several = cutting.best_cut(piece.task, members, options(n, slack, 4), 10**6, *room)
            assert several >= once - 1e-9
            n_better += several > best + 1e-9
            if several > 0:
                both = [frozenset(members[sides == side].tolist()) for side in (0, 1)]
                assert all(map(rows.allowed, both))
                assert several == pytest.approx(rows.cost(range(n)) - rows.total(both))
    assert n_better > 8


@pytest.mark.usefixtures("uncompiled")
def test_values_are_halved() -> None:
    """Every value of one attribute goes half to each side where nothing had to be mended."""
    n_found = 0
    for seed, piece, rows in cases(range(40), 60, Fraction(2, 5)):
        n, halves_of = len(piece.table), division(len(piece.table), 9)
        sides = halves_of.sides
        members = np.random.default_rng(seed).permutation(n)
        saved = cutting.even_cut(piece.task, members, options(n, 0.0), piece._cuts(n), halves_of, piece.tools())
        if saved == 0:
            assert (sides == 9).all()
            continue
        both = [frozenset(members[sides == side].tolist()) for side in (0, 1)]
        assert all(map(rows.allowed, both))
        assert saved == pytest.approx(rows.cost(range(n)) - rows.total(both))
        if max(map(rows.ratio, both)) < 1:
            columns = piece.task.space.rows[members, len(piece.table.axes) + len(piece.requirement.attributes) :].T
            halves = [[np.bincount(values[sides == side], minlength=999) for side in (0, 1)] for values in columns]
            assert min(np.abs(left - right).max() for left, right in halves) <= 1
            n_found += 1
    assert n_found > 10


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("n_rare", [0, 1, 3])
def test_rows_are_halved_where_nothing_is_sensitive(n_rare: int) -> None:
    """No cut has k rows on both sides. Compiled, this once read and wrote past the rows."""
    town = ["x"] * n_rare + ["y"] * (21 - n_rare)
    schema = Schema.from_dict({"k": 5, "quasi": {"town": {"kind": "categorical"}}})
    table = encode(read(pl.DataFrame({"town": town})), schema)
    requirement = Requirement.of(schema, table)
    piece = piece_of(table, requirement)
    n, halves_of = len(table), division(len(table), 9)
    sides = halves_of.sides
    saved = cutting.even_cut(piece.task, np.arange(n), options(n, 0.0), piece._cuts(n), halves_of, piece.tools())
    assert saved == (11 if n_rare else 0)  # one half has every rare row, and the other 11 rows lose nothing any more
    assert np.bincount(sides).tolist() == ([11, 10] if n_rare else [0] * 9 + [21])


@pytest.mark.usefixtures("uncompiled")
def test_halted_kernels_come_back_at_once() -> None:
    """No axis is looked at, no cut is tried and no row is moved."""
    piece, _ = wide_piece(60)
    n, tools = len(piece.table), piece.tools()
    members, sides = np.arange(n), np.arange(n, dtype=np.int8) % 2
    lined_up = mending.line_up(piece.task, members, n, sides)
    assert cutting.find_cuts(piece.task, members, n, piece._cuts(n), piece.halt)[0] > 0
    piece.halt[0] = True
    assert cutting.find_cuts(piece.task, members, n, piece._cuts(n), piece.halt)[0] == 0
    assert not mending.mend(piece.task, members, sides.copy(), -1, options(n, 0.0), *lined_up, tools)
    assert cutting.even_cut(piece.task, members, options(n, 0.0), piece._cuts(n), division(n), tools) == 0
    assert len(classes_of(piece.split(0.0, 3, 0, Control()))) == 1


class StopAfter(Control):
    """Ends a method at its i-th look."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    @property
    def stop(self) -> bool:
        self.left -= 1
        return self.left < 0


def check_split(piece: Piece, rows: oracle.Rows, labels: NDArray[np.int64]) -> list[oracle.Class]:
    classes = classes_of(labels)
    assert len(labels) == len(piece.table)
    assert all(map(rows.allowed, classes))
    assert rows.total(classes) <= rows.cost(range(len(labels))) + 1e-9
    return classes


def test_split() -> None:
    n_classes = 0
    for seed, piece, rows in cases(range(50)):
        slack, mends = SLACKS[seed % 3], seed % 5
        labels = piece.split(slack, mends, 0, Control())
        classes = check_split(piece, rows, labels)
        n_classes += len(classes)
        assert (piece.split(slack, mends, 0, Control()) == labels).all()
        smallest = int(np.random.default_rng(seed).integers(2, 30))
        coarse = classes_of(piece.split(slack, mends, smallest, Control()))
        for each in coarse:
            parts = [part for part in classes if part & each]
            assert frozenset().union(*parts) == each
            assert len(parts) == 1 or len(each) < smallest
    assert n_classes > 100


def test_a_split_may_stop_at_any_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.tight.pieces.BUDGET", 1)
    for seed, piece, rows in cases(range(40)):
        found = [len(check_split(piece, rows, piece.split(0.3, 3, 0, StopAfter(looks)))) for looks in range(5)]
        whole = piece.split(0.3, 3, 0, Control())
        assert found == sorted(found)
        assert found[0] <= 2
        monkeypatch.setattr("tclose.algorithms.tight.pieces.BUDGET", 10**9)
        assert (piece.split(0.3, 3, 0, Control()) == whole).all(), seed
        monkeypatch.setattr("tclose.algorithms.tight.pieces.BUDGET", 1)
    assert len(classes_of(wide_piece()[0].split(0.0, 3, 0, Control(seconds=0)))) <= 2
