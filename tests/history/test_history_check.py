"""The checker notices what is wrong with a history, and the attack finds what there is to find."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.history.history_check import check_history
from tclose.history.history_folder import HistoryFolder
from tclose.history.history_state import AWAY, RELEASED, HistoryState, pack_state, unpack_state
from tclose.history.intersection_attack import attack_history, intersect
from tclose.history.original_rows import OriginalTable
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tests.history.living import HISTORY, people, publish, schema

TREE = Hierarchy.from_paths([("flu", "bad", "any"), ("cold", "bad", "any"), ("none", "good", "any")])


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> HistoryFolder:
    folder = tmp_path_factory.mktemp("checked")
    publish(folder, people(60), "first.csv")
    publish(folder, people(90), "second.csv")
    return HistoryFolder.open(folder / HISTORY)


def problems(state: HistoryState, original: OriginalTable | None = None) -> str:
    return " ".join(check_history(state, {} if original is None else {2: original}).problems)


def test_a_true_history_holds(history: HistoryFolder) -> None:
    original = OriginalTable(Source.of(people(90)), history.key)
    found = check_history(history.state, {1: OriginalTable(Source.of(people(60)), history.key), 2: original})
    assert found.holds
    assert found.smallest >= 3
    assert set(found.t) == {"ill", "pay"}
    assert 0 < found.t["ill"] <= Fraction(2, 5)
    assert found.waiting == dict.fromkeys(
        ("new_waiting", "returned_waiting", "changes_held", "moves_held", "deletions_held"), 0
    )
    later = check_history(history.state, {2: OriginalTable(Source.of(people(95)[1:]), history.key)})
    assert later.waiting["new_waiting"] == 5
    assert later.waiting["deletions_held"] == 1


def test_a_state_is_the_same_after_it_was_written(history: HistoryFolder) -> None:
    packed = pack_state(history.state, history.key)
    assert pack_state(unpack_state(packed, history.key), history.key) == packed


def test_a_person_in_another_class_is_noticed(history: HistoryFolder) -> None:
    state = history.state
    moved = state.member_class.copy()
    last = np.flatnonzero(state.member_release == 2)
    other = next(place for place in last if moved[place] != moved[last[0]])
    moved[last[0]] = moved[other]
    told = problems(replace(state, member_class=moved))
    assert "Release 1: the smallest atom has 1 person, and k is 3." in told


def test_a_changed_value_is_noticed(history: HistoryFolder) -> None:
    changed = history.state.sensitive.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("other")).otherwise("ill").alias("ill")
    )
    assert "The values of 'ill' in release 1 are not those" in problems(replace(history.state, sensitive=changed))


def test_atoms_that_are_too_small_or_too_far_are_noticed(history: HistoryFolder) -> None:
    atoms = history.state.atoms.copy()
    atoms[0] = atoms.max() + 1
    assert "the smallest atom has 1 person" in problems(replace(history.state, atoms=atoms))
    strict = tuple(replace(each, schema=each.schema.replace("t = 0.4", "t = 0.01")) for each in history.state.releases)
    assert "the farthest atom is at a distance of" in problems(replace(history.state, releases=strict))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda s: {"left": np.where(np.arange(len(s)) == 0, 1, s.left)}, "after the one which the person is said"),
        (lambda s: {"places": np.where(np.arange(len(s)) == 0, AWAY, s.places)}, "not those of the last release"),
        (lambda s: {"member_release": np.full_like(s.member_release, 2)}, "in two classes of one release"),
        (lambda s: {"version_origin": np.full_like(s.version_origin, 2)}, "before there were values"),
        (lambda s: {"hashes": s.hashes.set(pl.Series(np.arange(len(s)) < 2), "x")}, "known twice"),
        (lambda s: {"releases": s.releases[::-1]}, "not numbered from 1"),
        (
            lambda s: {"releases": (replace(s.releases[0], certificate_sha256="0" * 64), s.releases[1])},
            "does not follow on that of release 1",
        ),
    ],
)
@pytest.mark.everyday(7)
def test_what_no_history_can_be_is_noticed(history: HistoryFolder, changed: Any, told: str) -> None:
    assert told in problems(replace(history.state, **changed(history.state)))


def test_rows_that_are_not_those_of_the_table_are_noticed(history: HistoryFolder) -> None:
    table = people(90)
    state = history.state
    ages = state.quasi.with_columns(pl.when(pl.int_range(pl.len()) == 5).then(1).otherwise("age").alias("age"))
    original = OriginalTable(Source.of(table), history.key)
    assert "quasi-identifiers that are not those of the table" in problems(replace(state, quasi=ages), original)
    other = table.with_columns(pl.when(pl.int_range(pl.len()) == 70).then(pl.lit("x")).otherwise("ill").alias("ill"))
    assert "1 persons entered release 2 with values that are not theirs" in problems(
        state, OriginalTable(Source.of(other), history.key)
    )


def test_the_attack_finds_nothing_in_a_history_and_much_in_naive_releases(history: HistoryFolder) -> None:
    found = attack_history(history.state, 3)
    assert (found.releases, found.persons, found.alone, found.below_k, found.certain) == (2, 90, 0, 0, 0)
    assert attack_history(history.state, 3, 1).persons == 60
    labels = np.stack(
        [tclose.anonymize(people(90), schema(), method="sabre-ak", seed=seed).classes for seed in (1, 2)], axis=1
    )
    versions = np.arange(90)[:, None] * np.ones(2, np.int64)
    ill = people(90)["ill"].rank("dense").to_numpy().astype(np.int64)
    naive = intersect(labels, versions.astype(np.int64), {"ill": ill}, 3)
    assert naive.alone > 10
    assert naive.below_k > 60


def test_the_attack_subtracts_what_has_left() -> None:
    """{a, b, c} with f, f, h; then {b, c} with f, h: a had f."""
    classes = np.array([[0, -1], [0, 0], [0, 0]])
    versions = np.where(classes >= 0, np.arange(3)[:, None], -1)
    found = intersect(classes, versions, {"ill": np.array([0, 0, 1])}, 2)
    assert (found.alone, found.certain, found.known_share) == (1, 1, 1.0)
    assert found.known_rise == pytest.approx(1 / 3)


def test_attributes_with_too_many_values_are_named(history: HistoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.history.intersection_attack.MOST_NUMBERS", 0)
    assert attack_history(history.state, 3).not_attacked == ("ill", "pay")


@pytest.mark.slow
def test_a_history_with_hierarchies_matrices_joints_and_caps(tmp_path: Path) -> None:
    """All that a schema may promise goes through state, check and republication."""
    keys: dict[str, Any] = {
        "k": 2,
        "unit": "who",
        "missing": "category",
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {
            "ill": {
                "distance": "hierarchical", "t": 0.6, "rise": 0.6, "beta": 8, "levels": True, "l": 2,
                "hierarchy": TREE,
            },
            "pay": {"distance": "ordered", "t": 0.7, "bins": 3},
            "how": {"distance": "matrix", "t": 0.7, "matrix": {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}},
        },
        "joint": {"both": {"columns": ["ill", "how"], "t": 0.8}},
    }  # fmt: skip
    rng = np.random.default_rng(3)
    table = people(80).drop("name", "town").with_columns(how=pl.Series(rng.choice(["a", "b"], 80)))
    table = table.with_columns(age=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("age"))
    for place, size in enumerate((50, 80)):
        release = tclose.republish(
            table.head(size), Schema.from_dict(keys), history=tmp_path / HISTORY, first=not place, method="mondrian"
        )
        release.write(tmp_path / f"{place}.parquet")
        assert release.record.notes["history"]["added"] == (50, 30)[place]
    found = check_history(HistoryFolder.open(tmp_path / HISTORY).state)
    assert found.holds
    assert set(found.t) == {"ill", "pay", "how", "both"}
    assert (HistoryFolder.open(tmp_path / HISTORY).state.places == RELEASED).all()
