"""Four writers on one target, some of them killed, as in `make campaign NAME=writers`, but few rounds."""

import pytest

from benchmarks.campaigns.writers import writers


@pytest.mark.slow
def test_four_writers_leave_a_matching_pair_and_no_other_error_than_that_one_writes() -> None:
    found = writers(rounds=20, seed=3)
    counts = found["counts"]
    assert found["findings"] == []
    assert counts["foreign certificates seen"] == 0
    assert counts["matching pairs"] >= 15
    assert counts["writes written"] >= 15
    assert counts["writes refused"] > 0
    assert counts["rounds with SIGKILL"] > 0
    assert counts["rounds with SIGTERM"] > 0


@pytest.mark.slow
def test_without_locks_the_campaign_finds_what_they_prevent() -> None:
    """It is chance who overtakes whom: some rounds are tried after the others, until a foreign certificate stays."""
    found, wrong = "", "the certificate is not that of the file"
    for seed in range(3, 9):
        found += " ".join(writers(rounds=60, seed=seed, locks=False)["findings"])
        if wrong in found:
            break
    assert wrong in found
    assert "other error" in found or "a certificate lay beside a file that is not its own" in found
