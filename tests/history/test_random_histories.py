"""Random histories against attackers who try all worlds: no belief beyond what is allowed; the naive way shows many."""

from __future__ import annotations

import pytest

from tests.history.attacking import who_believes, who_ignores, who_knows
from tests.history.histories import random_history, run_history, run_naively
from tests.oracles.history_attackers import TooManyWorlds
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


@pytest.mark.slow
def test_whoever_knows_the_program_keeps_the_true_world() -> None:
    asked, tables = random_history(1)
    ran = run_history(asked, tables)
    assert who_knows(asked, tables, ran, run_history, 20) is not None
