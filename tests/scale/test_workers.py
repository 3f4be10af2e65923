"""Processes that do jobs: a dead one is replaced, an error comes back as a sentence, nothing is done twice."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import pytest

import tclose
from tclose.errors import EngineError, TableError, ValuesError
from tclose.scale.local_engine import LocalOptions, anonymize_folder
from tclose.scale.worker_pool import WorkerPool
from tclose.scale.worker_process import told
from tests.scale import jobs
from tests.scale.folders import as_multiset, put, released
from tests.scale.test_local_engine import LOOSE, people

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals")


def test_errors_leave_a_process_without_a_cell() -> None:
    shown = told(ValuesError("Column 'a' is wrong.", [1, 2], "are wrong"))
    assert type(shown) is TableError
    assert str(pickle.loads(pickle.dumps(shown))) == "Column 'a' is wrong."
    assert str(told(ValueError("secret"))) == "ValueError"
    assert "Is the disk full?" in str(told(OSError("800 requested and 300 written")))  # as numpy says it


@pytest.mark.slow
def test_jobs_come_back_in_their_order() -> None:
    with WorkerPool(2) as pool:
        assert [*pool.each(pow, [(2, each) for each in range(20)])] == [2**each for each in range(20)]
        with pytest.raises(TableError, match="not this one"):
            list(pool.each(jobs.refuse, [(1,)]))
        with pytest.raises(OSError, match="No space left"):
            list(pool.each(jobs.fill_disk, [(1,)]))


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    with WorkerPool(2) as pool:
        found = [*pool.each(jobs.die_first, [(tmp_path, number) for number in range(6)])]
        assert found == [*range(6)]
        with pytest.raises(EngineError):
            list(pool.each(jobs.die, [(1,)]))


@pytest.mark.slow
def test_workers_killed_meanwhile_lose_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job of every kind has its process killed: what comes out is what would have come out."""
    data = put(tmp_path / "in", people(6000))
    options = LocalOptions(jobs=2, shard_rows=1500, piece_rows=2000, file_rows=3000)
    anonymize_folder(data, LOOSE, tmp_path / "one", seed=3, method="mondrian", options=options)
    monkeypatch.setenv("TCLOSE_TEST_KILLS", str(tmp_path / "kills"))
    (tmp_path / "kills").mkdir()
    before = WorkerPool.each
    monkeypatch.setattr(WorkerPool, "each", lambda pool, work, given: before(pool, jobs.Killed(work), given))
    anonymize_folder(data, LOOSE, tmp_path / "other", seed=3, method="mondrian", options=options)
    assert len(list((tmp_path / "kills").iterdir())) == 10
    assert tclose.verify(tmp_path / "other", LOOSE).holds
    assert as_multiset(released(tmp_path / "one")).equals(as_multiset(released(tmp_path / "other")))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["partition", "verify"])
def test_a_driver_killed_before_the_commit_leaves_no_release(tmp_path: Path, stage: str) -> None:
    data = put(tmp_path / "in", people(3000))
    out = tmp_path / "out"
    code = jobs.run_and_die(data, out, stage)
    assert code == -signal.SIGKILL
    assert not out.exists()
    anonymize_folder(data, LOOSE, out, seed=3, method="mondrian", options=LocalOptions(0, 1500, 2000, 3000))
    assert sorted(os.listdir(tmp_path)) == ["in", "out"], "what the killed process left is removed"
    assert tclose.verify(out, LOOSE).holds
