"""Skewness against its definition, the examples of the papers, and the bound that t gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distances import Equal, Hierarchical, Ordered
from tclose.evaluation.attacks.similarity import branches
from tclose.evaluation.attacks.skewness import class_rises, skewness
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.classes import Tally
from tests.oracles import attacks as oracle
from tests.seeds import for_seeds


def test_of_bins_the_values_are_attacked() -> None:
    """The promise is on the bins, and released are the values: a class may be close and yet tell a value."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, 400)
    low = np.where(age < 40, 1, rng.integers(2, 10, 400))
    frame = pl.DataFrame({"age": age, "pay": np.where(np.arange(400) % 2, low, rng.integers(100, 200, 400))})
    keys = {"k": 5, "quasi": {"age": {"kind": "numeric"}}}
    for bins in ({"bins": 2}, {"edges": [50]}):
        pay = {"distance": "ordered", "t": "0.2", **bins}
        schema = Schema.from_dict({**keys, "sensitive": {"pay": pay}})
        release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
        found = tclose.attack(frame, release).after
        assert found is not None
        wanted = oracle.rises(release.classes.tolist(), frame["pay"].to_list())
        worst = float(max(rise for rise, _ in wanted.values()))
        assert found.skewness["pay"].worst_rise == pytest.approx(worst)
        assert worst > 0.3
        (run,) = tclose.compare(frame, schema, methods=["mondrian"], seed=1, queries=0).runs
        assert run.gains.rise == pytest.approx(worst)
        assert run.reached is not None
        assert run.reached["pay"] <= 0.2  # of the bins


@for_seeds(100)
def test_rises_are_what_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    labels = np.unique(rng.integers(0, 6, n), return_inverse=True)[1].astype(np.int64)
    codes = rng.integers(0, 5, n).astype(np.int32)
    tally = Tally.of(labels, codes, 5)
    found, by_class = skewness(tally), class_rises(tally)
    wanted = oracle.rises(labels.tolist(), codes.tolist())
    assert found.worst_rise == pytest.approx(float(max(rise for rise, _ in wanted.values())))
    assert found.worst_ratio == pytest.approx(float(max(ratio for _, ratio in wanted.values())))
    own = [wanted[pair] for pair in zip(labels.tolist(), codes.tolist(), strict=True)]
    assert found.average_rise == pytest.approx(float(sum(rise for rise, _ in own) / n))
    assert found.average_ratio == pytest.approx(float(sum(ratio for _, ratio in own) / n))
    for each in range(len(tally.sizes)):
        rises = [rise for (label, _), (rise, _) in wanted.items() if label == each]
        assert by_class.worst_rise[each] == pytest.approx(float(max(rises)))
        inside = [wanted[each, code][0] for code in codes[labels == each].tolist()]
        assert by_class.average_rise[each] == pytest.approx(float(sum(inside, Fraction()) / len(inside)))
    worst = by_class.worst_rise[labels]
    assert found.average_worst_rise == pytest.approx(worst.mean())
    alone = [len(set(codes[labels == label].tolist())) == 1 for label in labels]
    assert found.certain == pytest.approx(np.mean(alone))


def test_one_class_tells_nothing() -> None:
    found = skewness(Tally.of(np.zeros(9, np.int64), np.arange(9, dtype=np.int32) % 3, 3))
    assert (found.worst_rise, found.worst_ratio, found.average_rise, found.certain) == pytest.approx((0, 1, 0, 0))


def test_a_class_of_99_percent_where_the_table_has_1() -> None:
    # 004, section 1: 99 of 100 rows of a class are positive, and of all 9,900 rows those are 1 percent.
    labels = np.repeat([0, 1], [100, 9800])
    codes = np.zeros(9900, np.int32)
    codes[:99] = 1
    found = skewness(Tally.of(labels, codes, 2))
    assert found.worst_rise == pytest.approx(0.98)
    assert found.worst_ratio == pytest.approx(99)


def test_the_zones_of_001() -> None:
    # Table 2: every home of zone 2C had a power outage, which 5 of 14 had.
    labels = np.repeat([0, 1, 2, 3], [3, 4, 2, 5])
    codes = np.array([0, 0, 0, 1, 2, 3, 2, 4, 0, 5, 0, 4, 6, 4], np.int32)
    found = skewness(Tally.of(labels, codes, 7))
    assert found.certain == pytest.approx(3 / 14)
    assert found.worst_rise == pytest.approx(9 / 14)
    assert found.worst_ratio == pytest.approx((1 / 4) * 14)  # theft, and the fatal accident, in zone 4F


@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
@for_seeds(40, at_a_time=10)
def test_no_belief_rises_by_more_than_t(seed: int) -> None:
    """By the equal distance; and of a class at distance d the rises sum to d."""
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(20, 120)), float(rng.choice([0.1, 0.2, 0.35, 0.5]))
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "job": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["flu", "cold", "rash", "gout"], n, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )
    schema = Schema.from_dict(
        {
            "k": 2,
            "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
            "sensitive": {"ill": {"distance": "equal", "t": t}},
        }
    )
    release = tclose.anonymize(
        frame, schema, method=str(rng.choice(["mondrian", "sabre-ak"])), seed=seed, allow_single_class=True
    )
    codes = np.unique(frame["ill"].to_list(), return_inverse=True)[1].astype(np.int32)
    found = skewness(Tally.of(release.classes, codes, int(codes.max()) + 1))
    assert found.worst_rise <= t + 1e-12
    assert found.worst_rise <= float(release.measured.t["ill"]) + 1e-12
    assert found.average_rise <= found.average_worst_rise <= found.worst_rise
    wanted = oracle.rises(release.classes.tolist(), frame["ill"].to_list())
    for label in range(release.measured.classes):
        summed = sum(max(rise, Fraction()) for (each, _), (rise, _) in wanted.items() if each == label)
        assert summed == release.measured.distances("ill").exact(label)


@for_seeds(100)
def test_what_t_says_of_other_distances(seed: int) -> None:
    """No belief rises by more than t over the least distance of values, nor in a branch of a tree by more than t."""
    rng = np.random.default_rng(seed)
    tree = Hierarchy.from_nested({"a": ["1", "2", "3"], "b": {"c": ["4", "5"], "d": ["6"]}, "e": ["7", "8"]})
    p, q = (rng.integers(0, 5, 8) for _ in range(2))
    p[rng.integers(8)] += 1
    q[rng.integers(8)] += 1
    shares = [[Fraction(int(count), int(counts.sum())) for count in counts] for counts in (p, q)]
    for distance, least in ((Ordered(), Fraction(1, 7)), (Hierarchical(tree), Fraction(1, 3)), (Equal(), Fraction(1))):
        rises = [max(after - before, Fraction()) for before, after in zip(*shares, strict=True)]
        assert sum(rises) * least <= tclose.emd(shares[0], shares[1], distance)
    branch = branches(Hierarchical(tree).form(8))
    inside = [[sum(side[v] for v in np.flatnonzero(branch == each)) for each in range(3)] for side in shares]
    rises = [max(after - before, Fraction()) for before, after in zip(*inside, strict=True)]
    assert sum(rises) <= tclose.emd(shares[0], shares[1], Hierarchical(tree))
