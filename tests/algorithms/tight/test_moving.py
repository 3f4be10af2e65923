"""Moves and swaps of rows, against all of them tried one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight import boxes_loops as boxes
from tclose.algorithms.tight import moving_loops as moving
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read
from tests.algorithms.tight.small_pieces import (
    Searched,
    cases,
    classes_of,
    messy_start,
    piece_of,
    rows_of,
    stop_compiling,
)
from tests.oracles.tight import Class, Rows, best_swaps, gain_of_move

REACH = 3


def searched(seed: int, piece: Any, rows: Rows) -> Searched:
    return Searched.of(piece, messy_start(rows, np.random.default_rng(seed)), seed)


def near(found: Searched, row: int) -> set[int]:
    """The numbers of the classes of rows a few steps away on some path."""
    own, numbers = int(found.labels[row]), set()
    for order in found.paths.orders.tolist():
        place = order.index(row)
        numbers |= {int(found.labels[other]) for other in order[max(place - REACH, 0) : place + REACH + 1]}
    return numbers - {own}


def test_paths_visit_every_row_once() -> None:
    for seed, piece, _ in cases(range(10)):
        paths = piece.paths(4, seed)
        for order, places in zip(paths.orders, paths.places, strict=True):
            assert (places[order] == np.arange(len(piece.table))).all()


def test_filled_classes_are_those_of_the_labels() -> None:
    for seed, piece, rows in cases(range(40)):
        labels = messy_start(rows, np.random.default_rng(seed))
        assert Searched.of(piece, labels).check(rows) == classes_of(labels)


def test_a_class_without_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    for seed, piece, rows in cases(range(15)):
        found = searched(seed, piece, rows)
        n_axes, scratch = len(piece.table.axes), found.tools.scratch
        low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
        for row in range(len(piece.table)):
            moving.without(piece.task.space, found.classes, row, low, high)
            rest = set(np.flatnonzero(found.labels == found.labels[row]).tolist()) - {row}
            expected = rows.box(rest) if rest else [(boxes.FAR, -1)] * n_axes
            assert list(zip(low.tolist(), high.tolist(), strict=True)) == expected
            own, other = int(found.labels[row]), int(found.classes.table[:, moving.SIZE].argmax())
            for minus, plus in ((row, -1), (-1, -1), (row, (row + 1) % len(piece.table))):
                left = set(np.flatnonzero(found.labels == own).tolist()) - {minus} | {plus} - {-1}
                if left and (plus < 0 or found.labels[plus] != own):
                    close = moving.stays_close(piece.task, found.classes, own, minus, plus, found.members, scratch)
                    assert close == rows.close(frozenset(left))
            if other != own:
                close = moving.stays_close(piece.task, found.classes, other, -1, row, found.members, scratch)
                assert close == rows.close(frozenset([*np.flatnonzero(found.labels == other).tolist(), row]))


def test_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    for seed, piece, rows in cases(range(15)):
        found = searched(seed, piece, rows)
        room = np.empty(3 * (2 * REACH + 1), np.int64)
        rng = np.random.default_rng(seed)
        found.classes.table[:, moving.CHANGED] = rng.integers(0, 9, len(found.classes.table))
        found.classes.rows[:, moving.SEEN] = rng.integers(0, 12, len(piece.table))
        for row in range(len(piece.table)):
            n, fresh = moving.neighbours(found.classes, found.paths, row, REACH, found.marks, room)
            numbers = near(found, row)
            assert sorted(room[:n].tolist()) == sorted(numbers)
            changed = [found.classes.table[number, moving.CHANGED] for number in {*numbers, int(found.labels[row])}]
            assert fresh == (max(changed) >= found.classes.rows[row, moving.SEEN])
        assert (found.marks == -1).all()


def test_every_pass_keeps_what_is_asked_and_costs_less() -> None:
    n_changed = 0
    for seed, piece, rows in cases(range(60)):
        found = searched(seed, piece, rows)
        cost = rows.total(found.check(rows))
        for _ in range(3):
            changed = found.search(swaps=seed % 2 == 0)
            now = rows.total(found.check(rows))
            assert now <= cost - 1e-9 * changed
            assert changed or now == pytest.approx(cost)
            n_changed, cost = n_changed + changed, now
    assert n_changed > 400


def may_move(found: Searched, rows: Rows, row: int, classes: dict[int, Class]) -> dict[int, float]:
    """Near classes that a row may go to, and what that saves; of those it saves most to go to, four are tried."""
    own = classes[int(found.labels[row])]
    gains = {number: gain_of_move(rows, own, classes[number], row) for number in near(found, row)}
    tried = {
        number: gain
        for number, gain in gains.items()
        if gain > 1e-7 and sum(other > gain - 1e-9 for other in gains.values()) <= 4
    }
    if not rows.allowed(own - {row}):
        return {}
    return {number: gain for number, gain in tried.items() if rows.allowed(classes[number] | {row})}


@pytest.mark.parametrize("swaps", [False, True])
def test_in_the_end_no_move_saves_anything(swaps: bool) -> None:
    """Nor does a swap with a row that makes its class wider."""
    n_passes = []
    for seed, piece, rows in cases(range(60, 85), t=Fraction(2, 5)):
        found = searched(seed, piece, rows)
        n_passes.append(1)
        while found.search(swaps, REACH):
            n_passes[-1] += 1
        found.check(rows)
        classes = dict(enumerate(classes_of(found.labels)))
        for row in range(len(piece.table)):
            assert not may_move(found, rows, row, classes)
            own = classes[int(found.labels[row])]
            if swaps and len(own) > 1 and rows.loss(own - {row}) < rows.loss(own) - 1e-9:
                assert not any(best_swaps(rows, own, classes[number], row) for number in near(found, row))
    assert max(n_passes) > 3


def test_the_first_move_is_the_one_that_saves_most(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    n_moved = 0
    for seed, piece, rows in cases(range(60, 80), t=Fraction(2, 5)):
        found = searched(seed, piece, rows)
        n_axes = len(piece.table.axes)
        low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
        room, gains = np.empty(21, np.int64), np.empty(21)
        for row in range(len(piece.table)):
            classes = dict(enumerate(classes_of(found.labels)))
            own = classes[int(found.labels[row])]
            if len(own) <= rows.k:
                continue
            saving = may_move(found, rows, row, classes)
            n = moving.neighbours(found.classes, found.paths, row, REACH, found.marks, room)[0]
            moving.without(piece.task.space, found.classes, row, low, high)
            lost = boxes.box_loss(piece.task.space, low, high)
            number = moving.try_move(
                piece.task, found.classes, row, lost, room[:n], gains, found.members, found.tools.scratch
            )  # fmt: skip
            if number < 0:
                assert not saving
                continue
            n_moved += 1
            assert rows.allowed(own - {row})
            assert rows.allowed(classes[number] | {row})
            gain = gain_of_move(rows, own, classes[number], row)
            assert gain >= max(saving.values(), default=1e-9) - 1e-9
            break
    assert n_moved > 10


def test_rows_with_the_same_sensitive_values_are_swapped_freely() -> None:
    """Where t = 0 nothing else may happen: k does not let a row go, and no other swap stays close."""
    frame = pl.DataFrame({"age": [1, 10, 2, 9], "ill": ["flu", "cold", "cold", "flu"]})
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0}}}
    schema = Schema.from_dict(keys)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    rows = rows_of(table, requirement)
    for swaps, classes in ((False, [{0, 1}, {2, 3}]), (True, [{0, 2}, {1, 3}])):
        found = Searched.of(piece_of(table, requirement), np.array([0, 0, 1, 1]))
        while found.search(swaps):
            pass
        assert sorted(map(sorted, found.check(rows))) == sorted(map(sorted, classes))


def test_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    for _, piece, _ in cases(range(4)):
        codes = list(zip(*(column.tolist() for column in piece.table.codes), strict=True))
        for row in range(len(codes)):
            for other in range(len(codes)):
                assert moving.alike(piece.task, row, other) == (codes[row] == codes[other])


def test_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, piece, rows in cases(range(6), t=Fraction(2, 5)):
        compiled, plain = searched(seed, piece, rows), searched(seed, piece, rows)
        counts = [compiled.search(swaps=True), compiled.search(swaps=True)]
        with monkeypatch.context() as patch:
            stop_compiling(patch)
            assert [plain.search(swaps=True), plain.search(swaps=True)] == counts
        assert (plain.classes.rows == compiled.classes.rows).all()
        assert (plain.classes.table == compiled.classes.table).all()
