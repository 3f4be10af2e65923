"""Files: whenever the process is killed, the outputs are in the end those of a run that was not."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from tclose.errors import TableError
from tests.stream.feeding import Killed, check, go, killed, objects, put_in, targets, written
from tests.stream.killing import HOW, stream_files

ROWS = 110


@pytest.fixture(scope="module")
def reference(given: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """What comes out if nothing happens, and how many calls that takes."""
    folder = put_in(tmp_path_factory.mktemp("reference"), given)
    with killed(None, "before") as killer:
        go(folder)
    check(folder, len(given))
    return written(folder), killer.calls


def points(n_calls: int, every: int) -> list[tuple[int, str]]:
    return [(point, HOW[place % 3]) for place, point in enumerate(range(1, n_calls + 1, every))]


def at_each(folder: Path, given: list[bytes], reference: tuple[dict[str, bytes], int], every: int) -> None:
    for point, how in points(reference[1], every):
        here = put_in(folder / f"{point}", given)
        with killed(point, how), pytest.raises(Killed):
            go(here)
        with killed(1 + point % 7, HOW[point % 3]), pytest.raises(Killed):  # and again, while it recovers
            go(here)
        go(here)
        assert written(here) == reference[0], (point, how)


def test_some_points(tmp_path: Path, given: list[bytes], reference: tuple[dict[str, bytes], int]) -> None:
    at_each(tmp_path, given, reference, reference[1] // 8)


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_point(step: int, tmp_path: Path, given: list[bytes], reference: tuple[dict[str, bytes], int]) -> None:
    at_each(tmp_path, given, reference, step)


def test_a_seed_of_its_own_is_kept_from_the_start(
    tmp_path: Path, given: list[bytes], reference: tuple[dict[str, bytes], int]
) -> None:
    """Killed after the first release, a stream without a given seed goes on with the classes it had released."""
    folder = put_in(tmp_path, given)
    with killed(reference[1] * 3 // 4, "after"), pytest.raises(Killed):
        go(folder, seed=None)
    before = targets(folder).output.read_bytes()  # type: ignore[union-attr]
    assert before
    go(folder, seed=None)
    assert targets(folder).output.read_bytes().startswith(before)  # type: ignore[union-attr]
    check(folder, len(given))


def test_what_was_visible_stays(tmp_path: Path, given: list[bytes], reference: tuple[dict[str, bytes], int]) -> None:
    """Whoever reads the outputs at any time sees a beginning of what they become."""
    for point, how in points(reference[1], 9):
        here = put_in(tmp_path / f"{point}", given)
        with killed(point, how), pytest.raises(Killed):
            go(here)
        for name, data in reference[0].items():
            path = here / name.split()[1]
            assert not path.exists() or data.startswith(path.read_bytes())


def test_a_checkpoint_without_its_outputs_is_refused(tmp_path: Path, given: list[bytes]) -> None:
    folder = put_in(tmp_path, given)
    go(folder)
    (folder / "out.jsonl").write_bytes(b"")
    with pytest.raises(TableError, match="shorter"):
        go(folder)


# Processes that are killed in earnest.


@pytest.mark.slow
def test_kill_9(tmp_path: Path, given: list[bytes], reference: tuple[dict[str, bytes], int]) -> None:
    rng = np.random.default_rng(1)
    for how in HOW:
        folder = put_in(tmp_path / how, given)
        point = int(rng.integers(2, reference[1]))
        assert stream_files(folder, point, how) == -signal.SIGKILL
        assert stream_files(folder) == 0
        assert written(folder) == reference[0]
        assert len(objects(folder / "ledger")) > 0
