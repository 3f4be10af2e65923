"""Values that no row has are left out: measured as if they were all there."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.demand import soften
from tclose.algorithms.tight import cutting_loops as cutting
from tclose.algorithms.tight import narrowing_loops as narrowing
from tclose.algorithms.tight import regrowing_loops as regrowing
from tclose.algorithms.tight.pieces import Piece
from tclose.kernels import soft as kernels
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read
from tests.algorithms.tight.small_pieces import stop_compiling

N_ROWS, N_AILMENTS = 240, 60


def many_values(seed: int, n: int = N_ROWS, groups: int = 6) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A hierarchy with leaves that few rows have, an order, and caps on what may be believed."""
    rng = np.random.default_rng(seed)
    ailments = {f"g{group}": [f"a{group}.{each}" for each in range(N_AILMENTS // 6)] for group in range(groups)}
    leaves = [leaf for group in ailments.values() for leaf in group]
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 60, n),
            "town": rng.choice([*"abcdef"], n),
            "ill": rng.choice(leaves, n, p=rng.dirichlet(np.full(len(leaves), 0.5))),
            "pay": rng.integers(0, 30, n),
        }
    )
    ill = {"distance": "hierarchical", "hierarchy": ailments, "t": 0.4, "rise": 0.5, "levels": True}
    return frame, {
        "k": 3,
        "quasi": {"age": {"kind": "numeric"}, "town": {"kind": "categorical"}},
        "sensitive": {"ill": ill | {"l": {"distinct": 2}}, "pay": {"distance": "ordered", "t": 0.4}},
    }


def piece_of_many(seed: int) -> Piece:
    frame, keys = many_values(seed)
    schema = Schema.from_dict(keys)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    return Piece.of(table, requirement, soften(requirement), len(table))


def gauge_of(soft: kernels.Soft) -> kernels.Gauge:
    n_values = soft.n_values
    return kernels.Gauge(np.zeros(n_values + 1, np.int64), np.zeros(n_values + 1), np.zeros(len(soft.base)))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_is_measured_as_all_of_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    piece, rng = piece_of_many(seed), np.random.default_rng(seed)
    soft, rows, first = piece.task.soft, piece.task.space.rows, piece.task.n_axes + piece.task.n_attributes
    before = rows.copy()
    for size in (1, 3, 12, 40):
        members, room = rng.permutation(N_ROWS)[:size], piece._narrow()
        chosen = members[: int(rng.integers(1, size + 1))]
        counts = np.bincount(rows[chosen, first:].ravel(), minlength=soft.n_values)
        whole, gauge = gauge_of(soft), gauge_of(soft)
        far = kernels.measure(soft, counts, len(chosen), whole)

        narrow = narrowing.narrow(soft, rows, first, members, room)
        values = room.values[: narrow.n_values].tolist()
        assert values == sorted(set(before[members, first:].ravel().tolist()))
        assert len(narrow.edges) < len(soft.edges)
        own = np.bincount(rows[chosen, first:].ravel(), minlength=narrow.n_values)
        assert kernels.measure(narrow, own, len(chosen), gauge) == pytest.approx(far, abs=1e-12)
        assert gauge.ratios == pytest.approx(whole.ratios, abs=1e-12)
        assert gauge.potentials[: len(values)] == pytest.approx(whole.potentials[values], abs=1e-9)
        assert narrow.values.tolist() == soft.values[values].tolist()

        narrowing.restore(rows, first, members, room)
        assert (rows == before).all()


@pytest.mark.filterwarnings("ignore:overflow encountered")  # random numbers as plain Python
def test_rows_have_their_values_back_after_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    piece = piece_of_many(1)
    before, n_narrowed = piece.task.space.rows.copy(), 0
    labels = piece.split(0.0, 3, 0, Control())
    with monkeypatch.context() as patch:
        stop_compiling(patch)
        plain = narrowing.narrow

        def counted(*given: Any) -> kernels.Soft:
            nonlocal n_narrowed
            n_narrowed += 1
            return plain(*given)

        patch.setattr(cutting, "narrow", counted)
        patch.setattr(regrowing, "narrow", counted)
        assert (piece.split(0.0, 3, 0, Control()) == labels).all()
        piece.rebuilt(labels, 20, 0.0, 2, 1, Control())
    assert n_narrowed > 20
    assert (piece.task.space.rows == before).all()
    piece.rebuilt(labels, 50, 0.0, 2, 1, Control())
    assert (piece.task.space.rows == before).all()


def test_leaves_are_told_apart_while_searching() -> None:
    """The values of a group depend on age, and groups do not: by groups alone nothing is seen of that."""
    rng, n = np.random.default_rng(4), 6000
    hierarchy = {f"g{group}": [f"{group}.{leaf}" for leaf in range(100)] for group in range(7)}
    age, groups = rng.integers(10, 90, n), rng.integers(0, 7, n)
    leaf = np.where(rng.random(n) < 0.7, age // 20, np.minimum(rng.geometric(0.25, n) - 1, 99))
    ill = [f"{group}.{each}" for group, each in zip(groups, leaf, strict=True)]
    ill[:700] = [name for group in hierarchy.values() for name in group]
    frame = pl.DataFrame({"age": age, "stay": rng.integers(0, 30, n), "ill": ill})
    asked = {
        "k": 5,
        "quasi": {"age": {"kind": "numeric"}, "stay": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "hierarchical", "hierarchy": hierarchy, "t": 0.2}},
    }
    fine = tclose.anonymize(frame, asked, method=tclose.Tight(effort="fast"), seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tclose.algorithms.tight.tight.MOST_LEAVES", 256)
        coarse = tclose.anonymize(frame, asked, method=tclose.Tight(effort="fast"), seed=1)
    assert fine.loss < 0.95 * coarse.loss
