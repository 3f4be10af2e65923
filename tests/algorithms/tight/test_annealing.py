"""Annealing against plain Python: the books of the loops, what is near, and what every end state keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.algorithms.tight import annealing, cooling
from tclose.algorithms.tight import annealing_loops as loops
from tclose.algorithms.tight import boxes_loops as boxes
from tclose.algorithms.tight import loose_loops as loose
from tclose.algorithms.tight import near_rows_loops as nearest
from tclose.algorithms.tight.pieces import Piece
from tclose.table.partition import Partition
from tests.algorithms.tight.small_pieces import cases, classes_of, messy_start, stop_compiling
from tests.oracles.tight import Class, Rows

Labels = NDArray[np.int64]


def everyone(n: int) -> tuple[NDArray[np.int32], Labels]:
    """All other rows, near each."""
    near = np.array([[other for other in range(n) if other != row] for row in range(n)], np.int32)
    return near.reshape(n, n - 1), np.full(n, n - 1)


@dataclass
class Annealed:
    """Classes that are annealed, and all that takes."""

    piece: Piece
    spans: nearest.SpanTable
    classes: loose.LooseClasses
    random: NDArray[np.uint64]

    @classmethod
    def of(cls, piece: Piece, labels: Labels, seed: int) -> Annealed:
        spans = annealing.span_table(piece)
        return cls(piece, spans, annealing.loose(piece, labels, spans), np.array([seed], np.uint64))

    def anneal(self, n_steps: int, heat: float) -> float:
        near, n_near = everyone(len(self.piece.table))
        steps = loose.Steps(
            near=near, n_near=n_near, heat=heat, n_steps=n_steps, random=self.random, tally=np.zeros(2, np.int64)
        )
        return loops.anneal(self.piece.task, self.spans, self.classes, steps, self.piece.tools())

    def check(self, rows: Rows) -> list[Class]:
        """Every line, count, box and loss is that of the rows, and every class is allowed; returns the classes."""
        found = []
        free = self.classes.free[1 : 1 + self.classes.free[0]].tolist()
        used = np.flatnonzero(self.classes.sizes).tolist()
        assert sorted(free + used) == list(range(len(self.classes.sizes)))
        for number in used:
            size = int(self.classes.sizes[number])
            line = self.classes.members[number, :size].tolist()
            assert sorted(line) == np.flatnonzero(self.classes.own == number).tolist()
            assert self.classes.places[line].tolist() == list(range(size))
            assert rows.allowed(line)
            assert self.classes.loss[number] == pytest.approx(rows.loss(line), abs=1e-12)
            for axis, ends in enumerate(self.classes.ends[number].tolist()):
                places = [rows.places[row][axis] for row in line]
                low, high = min(places), max(places)
                lower = min((place for place in places if place > low), default=boxes.FAR)
                upper = max((place for place in places if place < high), default=-1)
                assert ends == [low, places.count(low), lower, high, places.count(high), upper]
            found.append(frozenset(line))
        assert sum(map(len, found)) == len(self.classes.own)
        return found


@pytest.mark.parametrize(("heat", "least"), [(0.0, 0), (0.3, 3), (1e9, 6)])
def test_books_are_those_of_the_rows(heat: float, least: int) -> None:
    n_dearer, n_cheaper = 0, 0
    for seed, piece, rows in cases(range(24)):
        annealed = Annealed.of(piece, messy_start(rows, np.random.default_rng(seed)), seed)
        cost = rows.total(annealed.check(rows))
        for n_steps in (1, 5, 400):
            added = annealed.anneal(n_steps, heat)
            after = rows.total(annealed.check(rows))
            assert after - cost == pytest.approx(added, abs=1e-9)
            n_dearer, n_cheaper, cost = n_dearer + (added > 1e-9), n_cheaper + (added < -1e-9), after
    assert n_dearer >= least if least else n_dearer == 0
    assert n_cheaper > 8


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_every_kind_of_step_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As plain Python, with its calls counted: each costs what the classes before and after say."""
    stop_compiling(monkeypatch)
    taken: Counter[str] = Counter()
    n_rows = {"step_move": 1, "step_swap": 2, "step_chain": 2, "step_cycle": 3}
    monkeypatch.setattr(loops, "CYCLES", 900)  # the others more often
    monkeypatch.setattr(loops, "DISSOLVED", 950)

    def counted(name: str, step: Callable[..., float]) -> Callable[..., float]:
        def stepped(*args: Any) -> float:
            before = args[2].own.copy()
            cost = step(*args)
            moved = int((before != args[2].own).sum())
            if name in n_rows:
                assert moved in (0, n_rows[name])
            assert moved or cost == 0
            taken[name] += moved > 0
            return cost

        return stepped

    for name in (*n_rows, "step_dissolve", "step_create"):
        monkeypatch.setattr(loops, name, counted(name, getattr(loops, name)))
    for seed, piece, rows in cases(range(12)):
        annealed = Annealed.of(piece, messy_start(rows, np.random.default_rng(seed)), seed)
        annealed.anneal(150, 1e9)
        annealed.check(rows)
    assert len(taken) == 6
    assert min(taken.values()) > 1


def test_a_class_without_room_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "FEWEST_PLACES", 2)
    monkeypatch.setattr(annealing, "MOST_PLACES", 7)
    n_large = 0
    for seed, piece, rows in cases(range(30)):
        labels = messy_start(rows, np.random.default_rng(seed))
        annealed = Annealed.of(piece, labels, seed)
        room = annealed.classes.members.shape[1]
        assert room <= 8
        annealed.anneal(300, 1e9)
        for number, size in enumerate(np.bincount(labels).tolist()):
            if size > room:
                assert (annealed.classes.own[labels == number] == number).all()
                n_large += 1
        assert all(map(rows.allowed, classes_of(Partition.of(annealed.classes.own.astype(np.int64)).labels)))
        assert all(size <= max(room, np.bincount(labels).max()) for size in annealed.classes.sizes)
    assert n_large > 5


def test_halted_it_takes_no_step() -> None:
    for seed, piece, rows in cases(range(4)):
        labels = messy_start(rows, np.random.default_rng(seed))
        piece.halt[0] = True
        annealed = Annealed.of(piece, labels, seed)
        annealed.anneal(500, 1e9)
        piece.halt[0] = False
        assert (annealed.classes.own == labels).all()


def test_swaps_cost_what_they_cost() -> None:
    """Each cost that is found is that of a swap which keeps both classes close, and costs something."""
    n_found = 0
    for seed, piece, rows in cases(range(12), n=12):
        labels = messy_start(rows, np.random.default_rng(seed))
        classes, possible = classes_of(labels), []
        for one, other in product(range(len(labels)), repeat=2):
            a, b = classes[labels[one]], classes[labels[other]]
            if a != b and min(len(a), len(b)) > 1:
                new = (a - {one}) | {other}, (b - {other}) | {one}
                if all(map(rows.allowed, new)):
                    possible.append(rows.total(new) - rows.total((a, b)))
        spans = annealing.span_table(piece)
        found = annealing.swap_costs(piece, labels, everyone(len(labels)), spans, seed)
        assert (found > 0).all()
        for cost in found:
            assert np.abs(np.array(possible) - cost).min() < 1e-9
        n_found += len(found)
    assert n_found > 50


def test_spans_lose_what_their_axes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up or found: where an axis is too long, nothing is kept."""
    for longest in (512, 5):
        monkeypatch.setattr(annealing, "LONGEST_LOOKED_UP", longest)
        for _, piece, rows in cases(range(12)):
            spans = annealing.span_table(piece)
            for axis, (begin, size) in enumerate(spans.axes.tolist()):
                assert (begin < 0) == (size > longest)
                for low, high in product(range(size), repeat=2):
                    if begin >= 0 and low <= high:
                        lost = rows.weights[axis] * rows.span_cost(axis, low, high)
                        assert spans.losses[begin + low * size + high] == pytest.approx(lost, abs=1e-12)


@pytest.mark.parametrize("longest", [512, 2])
def test_annealing_is_the_same_whether_spans_are_looked_up(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, piece, rows in cases(range(6)):
        labels = messy_start(rows, np.random.default_rng(seed))
        looked_up = Annealed.of(piece, labels, seed)
        monkeypatch.setattr(annealing, "LONGEST_LOOKED_UP", longest)
        found = Annealed.of(piece, labels, seed)
        assert looked_up.anneal(300, 0.3) == found.anneal(300, 0.3)
        assert (looked_up.classes.own == found.classes.own).all()


def found_near(piece: Piece, reach: int, wanted: int, n_paths: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows nearest each, along paths, and then beyond."""
    n, space, spans = len(piece.table), piece.task.space, annealing.span_table(piece)
    found = nearest.NearRows(rows=np.empty((n, wanted), np.int32), away=np.empty((n, wanted), np.float32))
    paths, half = piece.paths(n_paths, 0), n // 2
    for first, last in ((0, half), (half, n)):
        nearest.near_along(space, spans, paths, reach, first, last, found, piece.halt)
    before = found.rows.copy()
    for first, last in ((half, n), (0, half)):
        nearest.near_beyond(space, spans, before, first, last, found, piece.halt)
    return before, found.rows


def _away(rows: Rows, row: int, others: list[int]) -> list[float]:
    """How far others are from a row, the nearest first."""
    return sorted(rows.loss({row, other}) for other in others if other != row)


def test_the_nearest_are_the_nearest() -> None:
    """All of them where the paths are looked at from end to end; otherwise those found beyond are no farther."""
    n_nearer = 0
    for _, piece, rows in cases(range(10)):
        n, wanted = len(piece.table), 5
        for reach, n_paths in ((n, 1), (2, 2)):
            before, near = found_near(piece, reach, wanted, n_paths)
            for row in range(n):
                away = [
                    sorted(rows.loss({row, other}) for other in each if other != row)
                    for each in (before[row], near[row])
                ]
                assert len(set(near[row].tolist())) == wanted or row in near[row]
                assert sum(away[1][: len(away[0])]) <= sum(away[0]) + 1e-5
                n_nearer += sum(away[1][: len(away[0])]) < sum(away[0]) - 1e-5
                if reach == n:
                    least = sorted(rows.loss({row, other}) for other in range(n) if other != row)[:wanted]
                    assert away[0] == pytest.approx(least, abs=1e-6)
    assert n_nearer > 10


@pytest.mark.parametrize("pace", [1e-6, 1e-4, 1e-3])
def test_rounds_are_as_long_as_the_time_lets_them(pace: float) -> None:
    """A clock that runs by steps: about as many rounds as without a limit, whatever a step takes."""
    gone = 0.1
    found = cooling.Cooling(1.0, lambda: gone, gone, n=10_000)
    heats = []
    while (turn := found.turn()) is not None:
        heats.append(turn.heat(0.0))
        gone += turn.steps * pace
    assert heats == sorted(heats, reverse=True)
    assert heats[0] == 1.0
    assert cooling.ROUNDS / 2 < found.number < cooling.ROUNDS * 2
    assert gone > 0.9
