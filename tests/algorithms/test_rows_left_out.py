"""Rows left out: they are a class by themselves, leaving them out saves, and nothing weaker is ever returned."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY, find
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.rows_left_out import holds_with_left_out, may_be_left_out, most_left_out
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.oracles import left_out as oracle
from tests.seeds import for_seeds

METHODS = ("tight", "mondrian")
MEDIANS = tclose.Mondrian(textbook=True)  # cuts at medians alone, so that an outlier makes its class wide


def small(seed: int, most: int = 9) -> tuple[pl.DataFrame, Schema]:
    """A few rows with outliers; ranges, hierarchies and domains are declared."""
    random = Random(seed)
    n = random.randint(5, most)
    ages = [random.choice([20, 21, 22, 40, 41, 95]) for _ in range(n)]
    jobs = random.choices("aabc", k=n)
    ills = random.choices(["flu", "flu", "cold", "hiv"], k=n)
    asked: dict[str, Any] = random.choice([
        {"distance": "equal", "t": random.choice([0.2, "1/3", 0.5])},
        {"distance": "ordered", "order": ["cold", "flu", "hiv"], "t": random.choice([0.1, 0.25, 0.5])},
        {"distance": "equal", "l": {"frequency": random.choice([1, 1.5])}},
        {"distance": "equal", "rise": random.choice([0.1, "1/3"]), "beta": 2},
    ])  # fmt: skip
    tree = {"x": ["a", "b"], "y": ["c", "d"]}
    quasi = {"age": {"kind": "numeric", "range": [0, 100]}, "job": {"kind": "categorical", "hierarchy": tree}}
    schema = {"k": random.choice([1, 2, 2, 3]), "suppress_rows": random.choice([0.2, "1/3", 0.5]), "quasi": quasi}
    frame = pl.DataFrame({"age": ages, "job": jobs, "ill": ills})
    return frame, Schema.from_dict({**schema, "sensitive": {"ill": asked}})


def encoded(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


@for_seeds(400, at_a_time=100, everyday=20, tested=100)
def test_which_rows_may_be_left_out_is_what_the_oracle_says(seed: int) -> None:
    frame, schema = small(seed, 14)
    table, requirement = encoded(frame, schema)
    random = Random(seed)
    for _ in range(6):
        chosen = random.sample(range(len(frame)), random.randint(0, len(frame) // 2))
        left = np.isin(np.arange(len(frame)), chosen)
        found = may_be_left_out(requirement, table, left)
        same_values = set(frame["ill"]) == set(frame["ill"].filter(pl.Series(~left)))
        assert found == (oracle.may_be_left_out(frame, schema, chosen) and (same_values or not chosen))


@pytest.mark.parametrize("name", METHODS)
@for_seeds(60, at_a_time=20, everyday=1, tested=20)
def test_what_is_found_is_valid_and_no_better_than_the_best(seed: int, name: str) -> None:
    frame, schema = small(seed, 7)
    table, requirement = encoded(frame, schema)
    try:
        found = run(find(name), table, requirement)
    except tclose.InfeasibleError:
        return
    assert oracle.is_valid(frame, schema, found.labels.tolist())
    assert holds_with_left_out(requirement, table, found.labels)
    least = oracle.least_loss(frame, schema)
    assert least is not None
    assert table.loss(found.labels) >= float(least) - 1e-9


FAR = 24


def outliers(n: int = 480, far: int = FAR) -> pl.DataFrame:
    """Rows close together but for some, the first of each stretch, which are far from all and from each other."""
    rng = np.random.default_rng(3)
    odd = np.arange(far) * (n // far)
    columns = {name: rng.integers(45, 55, n) for name in "xyz"}
    for values in columns.values():  # on either side of the others: a cut at a median never parts them from these
        values[odd] = rng.integers(0, 101, far)
    ills = np.arange(n) % 2
    ills[odd] = np.arange(far) % 2
    return pl.DataFrame({**columns, "ill": np.array(["flu", "cold"])[ills].tolist()})


def schema_of(**keys: Any) -> dict[str, Any]:
    quasi = {name: {"kind": "numeric"} for name in "xyz"}
    return {"k": 10, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 0.2}}, **keys}


def test_outliers_are_left_out_where_that_saves() -> None:
    frame, schema = outliers(), schema_of(suppress_rows=0.05)
    whole = tclose.anonymize(frame, schema_of(), method=MEDIANS, seed=1)
    release = tclose.anonymize(frame, schema, method=MEDIANS, seed=1)
    assert release.record.left_out_rows == FAR
    assert release.measured.rows == 480 - FAR
    assert release.loss < 0.8 * whole.loss
    assert set(np.flatnonzero(release.classes == -1)) == set(range(0, 480, 20))
    assert release.certificate["required"]["suppress_rows"] == {"exact": "1/20", "value": 0.05}
    assert "left_out" not in str(release.certificate.as_dict())
    assert tclose.utility(frame, release).loss == pytest.approx(release.loss, abs=1e-12)
    assert len(release.aligned()) == 480 - FAR
    verdict = tclose.verify(release.table, schema, original=frame)
    assert verdict.holds
    assert verdict.compared == "matched"
    assert tclose.what_binds(frame, release, seconds=0.5).measured is not None


@pytest.mark.parametrize("name", METHODS)
def test_leaving_out_is_never_worse(name: str) -> None:
    """What keeps the promise of a class could be one, and lose less than 1 a row: `tight` mostly finds that."""
    frame = outliers(160, 10)
    whole = tclose.anonymize(frame, schema_of(), method=name, seed=1)
    assert tclose.anonymize(frame, schema_of(suppress_rows=0.1), method=name, seed=1).loss <= whole.loss + 1e-12


def test_none_is_left_out_where_fewer_than_k_are_allowed() -> None:
    frame = outliers()
    for share in ("0", "9/480", "0.02"):
        release = tclose.anonymize(frame, schema_of(suppress_rows=share), method=MEDIANS, seed=1)
        assert release.record.left_out_rows == 0
    assert tclose.anonymize(frame, schema_of(suppress_rows="12/480"), method=MEDIANS, seed=1).record.left_out_rows == 12


@pytest.mark.parametrize("name", METHODS)
def test_whoever_is_missing_does_not_have_the_rare_value(name: str) -> None:
    """The cheapest choice would be every row of HIV: all of them are outliers."""
    n = 400
    rng = np.random.default_rng(5)
    ills = np.array(["flu"] * n, object)
    ills[: n // 100] = "hiv"
    ages = np.where(ills == "hiv", 100, rng.integers(20, 30, n)) + rng.integers(0, 3, n)
    frame = pl.DataFrame({"age": ages, "ill": ills.tolist()})
    schema = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "suppress_rows": 0.02}
    schema |= {"sensitive": {"ill": {"distance": "equal", "t": 0.3}}}
    naive = frame.filter(pl.col("ill") != "hiv").with_columns(age=pl.lit("[20, 40]"))
    told = tclose.verify(naive, schema, original=frame)
    assert not told.holds
    assert any("the rows left out are at a distance of 1 from what is released" in each for each in told.problems)
    release = tclose.anonymize(frame, schema, method=name, seed=1, allow_single_class=True)
    left = frame["ill"].filter(pl.Series(release.classes < 0))
    assert not len(left) or Fraction(int((left == "hiv").sum()), len(left)) <= Fraction(3, 10) + Fraction(1, 50)
    found = tclose.attack(frame, release)
    if release.record.left_out_rows:
        assert found.left_out is not None
        assert found.left_out["ill"].worst_rise <= 0.3


def test_the_attack_measures_a_careless_choice() -> None:
    from tclose.evaluation.attacks.left_out_rows import left_out_beliefs

    schema = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    frame = pl.DataFrame({"age": [1] * 100, "ill": ["flu"] * 98 + ["hiv"] * 2})
    table = encode(read(frame), Schema.from_dict(schema))
    found = left_out_beliefs(table, np.arange(100) >= 98)["ill"]
    assert (found.rows, found.worst_rise, found.certain) == (2, 1.0, True)


def test_at_most_the_share_is_left_out_and_the_promise_is_met_with_equality() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 9, 9], "ill": ["a", "b", "a", "b", "a", "b"]})
    schema = Schema.from_dict({
        "k": 2, "suppress_rows": "1/3", "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0}},
    })  # fmt: skip
    table, requirement = encoded(frame, schema)
    left = np.arange(6) >= 4
    assert may_be_left_out(requirement, table, left)
    assert holds_with_left_out(requirement, table, np.where(left, -1, 0))
    assert not may_be_left_out(requirement, table, np.arange(6) >= 3)  # one too many
    assert not may_be_left_out(requirement, table, np.arange(6) >= 5)  # fewer than k
    assert not may_be_left_out(requirement, table, np.isin(np.arange(6), [0, 2]))  # a alone
    tighter = Schema.from_dict({**schema.as_dict(), "suppress_rows": "333333/1000000"})
    assert not may_be_left_out(Requirement.of(tighter, table), table, left)
    assert most_left_out(requirement, 6) == 2


def test_a_start_that_leaves_rows_out_is_not_made_worse() -> None:
    frame = outliers()
    schema = Schema.from_dict(schema_of(suppress_rows=0.05))
    table, requirement = encoded(frame, schema)
    best = run(MEDIANS, table, requirement)
    assert (best.labels < 0).any()
    for seed in (1, 2):
        again = run(MEDIANS, table, requirement, best, seed)
        assert table.loss(again.labels) <= table.loss(best.labels) + 1e-12
    broken = Partition(np.where(np.arange(len(table)) < 5, -1, 0))
    assert holds_with_left_out(requirement, table, run(MEDIANS, table, requirement, broken).labels)


def test_the_same_seed_leaves_the_same_rows_out() -> None:
    frame, schema = outliers(), schema_of(suppress_rows=0.05)
    first, second = (tclose.anonymize(frame, schema, method=MEDIANS, seed=4).classes for _ in range(2))
    assert np.array_equal(first < 0, second < 0)
    assert (first < 0).any()


def test_nothing_of_a_row_that_is_left_out_is_in_the_release() -> None:
    """A fraction in one of them makes a column of fractions, and a far value a wide range: nothing of that is seen."""
    plain = outliers()
    odd = plain.with_columns(x=pl.Series([value + 0.25 * (place == 20) for place, value in enumerate(plain["x"])]))
    schema = schema_of(suppress_rows=0.05)
    releases = [tclose.anonymize(frame, schema, method=MEDIANS, seed=1) for frame in (plain, odd)]
    assert [release.record.left_out_rows for release in releases] == [FAR, FAR]
    frames = [release.aligned() for release in releases]
    assert frames[0].equals(frames[1])
    assert frames[0].dtypes == frames[1].dtypes
    assert releases[0].certificate.as_dict() == releases[1].certificate.as_dict()


def test_every_method_that_does_not_leave_rows_out_refuses_the_key() -> None:
    schema = Schema.from_dict({"k": 2, "suppress_rows": 0.1, "quasi": {"q": {"kind": "categorical"}}})
    for name, kind in REGISTRY.items():
        if name in METHODS:
            assert "suppress_rows" in kind.capabilities.keeps
            continue
        recode: Any = "generalize" if "generalize" in kind.capabilities.recodings else "suppress"
        with pytest.raises(SchemaError, match="does not leave rows out"):
            tclose.anonymize(pl.DataFrame({"q": ["a", "a"]}), replace(schema, recode=recode), method=name)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"suppress_rows": 1}, "from 0 to below 1"),
        ({"suppress_rows": -0.1}, "from 0 to below 1"),
        ({"suppress_rows": "some"}, "must be a number"),
        ({"suppress_rows": 0.1, "unit": "who", "unit_rows": "all"}, "not together with unit_rows"),
        ({"suppress_rows": 0.1, "unit": "who", "unit_rows": "one"}, "not together with unit_rows"),
        (
            {"suppress_rows": 0.1, "sensitive": {"pay": {"distance": "ordered", "bins": 4, "t": 0.1}}},
            r"bins.*Give `edges`",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}} | keys)


def test_gap_and_candidates_refuse_the_key() -> None:
    frame, schema = outliers(40, 10), Schema.from_dict(schema_of(suppress_rows=0.2))
    with pytest.raises(SchemaError, match="`gap` does not take suppress_rows"):
        tclose.gap(frame, schema)
    with pytest.raises(SchemaError, match="which rows are left out"):
        tclose.attack(frame, schema, method=MEDIANS, candidates=10)


def test_a_comparison_counts_rows_left_out_as_lost() -> None:
    frame = outliers()
    found = tclose.compare(frame, schema_of(suppress_rows=0.05), methods=[MEDIANS], t=["0.2"], queries=50, jobs=1)
    release = tclose.anonymize(frame, schema_of(suppress_rows=0.05), method=MEDIANS, seed=0)
    assert found.done[0].loss == pytest.approx(release.loss)
    assert found.done[0].left_out_rows == FAR
    assert found.done[0].as_dict()["left_out_rows"] == FAR


def test_a_share_that_is_no_number_is_refused() -> None:
    with pytest.raises(tclose.SchemaError, match=r"^Schema: suppress_rows must be a number"):
        Schema.from_dict(schema_of(suppress_rows="some"))
