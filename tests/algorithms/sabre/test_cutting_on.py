"""Slack: what the bound leaves of t is used, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.sabre import SabreAK, SabreKNN
from tclose.algorithms.tight.tight import Tight
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.mondrian.test_mondrian import as_sets, by_both_oracles, random_case, random_frame
from tests.seeds import for_seeds

METHODS = pytest.mark.parametrize("method", [SabreAK, SabreKNN])


def as_it_is(self: Tight, table: EncodedTable, requirement: Requirement, start: Partition, **_: Any) -> Partition:
    """No search."""
    return start


@for_seeds(60, everyday=4)
def test_every_class_is_cut_on_as_mondrian_would(seed: int) -> None:
    """The oracles of `mondrian` cut what SABRE formed as printed, class by class."""
    columns, schema = random_frame(seed)
    table, requirement = random_case(seed)
    method = (SabreAK, SabreKNN)[seed % 2]
    try:
        printed = run(method(), table, requirement)
    except InfeasibleError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tight, "improve", as_it_is)
        found = as_sets(run(method(slack=True), table, requirement))
    assert found == by_both_oracles(columns, schema, table, requirement, as_sets(printed))


@METHODS
def test_cutting_and_searching_both_lose_less_and_keep_the_promise(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for frame, schema in (census(600, seed=2), hospital(150, seed=2)):
        table = encode(read(frame), schema)
        requirement = Requirement.of(schema, table)
        losses = [table.loss(run(method(), table, requirement).labels)]
        with monkeypatch.context() as patch:
            patch.setattr(Tight, "improve", as_it_is)
            losses.append(table.loss(run(method(slack=True), table, requirement).labels))
        found = run(method(slack=True), table, requirement)
        losses.append(table.loss(found.labels))
        assert losses[0] > losses[1] > losses[2]
        assert not found.facts
        assert np.bincount(found.labels).min() >= requirement.k
        for label in range(found.n_classes):
            assert requirement.holds([codes[found.labels == label] for codes in table.codes])


def test_without_it_nothing_is_cut_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.sabre.sabre_search.cut_on", None)
    frame, schema = census(300, seed=2)
    table = encode(read(frame), schema)
    assert run(SabreKNN(metric="loss"), table, Requirement.of(schema, table)).n_classes > 1


@METHODS
def test_stopped_at_once_it_is_still_valid(method: Any) -> None:
    frame, schema = census(2000, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    control = Control()
    control.end()
    found = method(slack=True).partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert found.facts == {"stopped_early": True}
    assert requirement.holds_in_all(table, found.labels)
