"""The tree of shards: where rows go, how it is learnt, and which shards are chosen by the counts of all rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.requirement import Requirement
from tclose.scale.coded_pieces import ROW, GatheredValues, code_piece, tables_among
from tclose.scale.row_keys import as_shares, mixed
from tclose.scale.shard_choice import CellCounts, choose_shards
from tclose.scale.shard_tree import PARTS, ShardTree, TreeNode
from tclose.scale.tree_learning import OF_LIMIT, BinnedAxis, LimitCheck, TreeLearner, _coin, _strata, _work
from tclose.scale.whole_table import WholeTable
from tclose.schema.schema import Schema


def whole_of(frame: pl.DataFrame, schema: Schema) -> tuple[WholeTable, pl.DataFrame]:
    """A table as one piece: all that is known of it, and its coded rows."""
    rows, summary = code_piece(frame, schema, 7)
    gathered = GatheredValues(schema)
    gathered.add(summary)
    gathered.check()
    whole = WholeTable.of(gathered, frame.columns)
    rows = whole.recoded(rows, tables_among(summary.values, whole.values))
    return whole.with_joints(whole.count_joints(rows)), rows


@pytest.fixture(scope="module")
def census() -> tuple[WholeTable, pl.DataFrame]:
    frame, schema = tclose.datasets.census(4000, seed=2)
    return whole_of(pl.DataFrame(frame), schema)


def learnt(whole: WholeTable, rows: pl.DataFrame, most: int = 1200, seed: int = 0) -> ShardTree:
    learner = TreeLearner(whole.requirement, whole.n_rows, most, np.random.default_rng(seed))
    return learner.learn(whole.encode(rows), rows[ROW].to_numpy())


def test_every_row_is_in_one_cell_whatever_its_company(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    tree = learnt(whole, rows)
    cells = tree.cells(whole.encode(rows), rows[ROW].to_numpy())
    some = np.random.default_rng(1).permutation(len(rows))[:100]
    alone = tree.cells(whole.encode(rows[some]), rows[ROW].to_numpy()[some])
    assert (alone == cells[some]).all()
    assert {*(cells // PARTS).tolist()} == {*tree.root.leaves()}


def test_shards_hold_and_none_has_too_many_rows(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    tree, table = learnt(whole, rows), whole.encode(rows)
    cells = tree.cells(table, rows[ROW].to_numpy())
    shards = choose_shards(whole, tree, CellCounts.of(cells, table, tree.n_cells), 1200)
    of_row = shards.of_cell[cells]
    assert shards.n_shards >= 4
    assert np.bincount(of_row).tolist() == shards.sizes.tolist()
    assert shards.sizes.max() <= 1200
    assert whole.requirement.holds_in_all(table, of_row)


def test_counts_of_pieces_add_up(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    tree, table = learnt(whole, rows), whole.encode(rows)
    cells = tree.cells(table, rows[ROW].to_numpy())
    at_once = CellCounts.of(cells, table, tree.n_cells)
    halves = [np.arange(len(rows)) % 2 == part for part in (0, 1)]
    parts = [CellCounts.of(cells[half], table.take(np.flatnonzero(half)), tree.n_cells) for half in halves]
    together = parts[0].plus(parts[1])
    assert (together.sizes == at_once.sizes).all()
    for one, other in zip(together.values, at_once.values, strict=True):
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def with_t(whole: WholeTable, t: str) -> WholeTable:
    schema = replace(whole.schema, sensitive=tuple(replace(each, t=Fraction(t)) for each in whole.schema.sensitive))
    changed = replace(whole, schema=schema)
    vars(changed)["requirement"] = Requirement.from_counts(schema, whole.domains, whole.references, whole.n_rows)
    return changed


def test_a_leaf_that_fails_is_joined_to_its_sibling(census: tuple[WholeTable, pl.DataFrame]) -> None:
    """The tree is learnt for a wide t, and the shards are chosen for a narrow one: cuts have to be undone."""
    whole, rows = census
    tree, table = learnt(with_t(whole, "0.9"), rows, most=600), whole.encode(rows)
    cells = tree.cells(table, rows[ROW].to_numpy())
    counts = CellCounts.of(cells, table, tree.n_cells)
    strict = with_t(whole, "0.02")
    shards = choose_shards(strict, tree, counts, 600)
    assert shards.n_undone > 0
    assert strict.requirement.holds_in_all(table, shards.of_cell[cells])
    assert int(shards.sizes.sum()) == len(rows)


def test_a_leaf_above_the_cap_is_parted_at_random(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    tree, table = ShardTree(TreeNode(0), 1), whole.encode(rows)
    cells = tree.cells(table, rows[ROW].to_numpy())
    shards = choose_shards(whole, tree, CellCounts.of(cells, table, tree.n_cells), 1300)
    assert shards.n_shards == 4
    assert shards.sizes.max() <= 1300
    assert whole.requirement.holds_in_all(table, shards.of_cell[cells])


@pytest.mark.parametrize("blend", [0.0, 0.5, 1.0])
def test_a_blended_cut_divides_every_value_as_wanted(census: tuple[WholeTable, pl.DataFrame], blend: float) -> None:
    whole, rows = census
    table, draws = whole.encode(rows), as_shares(mixed(rows[ROW].to_numpy(), 99))
    strata = _strata(table, 0)
    binned = BinnedAxis.of(table, 0)
    place = binned.place_of(0.5)
    assert place is not None
    groups = strata.of(table)
    plain = table.places[0] < binned.edges[place]
    share = plain.mean()
    left = binned.cut(table, place, strata, blend, np.zeros(strata.size)).goes_left(table, draws)
    for value in np.unique(groups):
        inside = groups == value
        wanted = share + (1 - blend) * (plain[inside].mean() - share)
        assert abs(left[inside].mean() - wanted) <= 3 / np.sqrt(inside.sum())


def test_the_work_of_a_difference_is_that_of_the_distance(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    for attribute, codes in zip(whole.requirement.attributes, whole.encode(rows).codes, strict=True):
        counts = np.bincount(codes[:50], minlength=attribute.domain.size)
        extra = counts / counts.sum() - attribute.reference / attribute.reference.sum()
        exact = float(attribute.distance(counts))
        assert _work(attribute.domain.form, extra) >= exact - 1e-9
        assert not attribute.domain.is_joint or _work(attribute.domain.form, extra) <= 1


def test_sides_are_within_their_part_of_the_limit_by_the_sample(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    strict = with_t(whole, "0.1")
    tree, table = learnt(strict, rows), whole.encode(rows)
    leaves = tree.cells(table, rows[ROW].to_numpy()) // PARTS
    attribute = strict.requirement.attributes[0]
    for leaf in np.unique(leaves):
        counts = np.bincount(table.codes[0][leaves == leaf], minlength=attribute.domain.size)
        assert attribute.distance(counts) <= Fraction("0.1") * Fraction(str(OF_LIMIT))
        assert LimitCheck.of(strict.requirement, 0).holds(counts)


def test_what_is_allowed_is_spent_late_where_there_is_slack(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, _ = census
    learner = TreeLearner(whole.requirement, 1_000_000, 1000, np.random.default_rng(0), slack=0.75)
    parts = [learner.part_of_limit(n_rows) for n_rows in (1_000_000, 100_000, 1000, 10)]
    assert parts == sorted(parts)
    assert parts[0] == pytest.approx(0.25)
    assert parts[-1] == OF_LIMIT


def test_a_plain_cut_is_taken_where_closeness_does_not_bind(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    assert {cut.blend for cut in learnt(with_t(whole, "0.9"), rows).root.cuts()} == {0.0}


def test_places_are_drawn_with_noise(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    one, other = (learnt(whole, rows, seed=seed) for seed in (1, 2))
    table, hashes = whole.encode(rows), rows[ROW].to_numpy()
    assert (one.cells(table, hashes) != other.cells(table, hashes)).any()
    assert (one.cells(table, hashes) == learnt(whole, rows, seed=1).cells(table, hashes)).all()


def test_a_coin_halves_rows_at_random(census: tuple[WholeTable, pl.DataFrame]) -> None:
    whole, rows = census
    draws = as_shares(mixed(rows[ROW].to_numpy(), 5))
    assert abs(_coin().goes_left(whole.encode(rows), draws).mean() - 0.5) < 0.05
