"""What two-diversity takes, refuses and tells; and table 1 of 002."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.two_diversity import matching
from tclose.algorithms.two_diversity.two_diversity import (
    ALONE,
    BY_DUALITY,
    BY_SOLVER,
    MOST_ROWS,
    TwoDiversity,
)
from tclose.errors import InfeasibleError, MissingExtraError, SchemaError, SizeError
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.flat_tables import asked, flat_table
from tests.oracles.groups import cheapest_groups, is_two_diverse, stars

# Table 1 of 002, and the classes of its table 3.
TABLE = {
    "zip": ["98765", "98654", "98543", "97654", "96689", "97427", "96552", "97017", "97023", "97009"],
    "age": ["38", "39", "32", "65", "45", "33", "54", "69", "55", "62"],
    "education": ["Bachelor", "Doctorate", "Master", *["Bachelor"] * 4, "Doctorate", "Master", "Bachelor"],
    "disease": ["viral", "heart", "heart", "cancer", "viral", "viral", "heart", "cancer", "cancer", "cancer"],
}
PRINTED = np.array([0, 0, 1, 2, 1, 2, 3, 1, 1, 3])
BEST = 50  # stars of the best partition of table 1; table 3 has 60


def schema(recode: str = "suppress", k: int = 2, **sensitive: Any) -> Schema:
    quasi = {"zip": {"kind": "digits"}, "age": {"kind": "digits"}, "education": {"kind": "categorical"}}
    disease = {"distance": "equal", **(sensitive or {"l": {"frequency": 2}})}
    return Schema.from_dict({"k": k, "recode": recode, "quasi": quasi, "sensitive": {"disease": disease}})


def test_the_best_by_an_integer_program() -> None:
    rows = [(*digits, *years, school) for digits, years, school, _ in zip(*TABLE.values(), strict=True)]
    groups = [group for size in (2, 3) for group in combinations(range(10), size)]
    groups = [group for group in groups if len({TABLE["disease"][row] for row in group}) == len(group)]
    assert cheapest_groups(groups, [stars(rows, group) for group in groups], 10) == BEST


def test_table_3_of_002_is_not_the_best() -> None:
    table = encode(read(pl.DataFrame(TABLE)), schema())
    requirement = Requirement.of(schema(), table)
    cells = len(table) * len(table.axes)
    assert len(table.axes) == 8
    assert requirement.holds_in_all(table, PRINTED)
    assert round(table.loss(PRINTED) * cells) == 60
    found = run(TwoDiversity(), table, requirement)
    assert found.facts["optimal"]
    assert round(table.loss(found.labels) * cells) == BEST
    assert found.facts["loss_at_least"] == pytest.approx(BEST / cells)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (schema(k=3), "k = 3. Set k to 2"),
        (schema(l=2), r"\[sensitive.disease\] asks for another l. Set l = \{frequency = 2\}"),
        (schema(l={"frequency": 3}), "another l"),
        (schema(l={"frequency": 2, "entropy": 2}), "another l"),
        (schema(t=0.5), "does not guarantee t"),
        (schema(t=0.5, l={"frequency": 2}), "does not guarantee t"),
    ],
)
def test_what_it_cannot_promise_is_refused(given: Schema, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        tclose.anonymize(pl.DataFrame(TABLE), given, method="two-diversity")


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_k_1_is_the_same_where_something_is_sensitive() -> None:
    release = tclose.anonymize(pl.DataFrame(TABLE), schema(k=1), method="two-diversity")
    assert release.measured.k >= 2
    assert round(release.loss * 80) == BEST
    for label in np.unique(release.classes):
        assert is_two_diverse([TABLE["disease"][row] for row in np.flatnonzero(release.classes == label)])


def test_k_1_and_nothing_sensitive_leaves_every_row_alone() -> None:
    table = flat_table([(0, 1), (0, 2), (1, 2)])
    found = run(TwoDiversity(), table, asked(table, 1))
    assert found.labels.tolist() == [0, 1, 2]
    assert found.facts == {"optimal": True, "loss_at_least": 0.0, "proved_by": ALONE}


def test_a_table_that_is_not_diverse() -> None:
    table = flat_table([(0,), (1,), (2,)], [0, 0, 1])
    with pytest.raises(InfeasibleError, match="not as diverse in 'ill'"):
        run(TwoDiversity(), table, asked(table, 2))


def test_too_many_rows() -> None:
    table = flat_table([(0,)] * (MOST_ROWS + 1))
    with pytest.raises(SizeError, match=r"at most 1000 rows, and the table has 1001\. Use 'tight'"):
        run(TwoDiversity(), table, asked(table, 2))


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"needs 'highspy'.*tclose\[optimum\]"):
        tclose.anonymize(pl.DataFrame(TABLE), schema(), method="two-diversity")


def test_stopped_early_it_tells_a_bound() -> None:
    table = encode(read(pl.DataFrame(TABLE)), schema())
    requirement = Requirement.of(schema(), table)
    control = Control()
    control.end()
    found = TwoDiversity().partition(table, requirement, rng=np.random.default_rng(0), control=control)
    assert found.facts["stopped_early"]
    assert not found.facts["optimal"]
    assert found.facts["loss_at_least"] <= BEST / 80
    assert requirement.holds_in_all(table, found.labels)


def test_a_start_that_is_as_good_comes_back() -> None:
    table = encode(read(pl.DataFrame(TABLE)), schema())
    requirement = Requirement.of(schema(), table)
    best = run(TwoDiversity(), table, requirement)
    start = Partition(best.labels.max() - best.labels, facts={"stopped_early": True})
    found = run(TwoDiversity(), table, requirement, start)
    assert np.array_equal(found.labels, start.labels)
    assert found.facts == best.facts
    assert not np.array_equal(run(TwoDiversity(), table, requirement, Partition(PRINTED)).labels, PRINTED)


@pytest.mark.slow
def test_what_the_proof_rests_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without inequalities over odd sets shares are not always whole; then an integer program decides.

    Its word is believed only where the divisions that are left are not compared in whole numbers.
    """
    table = encode(read(pl.DataFrame(TABLE)), schema())
    found = run(TwoDiversity(), table, Requirement.of(schema(), table))
    assert found.facts["proved_by"] == BY_DUALITY
    monkeypatch.setattr(matching, "violated_sets", lambda *_given: [])
    assert _proofs() == {BY_DUALITY}
    monkeypatch.setattr(matching.MatchingSearch, "settle", lambda _self: False)
    assert _proofs() == {BY_DUALITY, BY_SOLVER}


def _proofs() -> set[str]:
    told = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = flat_table([tuple(row) for row in rng.integers(0, 3, (9, 4)).tolist()])
        found = run(TwoDiversity(), table, asked(table, 2))
        assert found.facts["optimal"]
        told.add(found.facts["proved_by"])
    return told
