"""Fragments and fragments-strict: every class holds, what is refused, and real tables with a t for each attribute."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.fragments.fragments import Fragments
from tclose.algorithms.fragments.fragments_strict import FragmentsStrict, conforming_sizes
from tclose.algorithms.fragments.space import SensitiveSpace
from tclose.algorithms.fragments.split import fragment
from tclose.algorithms.requirement import Requirement
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.seeds import for_seeds
from tests.shared_data import shared

SAFE, BOLD, STRICT = Fragments(bold=False), Fragments(), FragmentsStrict()
EACH = pytest.mark.parametrize("method", [SAFE, BOLD, STRICT], ids=["safe", "bold", "strict"])
LABS = {
    "hcv.csv": (["Age", "Sex"], {"ALB": 0.15, "ALT": 0.2, "AST": 0.25, "BIL": 0.3, "CHE": 0.35, "GGT": 0.4}),
    "ilpd.csv": (["age", "gender"], {"total_bilirubin": 0.2, "alkaline_phosphatase": 0.25, "albumin": 0.3}),
    "support2.csv.gz": (
        ["age", "sex", "race", "edu", "income"],
        {"meanbp": 0.15, "hrt": 0.2, "wblc": 0.25, "crea": 0.3, "sod": 0.35},
    ),
}


def encoded(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def check(table: EncodedTable, requirement: Requirement, partition: Partition) -> None:
    """Every class holds, straight from the definition."""
    assert len(partition.labels) == len(table)
    assert requirement.holds_in_all(table, partition.labels)


def ordered_only(schema: Schema) -> Schema:
    return replace(schema, sensitive=tuple(each for each in schema.sensitive if each.distance == "ordered"))


def some(method: Any, n: int = 400, **keys: Any) -> tuple[EncodedTable, Requirement]:
    """Several attributes, all ordered for the strict method."""
    frame, schema = hospital(n, seed=2)
    schema = ordered_only(schema) if method == STRICT else schema
    kept = {*(quasi.column for quasi in schema.quasi), *(each.column for each in schema.sensitive), "patient_id"}
    return encoded(frame.select([name for name in frame.columns if name in kept]), replace(schema, **keys))


@pytest.mark.parametrize("method", [SAFE, BOLD], ids=["safe", "bold"])
@for_seeds(60)
def test_random_tables(method: Any, seed: int) -> None:
    table, requirement = random_case(seed)
    try:
        requirement.check_whole(table)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            run(method, table, requirement)
        return
    check(table, requirement, run(method, table, requirement))


@for_seeds(40)
def test_strict_classes_conform_and_reach_k(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = int(rng.integers(1, 9))
    pairs = rng.integers(0, 5, (int(rng.integers(1, 12)), 2)).repeat(times, axis=0)
    frame = pl.DataFrame({"age": rng.integers(0, 50, len(pairs)), "a": pairs[:, 0], "b": pairs[:, 1]})
    asked = {name: {"distance": "ordered", "t": float(rng.choice([0, 0.1, 0.3, 0.5]))} for name in "ab"}
    k = int(rng.integers(1, min(6, len(pairs)) + 1))
    keys = {"k": k, "quasi": {"age": {"kind": "numeric"}}, "sensitive": asked}
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(STRICT, table, requirement)
    check(table, requirement, found)
    space = SensitiveSpace.of_table(table, requirement)
    assert space is not None
    fragments = fragment(space, space.limits, Control(), strict=True)
    assert fragments is not None
    owners, n = fragments.of_cell[space.of_row], len(table)
    r = n // math.gcd(*fragments.counts.tolist())
    smallest = r * -(-k // r)
    sizes = np.bincount(found.labels)
    for label, size in enumerate(sizes):
        assert size % r == 0
        taken = np.bincount(owners[found.labels == label], minlength=len(fragments))
        assert (n * taken == size * fragments.counts).all()
    assert len(sizes) == n // smallest
    assert sorted(sizes)[:-1] == [smallest] * (len(sizes) - 1)


def test_strict_ends_when_one_class_is_all_there_can_be() -> None:
    """After the first cut, where 70,000 would follow; whoever asked is told why, and what to do."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 1000, 997) for name in ("age", "a", "b", "c")})
    keys = {
        "k": 5,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {name: {"distance": "ordered", "t": 0.1} for name in "abc"},
    }
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(STRICT, table, requirement)
    assert found.n_classes == 1
    assert found.facts == {"greatest_common_divisor": 1}
    space = SensitiveSpace.of_table(table, requirement)
    assert space is not None
    cut = fragment(
        space, space.limits, Control(), strict=True, is_enough=lambda counts: math.gcd(*counts.tolist()) == 1
    )
    assert cut is not None
    assert len(cut) == 2
    with pytest.raises(InfeasibleError, match=r"greatest common divisor of their rows is 1\. Take 'fragments' instead"):
        tclose.anonymize(frame, keys, method="fragments-strict")


def test_what_is_left_over_joins_the_last_class() -> None:
    sizes = conforming_sizes(np.array([14, 7]), k=5)
    assert sizes.kinds[sizes.sequence].tolist() == [[4, 2], [4, 2], [6, 3]]
    assert len(conforming_sizes(np.array([14, 7]), k=21)) == 1


def test_strict_refuses_what_has_no_order() -> None:
    frame, schema = hospital(50, seed=2)
    with pytest.raises(SchemaError, match="'fragments-strict' does not know distance hierarchical"):
        tclose.anonymize(frame, schema, method="fragments-strict")


def test_bold_loses_no_more_and_far_less() -> None:
    table, requirement = some(BOLD, 1500)
    losses = [table.loss(run(method, table, requirement).labels) for method in (SAFE, BOLD)]
    assert losses[1] < 0.7 * losses[0]


def test_safe_plans_never_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound alone keeps every t."""
    monkeypatch.setattr("tclose.algorithms.fragments.fragments_search.merge", None)
    for frame, schema in (census(2000, seed=2), hospital(3000, seed=2)):
        table, requirement = encoded(frame, schema)
        found = run(SAFE, table, requirement)
        assert found.n_classes > 1
        check(table, requirement, found)


@EACH
def test_l_is_met_by_merging(method: Any) -> None:
    frame, schema = census(600, seed=2)
    keys = schema.as_dict()
    keys["sensitive"]["salary"] |= {"t": 0.5, "l": {"distinct": 4, "entropy": 3}}
    table, requirement = encoded(frame, Schema.from_dict(keys))
    check(table, requirement, run(method, table, requirement))


@EACH
def test_only_l(method: Any) -> None:
    frame, schema = census(300, seed=2)
    keys = schema.as_dict()
    keys["sensitive"]["salary"] = {"distance": "ordered", "l": 3}
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(method, table, requirement)
    check(table, requirement, found)
    assert found.n_classes > 5


@EACH
def test_without_any_sensitive_attribute_k_rows_a_class(method: Any) -> None:
    table, requirement = encoded(*census(300, seed=2))
    bare = replace(table, domains=(), codes=())
    sizes = np.bincount(run(method, bare, replace(requirement, attributes=(), k=5)).labels)
    assert sizes.min() >= 5
    assert sizes.max() < 10


@EACH
def test_another_reference(method: Any) -> None:
    """As in a stream's window: the reference is not the table itself."""
    table, requirement = encoded(*census(2000, seed=2))
    some_rows = table.take(np.arange(1500))
    found = run(method, some_rows, requirement)
    check(some_rows, requirement, found)
    assert found.n_classes > 1 or method == STRICT
    far = table.take(np.flatnonzero(table.codes[0] == table.codes[0].max())[:10])
    with pytest.raises(InfeasibleError, match="reference"):
        run(method, far, requirement)


@EACH
def test_stopped_at_once_it_is_still_valid(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.fragments.split.BUDGET", 1)
    table, requirement = some(method)
    control = Control()
    control.end()
    found = method.partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert found.facts == {"stopped_early": True}
    check(table, requirement, found)


def test_stopped_later_it_keeps_the_best() -> None:
    table, requirement = some(BOLD)
    for after in (1, 3, 6):
        control, told = Control(), [0]

        def listen(*_: Any, control: Control = control, told: list[int] = told, after: int = after) -> None:
            told[0] += 1
            if told[0] == after:
                control.end()

        control.listener = listen
        found = BOLD.partition(table, requirement, rng=np.random.default_rng(1), control=control)
        assert found.facts == {"stopped_early": True}
        check(table, requirement, found)


@EACH
def test_progress_never_goes_back(method: Any) -> None:
    table, requirement = some(method)
    shares: list[Any] = []
    control = Control(listener=lambda loss, done: shares.append(done))
    method.partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert shares
    assert all(0 <= one <= next_ <= 1 for one, next_ in pairwise(shares))


@EACH
def test_a_better_start_comes_back(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    good = replace(
        run(tclose.algorithms.find("tight"), table, requirement), levels=(1, 2), facts={"bound": 3}, notes={"seen": 4}
    )
    back = run(method, table, requirement, start=good)
    assert (back.labels == good.labels).all()
    assert (back.levels, back.facts, back.notes) == (good.levels, good.facts, good.notes)
    bad = Partition(np.argsort(np.argsort(table.places[0], kind="stable")) // requirement.k)
    check(table, requirement, run(method, table, requirement, start=Partition.of(bad.labels)))


@pytest.mark.slow
@EACH
def test_the_same_seed_gives_the_same_classes(method: Any) -> None:
    table, requirement = some(method)
    one, again = (run(method, table, requirement, seed=5).labels for _ in range(2))
    assert (one == again).all()


def schema_of(name: str, k: int = 5, **asked: Any) -> tuple[pl.DataFrame, Schema]:
    """A real table with laboratory values in 20 bins, each with a t of its own."""
    quasi, labs = LABS[name]
    frame = pl.read_csv(shared(name), infer_schema=False).select([*quasi, *labs])
    kinds = {column: {"kind": "numeric" if column.lower() in ("age", "edu") else "categorical"} for column in quasi}
    sensitive = {lab: {"distance": "ordered", "bins": 20, "t": t, **asked} for lab, t in labs.items()}
    return frame, Schema.from_dict({"k": k, "missing": "drop", "quasi": kinds, "sensitive": sensitive})


@pytest.mark.slow
@pytest.mark.parametrize("bold", [True, False])
@pytest.mark.parametrize("name", LABS)
@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
def test_laboratory_values_with_a_t_for_each(name: str, bold: bool) -> None:
    frame, schema = schema_of(name)
    release = tclose.anonymize(frame, schema, method=Fragments(bold=bold), seed=1)
    assert release.measured.classes > 5
    for sensitive in schema.sensitive:
        assert sensitive.t is not None
        assert release.measured.t[sensitive.column] <= sensitive.t
        told = release.certificate.as_dict()["columns"][sensitive.column]
        assert told["guarantee"] == "on the bins, not on the values inside one"
    assert release.loss < (0.1 if bold else 0.95)


@pytest.mark.campaign
@pytest.mark.slow
def test_a_hospital_of_100_000_rows() -> None:
    frame, schema = hospital(100_000, seed=1)
    five = schema.sensitive[:1] + schema.sensitive[-4:]
    kept = [name for name in frame.columns if name not in {s.column for s in schema.sensitive if s not in five}]
    asked = tuple(
        replace(each, t=Fraction(t)) for each, t in zip(five, ("0.3", "0.2", "0.25", "0.2", "0.15"), strict=True)
    )
    table, requirement = encoded(frame.select(kept), replace(schema, sensitive=asked))
    found = run(BOLD, table, requirement)
    assert found.n_classes > 100
    assert table.loss(found.labels) < 0.5
    check(table, requirement, found)
