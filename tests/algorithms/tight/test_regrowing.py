"""Classes built anew, against the cost of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.algorithms.tight import moving_loops as moving
from tclose.algorithms.tight import regrowing_loops as regrowing
from tclose.algorithms.tight.pieces import Piece
from tclose.kernels import soft
from tests.algorithms.tight.small_pieces import Searched, cases, messy_start, stop_compiling
from tests.oracles.tight import Rows

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # random numbers as plain Python


@dataclass
class Rebuilt:
    """Classes that are built anew, and all that takes."""

    found: Searched
    plot: regrowing.Plot
    free: NDArray[np.int64]
    random: NDArray[np.uint64]

    @classmethod
    def of(cls, piece: Piece, rows: Rows, seed: int, size: int = 400) -> Rebuilt:
        found = Searched.of(piece, messy_start(rows, np.random.default_rng(seed)), seed)
        n_classes, most = int(found.labels.max()) + 1, len(found.classes.table)
        free = np.concatenate([[most - n_classes], np.arange(n_classes, most), np.zeros(n_classes, np.int64)])
        return cls(found, piece._plot(size), free, np.array([seed], np.uint64))

    def rebuild(self, n_trials: int, cutting: float = 1.0) -> float:
        """Try so often; cutting counts as having saved so much before, growing as 1."""
        piece, tried = self.found.piece, np.array([[1.0, 1.0], [cutting, 1.0]])
        trials = piece._trials(0.0, 0, self.free)._replace(tried=tried, random=self.random)
        cuts, tools = piece._cuts(len(self.plot.members)), self.found.tools
        return regrowing.rebuild(
            piece.task, self.found.classes, self.found.paths, self.plot, n_trials, trials, cuts, tools
        )

    def check_numbers(self) -> None:
        """Every number is free or a class."""
        free = self.free[1 : 1 + self.free[0]].tolist()
        used = np.flatnonzero(self.found.classes.table[:, moving.SIZE]).tolist()
        assert sorted(free + used) == list(range(len(self.found.classes.table)))


@pytest.mark.parametrize(("cutting", "size"), [(1e-9, 400), (1e9, 400), (1, 400), (1, 14)])
def test_what_is_built_anew_costs_less(cutting: float, size: int) -> None:
    n_better, n_fewer, n_more = 0, 0, 0
    for seed, piece, rows in cases(range(40)):
        built = Rebuilt.of(piece, rows, seed, size)
        cost, n_classes = rows.total(built.found.check(rows)), int(built.found.labels.max()) + 1
        for n_trials in (1, 2, 30):
            saved = built.rebuild(n_trials, cutting)
            classes = built.found.check(rows)
            built.check_numbers()
            assert saved >= 0
            assert cost - rows.total(classes) == pytest.approx(saved, abs=1e-9)
            n_better += saved > 0
            n_more += len(classes) > n_classes
            n_fewer += len(classes) < n_classes
            cost, n_classes = rows.total(classes), len(classes)
    assert n_better > 25
    assert n_more > 3
    assert n_fewer > (1 if cutting <= 1 else -1)


def test_the_same_state_gives_the_same_classes() -> None:
    for seed, piece, rows in cases(range(4)):
        labels = []
        for _ in range(2):
            built = Rebuilt.of(piece, rows, seed)
            built.rebuild(20)
            labels.append(built.found.labels.tolist())
        assert labels[0] == labels[1]


def test_rows_that_are_looked_at_again_are_those_of_new_classes() -> None:
    for seed, piece, rows in cases(range(20)):
        built = Rebuilt.of(piece, rows, seed)
        before = built.found.labels.copy()
        built.rebuild(3)
        changed = np.unique(built.found.labels[built.found.labels != before])
        assert (built.found.classes.table[changed, moving.CHANGED] == 2**62).all()


def test_a_plot_takes_classes_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    n_picked = 0
    for seed, piece, rows in cases(range(30)):
        for size in (5, 12, 400):
            built = Rebuilt.of(piece, rows, seed, size)
            chosen = np.full(30, -1)
            classes, paths = built.found.classes, built.found.paths
            n, n_rows = regrowing.pick(classes, paths, built.plot, 4, chosen, built.random)
            numbers = chosen[:n].tolist()
            assert len(set(numbers)) == n <= 4
            assert n_rows == sum(classes.table[number, moving.SIZE] for number in numbers) <= size
            n_picked += n > 1
    assert n_picked > 30


def grown(piece: Piece, rows: Rows, seed: int, pull: float) -> list[int] | None:
    """From a row on, each time the one of least price, until the class is large and close enough.

    The price is what it adds to the cost; in a class that is not well within t, also how fast it
    drives it away, by `pull`. None where, with a pull, two rows have the same price but for rounding.
    """
    members, values = [seed], piece.task.space.rows[:, len(piece.table.axes) + len(piece.table.codes) :]
    while len(members) < rows.k or rows.ratio(frozenset(members)) > 1 + 1e-9:
        others = [row for row in range(len(piece.table)) if row not in members]
        if not others:
            return []
        gauge, counts = piece.tools().gauge, np.bincount(values[members].ravel(), minlength=piece.task.soft.n_values)
        worst = soft.measure(piece.task.soft, counts, len(members), gauge)
        prices = {
            row: rows.cost([*members, row]) + (pull * gauge.potentials[values[row]].sum() if worst > 0.9 else 0)
            for row in others
        }
        first, *rest = sorted(others, key=lambda row: (round(prices[row], 9), row))
        if pull and rest and prices[rest[0]] < prices[first] + 1e-9:
            return None
        members.append(first)
    return members


def test_a_class_grows_where_that_adds_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a strong pull it is closer sooner."""
    stop_compiling(monkeypatch)
    n_compared, n_larger, n_smaller = 0, 0, 0
    for seed, piece, rows in cases(range(20), t=Fraction(1, 4)):
        built, n = Rebuilt.of(piece, rows, seed), len(piece.table)
        plot = built.plot
        plot.members[:n] = np.arange(n)
        for first in range(0, n, 7):
            sizes = []
            for pull in (0.0, 0.3, 50.0):
                plot.parts[:n] = -1
                size, loss = regrowing.grow(piece.task, plot, n, 0, first, pull, built.found.tools)
                members = np.flatnonzero(plot.parts[:n] == 0).tolist()
                sizes.append(size)
                if size:
                    assert len(members) == size >= rows.k
                    assert first in members
                    assert loss == pytest.approx(rows.loss(members))
                    assert rows.ratio(frozenset(members)) <= 1 + 1e-9
                expected = grown(piece, rows, first, pull)
                if expected is not None:
                    n_compared += pull == 0.3
                    assert (members if size else []) == sorted(expected)
            n_smaller += sizes[2] < sizes[0]
            n_larger += sizes[2] > sizes[0]
    assert n_compared > 40
    assert n_smaller > 10
    assert n_smaller > 5 * n_larger


def test_regrown_parts_cost_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    n_finished = 0
    for seed, piece, rows in cases(range(25), t=Fraction(2, 5)):
        built, n = Rebuilt.of(piece, rows, seed), len(piece.table)
        plot, tools = built.plot, built.found.tools
        for most in (np.inf, rows.cost(range(n))):
            plot.members[:n] = np.random.default_rng(seed).permutation(n)
            n_parts, cost = regrowing.regrow(piece.task, plot, n, most, built.random, tools)
            if n_parts == 0 or cost == np.inf:
                continue
            n_finished += n_parts > 1
            assert cost < most
            check_parts(plot, rows, n, n_parts, cost)
            for part in range(n_parts):
                members = plot.members[:n][plot.parts[:n] == part].tolist()
                assert rows.ratio(frozenset(members)) <= 1 + 1e-9
                assert len(members) == plot.sizes[part] >= rows.k
    assert n_finished > 10


def check_parts(plot: regrowing.Plot, rows: Rows, n: int, n_parts: int, cost: float) -> None:
    assert sorted(plot.members[:n].tolist()) == list(range(n))
    assert set(plot.parts[:n].tolist()) == set(range(n_parts))
    parts = [plot.members[:n][plot.parts[:n] == part].tolist() for part in range(n_parts)]
    assert cost == pytest.approx(rows.total(parts))


def test_what_is_left_goes_where_it_adds_least(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    n_handed = 0
    for seed, piece, rows in cases(range(25), t=Fraction(2, 5)):
        built, n = Rebuilt.of(piece, rows, seed), len(piece.table)
        plot, tools = built.plot, built.found.tools
        plot.members[:n] = np.arange(n)
        plot.parts[:n] = -1
        parts, total = [], 0.0
        for part in range(3):
            left = np.flatnonzero(plot.parts[:n] < 0)
            if len(left):
                size, loss = regrowing.grow(piece.task, plot, n, part, int(left[-1]), 1.0, tools)
                if size == 0:
                    plot.parts[:n][plot.parts[:n] == part] = -1
                    break
                plot.sizes[part], plot.losses[part] = size, loss
                total += size * loss
                parts.append(np.flatnonzero(plot.parts[:n] == part).tolist())
        if not parts:
            continue
        for row in np.flatnonzero(plot.parts[:n] < 0).tolist():
            fits = [part for part in parts if rows.ratio(frozenset([*part, row])) <= 1 + 1e-9]
            if not fits:
                parts = []
                break
            n_handed += 1
            min(fits, key=lambda part: round(rows.cost([*part, row]) - rows.cost(part), 12)).append(row)
        cost = regrowing.hand_out(piece.task, plot, n, max(plot.parts[:n]) + 1, total, np.inf, tools)
        assert (cost < np.inf) == bool(parts)
        if parts:
            assert cost == pytest.approx(rows.total(parts))
            found = [np.flatnonzero(plot.parts[:n] == part).tolist() for part in range(len(parts))]
            assert found == [sorted(part) for part in parts]
    assert n_handed > 40


def test_cut_up_parts_cost_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    n_cut = 0
    for seed, piece, rows in cases(range(12)):
        built, n = Rebuilt.of(piece, rows, seed), len(piece.table)
        plot = built.plot
        plot.members[:n] = np.arange(n)
        cuts = piece._cuts(400)
        n_parts, cost = regrowing.cut_up(piece.task, plot, n, cuts, piece._narrow(), built.found.tools)
        n_cut += n_parts > 1
        check_parts(plot, rows, n, n_parts, cost)
        for part in range(n_parts):
            assert rows.allowed(plot.members[:n][plot.parts[:n] == part].tolist())
    assert n_cut > 3


def test_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, piece, rows in cases(range(4), t=Fraction(2, 5)):
        compiled, plain = Rebuilt.of(piece, rows, seed), Rebuilt.of(piece, rows, seed)
        saved = compiled.rebuild(6)
        with monkeypatch.context() as patch:
            stop_compiling(patch)
            assert plain.rebuild(6) == pytest.approx(saved)
        assert (plain.found.classes.rows == compiled.found.classes.rows).all()
        assert (plain.free == compiled.free).all()
