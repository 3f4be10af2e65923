"""k-approx against the best partition of small tables, in each case of the theorem."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.k_approx.k_approx import PROVED_BY, KApprox
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.partition import Partition
from tclose.testing import run
from tests.algorithms.flat_tables import asked, flat_table
from tests.oracles.groups import least_cost, set_partitions, stars
from tests.seeds import for_seeds

Rows = list[tuple[int, ...]]


def random_rows(seed: int) -> tuple[Rows, int]:
    """Up to seven rows, many of them alike, some cells missing; and a k that they can meet."""
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(1, 8)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    kinds = rng.integers(-1 if rng.random() < 0.3 else 0, rng.integers(1, 4), (int(rng.integers(1, n // 2 + 2)), m))
    rows = kinds[rng.integers(0, len(kinds), n)]
    return [tuple(map(int, row)) for row in rows], min(k, n)


def cost(rows: Rows, partition: Partition) -> int:
    groups = [np.flatnonzero(partition.labels == label).tolist() for label in range(partition.n_classes)]
    return sum(stars(rows, group) for group in groups)


def case_of(rows: Rows, k: int) -> int:
    """Which case of the theorem it is, from its words; 0 where nothing is to be done."""
    sizes = Counter(rows).values()
    small, spare = sum(size for size in sizes if size < k), sum(size - k for size in sizes if size >= k)
    return 0 if small == 0 else 1 if small >= k else 2 if small + spare >= k else 3


@for_seeds(2000, at_a_time=100)
def test_it_suppresses_at_most_m_times_what_is_needed(seed: int) -> None:
    rows, k = random_rows(seed)
    table = flat_table(rows)
    best = least_cost(len(rows), lambda group: stars(rows, group), lambda group: len(group) >= k)
    for method in (KApprox(cut=False), KApprox()):
        found = run(method, table, asked(table, k))
        assert np.bincount(found.labels).min() >= k
        spent, m = cost(rows, found), len(rows[0])
        assert found.facts["cost_within"] == m
        assert best <= spent <= m * best
        assert found.facts["loss_at_least"] * len(rows) * m <= best + 1e-9
        assert m > 1 or found.facts["optimal"]
        assert not found.facts["optimal"] or spent == best


def test_the_seeds_meet_every_case() -> None:
    met = Counter(case_of(*random_rows(seed)) for seed in range(2000))
    assert all(met[case] > 100 for case in range(4)), met


@pytest.mark.parametrize(
    ("sizes", "k", "classes", "least"),
    [
        ([2, 3], 2, [2, 3], 0),
        ([1, 1, 1, 3], 3, [3, 3], 3),  # 1
        ([1, 1, 1], 3, [3], 3),  # 1 with no large kind
        ([1, 5, 4], 3, [3, 3, 4], 3),  # 2: two of the kind of five
        ([1, 4, 4], 3, [3, 3, 3], 3),  # 2: one of each
        ([2, 3, 4], 4, [5, 4], 5),  # 1 by the two small kinds
        ([1, 3, 3], 3, [4, 3], 4),  # 3
        ([2, 3], 3, [5], 5),  # 3 and n < 2k
        ([3], 3, [3], 0),
    ],
)
def test_every_case(sizes: list[int], k: int, classes: list[int], least: int) -> None:
    rows: Rows = [(kind, kind) for kind, size in enumerate(sizes) for _ in range(size)]
    found = run(KApprox(cut=False), flat_table(rows), asked(flat_table(rows), k))
    assert sorted(np.bincount(found.labels).tolist()) == sorted(classes)
    assert found.facts["loss_at_least"] == least / (2 * len(rows))


def test_case_three_asks_for_a_kind_that_depends_on_the_partition() -> None:
    """002 says that one kind loses a cell in every partition; here each large kind is spared by some."""
    rows: Rows = [(0,), (1,), (1,), (2,), (2,)]
    assert case_of(rows, 2) == 3
    spared = {
        rows[group[0]]
        for groups in set_partitions(range(5))
        if min(map(len, groups)) >= 2
        for group in groups
        if stars(rows, group) == 0
    }
    assert spared == {(1,), (2,)}


def test_many_columns_do_not_overflow_a_key() -> None:
    rng = np.random.default_rng(1)
    rows: Rows = [tuple(row) for row in rng.integers(0, 1000, (40, 30)).tolist()] * 2
    found = run(KApprox(cut=False), flat_table(rows), asked(flat_table(rows), 2))
    assert found.n_classes == 40
    assert found.facts["optimal"]


def test_too_few_rows() -> None:
    table = flat_table([(1,), (2,)])
    with pytest.raises(InfeasibleError, match="2 rows, and k = 3"):
        run(KApprox(), table, asked(table, 3))


def test_a_better_start_comes_back() -> None:
    rows: Rows = [(0, 0), (0, 1), (5, 5), (5, 6)]
    table = flat_table(rows)
    start = Partition(np.array([0, 0, 1, 1]))
    found = run(KApprox(cut=False), table, asked(table, 2), start)
    assert cost(rows, run(KApprox(cut=False), table, asked(table, 2))) == 8
    assert np.array_equal(found.labels, start.labels)
    assert found.facts == {"cost_within": 2, "loss_at_least": 0.5, "proved_by": PROVED_BY, "optimal": True}
    assert cost(rows, run(KApprox(), table, asked(table, 2))) == 4


def test_what_it_cannot_promise_is_refused() -> None:
    frame = pl.DataFrame({"zip": ["02139", "02138", "10001"] * 2, "ill": ["flu", "cold"] * 3})
    quasi = {"zip": {"kind": "digits"}}
    for sensitive, said in (({"t": 0.5}, "not guarantee t"), ({"l": 2}, "not guarantee l"), ({}, "in `keep`")):
        keys = {"k": 2, "recode": "suppress", "quasi": quasi, "sensitive": {"ill": {"distance": "equal", **sensitive}}}
        with pytest.raises(SchemaError, match=said):
            tclose.anonymize(frame, Schema.from_dict(keys), method="k-approx")
    with pytest.raises(SchemaError, match='does not take recode = "generalize"'):
        tclose.anonymize(frame.drop("ill"), Schema.from_dict({"k": 2, "quasi": quasi}), method="k-approx")
    kept = Schema.from_dict({"k": 2, "recode": "suppress", "quasi": quasi, "keep": ["ill"], "keep_unchecked": True})
    release = tclose.anonymize(frame, kept, method="k-approx")
    assert release.measured.k == 2
    assert release.facts["cost_within"] == 5  # each digit is one
