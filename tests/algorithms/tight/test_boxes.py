"""Boxes and verdicts of the kernels, against the definitions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tclose.algorithms.packing import scratch_of
from tclose.algorithms.tight import boxes_loops as boxes
from tclose.schema.columns import Diversity
from tests.algorithms.tight.small_pieces import cases, piece_of, rows_of, small_case, stop_compiling


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)


def test_the_loss_of_a_box_and_with_a_row_more() -> None:
    for seed, piece, rows in cases(range(20)):
        rng, n, n_axes = np.random.default_rng(seed), len(piece.table), len(piece.table.axes)
        low, high = np.zeros(n_axes, np.int32), np.zeros(n_axes, np.int32)
        boxes.empty(low, high)
        members: list[int] = []
        spans = np.zeros(n_axes)
        for row in rng.permutation(n).tolist()[:8]:
            members.append(row)
            assert boxes.loss_with(piece.task.space, row, low, high) == pytest.approx(rows.loss(members))
            if len(members) > 1:
                loss = boxes.spans_of(piece.task.space, low, high, spans)
                assert loss == pytest.approx(rows.loss(members[:-1])) == spans.sum()
                beyond = boxes.loss_beyond(piece.task.space, row, low, high, spans, loss)
                assert beyond == pytest.approx(rows.loss(members))
            boxes.widen(piece.task.space, row, low, high)
            assert list(zip(low.tolist(), high.tolist(), strict=True)) == rows.box(members)
            assert boxes.box_loss(piece.task.space, low, high) == pytest.approx(rows.loss(members))


@pytest.mark.parametrize("entropy", [Fraction(2), Fraction(2) + Fraction(1, 10**12), Fraction(3, 2)])
def test_what_is_not_sure_is_not_held(entropy: Fraction) -> None:
    """A class at the very bound of an entropy, or below it by less than floats can tell."""
    verdicts = set()
    for seed in range(8):
        piece, _ = small_case(seed, 30, None)
        first = replace(piece.requirement.attributes[0], t=None, l=Diversity(entropy=entropy))
        attributes = (first, *(replace(each, t=None, l=None) for each in piece.requirement.attributes[1:]))
        requirement = replace(piece.requirement, attributes=attributes)
        rows, task = rows_of(piece.table, requirement), piece_of(piece.table, requirement).task
        rng, scratch = np.random.default_rng(seed), scratch_of(requirement)
        for size in (1, 2, 2, 2, 3, 4, 4, 9):
            members = rng.permutation(len(piece.table))[:size]
            held, close = boxes.holds(task, members, len(members), scratch), rows.close(frozenset(members.tolist()))
            assert close or not held
            assert not scratch.counts.any()
            verdicts.add((held, close))
    assert verdicts >= {(True, True), (False, False)}
    assert ((False, True) in verdicts) == (entropy == 2)
