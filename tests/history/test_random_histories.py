"""Random histories against attackers who try all worlds: no belief beyond what is allowed; the naive way shows many."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.history.intersection_attack import intersect
from tests.history.attacking import who_believes, who_ignores, who_knows
from tests.history.histories import random_history, run_history, run_naively
from tests.oracles.history_attackers import TooManyWorlds, worlds_of
from tests.seeds import for_seeds

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")


@for_seeds(40, at_a_time=10, everyday=2)
def test_no_belief_beyond_what_is_allowed(seed: int) -> None:
    asked, tables = random_history(seed)
    ran = run_history(asked, tables, "hold" if seed % 4 else "withdraw")
    try:
        found = who_believes(asked, ran.shown)
    except TooManyWorlds:
        return
    assert found is not None
    assert found <= 0


@pytest.mark.slow
def test_naive_releases_are_found_out() -> None:
    """The attackers find what there is to find: else the test above would say nothing."""
    broken = 0
    for seed in range(12):
        asked, tables = random_history(seed)
        naive = run_naively(asked, tables)
        broken += who_ignores(asked, naive.shown) > 0
        assert who_believes(asked, naive.shown) is None or who_believes(asked, naive.shown) <= 0  # type: ignore[operator]
    assert broken >= 6


@for_seeds(30, at_a_time=30, everyday=1)
def test_the_attack_knows_nothing_that_is_not_so_in_all_worlds(seed: int) -> None:
    """Narrowed bounds are sound; on naive releases they are also found to be worth something."""
    asked, tables = random_history(seed)
    shown = run_naively(asked, tables).shown
    persons = sorted({person for classes in shown.classes for person in classes})
    classes = np.array([[each.get(person, -1) for each in shown.classes] for person in persons], np.int64)
    versions = np.array([[each.get(person, -1) for each in shown.versions] for person in persons], np.int64)
    found = intersect(classes, versions, {"all": np.array(shown.truth)}, asked.k)
    assert found.atoms == len(shown.atoms())
    assert found.alone == sum(len(atom) == 1 for atom in shown.atoms())
    assert found.below_k == sum(len(atom) for atom in shown.atoms() if len(atom) < asked.k)
    worlds = worlds_of(shown)
    known = [
        int((worlds[:, variables] == value).sum(axis=1).min()) / len(variables)
        for _, variables in shown.groups()
        for value in range(shown.values)
    ]
    assert found.known_share <= max(known) + 1e-12
    settled = {v for v in range(len(shown.truth)) if (worlds[:, v] == worlds[0, v]).all()}
    owners = {person for versions in shown.versions for person, v in versions.items() if v in settled}
    assert found.certain <= len(owners)


@pytest.mark.slow
def test_whoever_knows_the_program_keeps_the_true_world() -> None:
    asked, tables = random_history(1)
    ran = run_history(asked, tables)
    assert who_knows(asked, tables, ran, run_history, 20) is not None
