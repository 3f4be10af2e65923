"""Pieces of small random tables, the same for the oracle, and classes to start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.demand import soften
from tclose.algorithms.tight import annealing_loops as annealing
from tclose.algorithms.tight import answering_loops as answering
from tclose.algorithms.tight import boxes_loops as boxes
from tclose.algorithms.tight import class_steps_loops as class_steps
from tclose.algorithms.tight import cutting_loops as cutting
from tclose.algorithms.tight import loose_loops as loose
from tclose.algorithms.tight import mending_loops as mending
from tclose.algorithms.tight import moving_loops as moving
from tclose.algorithms.tight import narrowing_loops as narrowing
from tclose.algorithms.tight import near_rows_loops as nearest
from tclose.algorithms.tight import regrowing_loops as regrowing
from tclose.algorithms.tight.boxes_loops import Tools
from tclose.algorithms.tight.pieces import Piece
from tclose.kernels import closeness, costs, random, soft, sorting
from tclose.schema.columns import Diversity
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.oracles.tight import Class, Rows

Labels = NDArray[np.int64]
KERNELS: tuple[ModuleType, ...] = (
    annealing,
    answering,
    boxes,
    class_steps,
    closeness,
    costs,
    cutting,
    loose,
    mending,
    moving,
    narrowing,
    nearest,
    random,
    regrowing,
    soft,
    sorting,
)


def stop_compiling(patch: pytest.MonkeyPatch) -> None:
    """Have all kernels run as plain Python."""
    for module in KERNELS:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                patch.setattr(module, name, value.py_func)


def piece_of(table: EncodedTable, requirement: Requirement) -> Piece:
    """All rows as one piece."""
    return Piece.of(table, requirement, soften(requirement), len(table))


def rows_of(table: EncodedTable, requirement: Requirement) -> Rows:
    """The same for the oracle, by the definitions of axes and distances."""

    @cache
    def span_cost(axis: int, low: int, high: int) -> float:
        return float(table.axes[axis].cost(np.array([low], np.int32), np.array([high], np.int32))[0])

    @cache
    def close(members: Class) -> bool:
        chosen = sorted(members)
        return requirement.holds([codes[chosen] for codes in table.codes])

    @cache
    def ratio(members: Class) -> float:
        chosen, worst = sorted(members), 0.0
        for attribute, codes in zip(requirement.attributes, table.codes, strict=True):
            if attribute.t is not None:
                distance = attribute.distance(np.bincount(codes[chosen], minlength=attribute.domain.size))
                worst = max(worst, float(distance) / max(float(attribute.t), 1e-9))
            if attribute.l is not None:
                worst = max(worst, lacking(attribute.l, codes[chosen].tolist(), codes.tolist()))
        return worst

    places = list(zip(*(column.tolist() for column in table.places), strict=True))
    return Rows(places, [axis.weight for axis in table.axes], span_cost, close, ratio, requirement.k)


def lacking(asked: Diversity, values: list[int], table: list[int]) -> float:
    """How far a class is from its diversity, 1 being just enough: by its values and those of the table."""
    n_distinct, worst = len(set(values)), 0.0
    if asked.distinct is not None and n_distinct < asked.distinct:
        worst = 1 + (asked.distinct - n_distinct) / asked.distinct
    tops = [1 / asked.frequency] if asked.frequency is not None else []
    tops += [asked.recursive[0] / (1 + asked.recursive[0])] if asked.recursive is not None else []
    for value in set(table) if tops else ():
        of_class, of_table = (Fraction(some.count(value), len(some)) for some in (values, table))
        room = max(float(min(tops) - of_table), 1e-9)
        worst = max(worst, float(of_class - of_table) / room)
    return worst


def of_rows(table: EncodedTable, requirement: Requirement, n: int) -> tuple[EncodedTable, Requirement]:
    """The first n rows as a table of their own."""
    smaller = table.take(np.arange(min(n, len(table))))
    attributes = tuple(
        replace(attribute, reference=np.bincount(codes, minlength=attribute.domain.size).astype(np.int64))
        for attribute, codes in zip(requirement.attributes, smaller.codes, strict=True)
    )
    return smaller, Requirement(requirement.k, attributes, len(smaller))


@cache
def small_case(seed: int, n: int, t: Fraction | None) -> tuple[Piece, Rows]:
    """The first n rows of a random table; every t replaced, where one is given."""
    table, requirement = of_rows(*random_case(seed), n)
    if t is not None:
        attributes = tuple(replace(attribute, t=t) for attribute in requirement.attributes)
        requirement = replace(requirement, attributes=attributes)
    return piece_of(table, requirement), rows_of(table, requirement)


def cases(seeds: Iterable[int], n: int = 30, t: Fraction | None = None) -> Iterator[tuple[int, Piece, Rows]]:
    """Random tables of at most n rows that as a whole meet what is asked.

    None asks for entropy: at its very bound a kernel does not say yes.
    """
    for seed in seeds:
        piece, rows = small_case(seed, n, t)
        asked = [attribute.l for attribute in piece.requirement.attributes if attribute.l is not None]
        if rows.allowed(range(len(piece.table))) and not any(each.entropy for each in asked):
            yield seed, piece, rows


def classes_of(labels: Labels) -> list[Class]:
    """The rows of each label."""
    return [frozenset(np.flatnonzero(labels == label).tolist()) for label in range(int(labels.max()) + 1)]


def messy_start(rows: Rows, rng: np.random.Generator) -> Labels:
    """Classes of rows from anywhere that are allowed: random halves of random halves."""
    labels = np.zeros(len(rows.places), np.int64)

    def divide(members: list[int]) -> None:
        for _ in range(6):
            order = rng.permutation(members).tolist()
            middle = int(rng.integers(0, len(order) + 1))
            if rows.allowed(order[:middle]) and rows.allowed(order[middle:]):
                labels[order[middle:]] = labels.max() + 1
                divide(order[:middle])
                divide(order[middle:])
                return

    divide(list(range(len(labels))))
    return Partition.of(labels).labels


@dataclass
class Searched:
    """Classes that are searched, and all that takes."""

    piece: Piece
    classes: moving.MovableClasses
    paths: moving.Paths
    marks: Labels
    members: Labels
    tools: Tools
    clock: int = 0

    @classmethod
    def of(cls, piece: Piece, labels: Labels, seed: int = 0, n_paths: int = 3) -> Searched:
        n, most = len(labels), len(labels) // piece.task.k + 1
        classes = moving.MovableClasses(
            table=np.zeros((most, 3), np.int64),
            rows=np.full((n, 4), -1, np.int64),
            ends=np.empty((most, len(piece.table.axes), 6), np.int32),
            loss=np.zeros(most),
        )
        classes.table[:, moving.HEAD] = -1
        moving.fill(piece.task.space, classes, labels, int(labels.max()) + 1)
        room = np.full(most, -1, np.int64), np.empty(n, np.int64)
        return cls(piece, classes, piece.paths(n_paths, seed), *room, piece.tools())

    def search(self, swaps: bool, reach: int = 3) -> int:
        """One pass over all rows."""
        n = len(self.members)
        turn = moving.SearchPass(first=0, last=n, reach=reach, swaps=swaps, clock=self.clock)
        n_changed = moving.search(self.piece.task, self.classes, self.paths, turn, self.marks, self.members, self.tools)
        self.clock += n
        return n_changed

    @property
    def labels(self) -> Labels:
        return self.classes.rows[:, moving.CLASS]

    def check(self, rows: Rows) -> list[Class]:
        """Every chain, count, box and loss is that of the rows, and every class is allowed; returns the classes."""
        found = []
        for number, (size, head, _) in enumerate(self.classes.table.tolist()):
            chain, before = [], -1
            while head >= 0:
                assert self.classes.rows[head, moving.BEFORE] == before
                chain.append(head)
                before, head = head, int(self.classes.rows[head, moving.NEXT])
            assert sorted(chain) == np.flatnonzero(self.labels == number).tolist()
            assert len(chain) == size
            if chain:
                assert rows.allowed(chain)
                assert self.classes.loss[number] == pytest.approx(rows.loss(chain), abs=1e-12)
                self._check_ends(rows, number, chain)
                found.append(frozenset(chain))
        assert sum(map(len, found)) == len(self.labels)
        return found

    def _check_ends(self, rows: Rows, number: int, chain: list[int]) -> None:
        for axis, ends in enumerate(self.classes.ends[number].tolist()):
            places = [rows.places[row][axis] for row in chain]
            low, high = min(places), max(places)
            lower = min((place for place in places if place > low), default=boxes.FAR)
            upper = max((place for place in places if place < high), default=-1)
            assert ends == [low, places.count(low), lower, high, places.count(high), upper]
