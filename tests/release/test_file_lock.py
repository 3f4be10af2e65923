"""A target is written by one process at a time, whatever it is called, and nothing is left of its lock."""

import errno
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import BusyError, LockError
from tclose.release import file_lock
from tclose.release.file_lock import PosixLocks, TargetLocks, WindowsLocks, remove_locks, system_locks

FORK = multiprocessing.get_context("forkserver")
HOLD = (
    "import sys; from pathlib import Path; from tclose.release.file_lock import TargetLocks\n"
    "locks = TargetLocks([Path(sys.argv[1])]); print('held', flush=True); sys.stdin.read()"
)


def refused_elsewhere(target: Path) -> bool:
    """Whether another process cannot hold the lock."""
    done = subprocess.run([sys.executable, "-c", HOLD, str(target)], capture_output=True, text=True, input="")
    assert done.returncode == 0 or "is being written by another process" in done.stderr, done.stderr
    return done.returncode != 0


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_another_process_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    target = tmp_path / "release.csv"
    with TargetLocks([target]) as locks:
        assert locks.covers(target)
        assert not locks.covers(tmp_path / "other.csv")
        assert names(tmp_path) == [".release.csv.lock"]
        assert (tmp_path / ".release.csv.lock").stat().st_mode & 0o777 == 0o600
        assert refused_elsewhere(target)
    assert not locks.covers(target)
    assert names(tmp_path) == []
    assert not refused_elsewhere(target)


def test_a_process_that_is_killed_holds_nothing_any_more(tmp_path: Path) -> None:
    target = tmp_path / "release.csv"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match=r"'release\.csv' is being written by another process\."):
            TargetLocks([target])
        other.kill()
    assert names(tmp_path) == [".release.csv.lock"]
    TargetLocks([target]).close()
    assert names(tmp_path) == []


def test_threads_and_objects_of_one_process_are_refused_too(tmp_path: Path) -> None:
    target, refused = tmp_path / "release.csv", []

    def try_it() -> None:
        try:
            TargetLocks([target])
        except BusyError as error:
            refused.append(str(error))

    with TargetLocks([target]):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        try_it()
    assert refused == ["'release.csv' is being written already, by this process."] * 2


def other_names(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Two names of one file."""
    inner = folder / "inner"
    inner.mkdir()
    (folder / "link").symlink_to(inner)
    (folder / "alias.csv").symlink_to(inner / "release.csv")
    target = inner / "release.csv"
    yield target, folder / "link" / "release.csv"
    yield target, folder / "alias.csv"
    yield target, inner / ".." / "inner" / "release.csv"
    yield target, Path(os.path.relpath(target))
    yield inner, folder / "link"
    yield inner, inner / "."
    yield folder, inner / ".."


@pytest.mark.parametrize("which", range(7))
def test_every_name_of_a_file_has_the_same_lock(which: int, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    one, other = list(other_names(tmp_path / "folder"))[which]
    for first, second in ((one, other), (other, one)):
        with TargetLocks([first]), pytest.raises(BusyError):
            TargetLocks([second])
        assert not list(tmp_path.rglob(".*.lock"))


def test_a_name_whose_link_was_replaced_is_still_locked(tmp_path: Path) -> None:
    """Writing replaces the link, and whoever comes then sees a file in its place."""
    (tmp_path / "alias.csv").symlink_to(tmp_path / "release.csv")
    with TargetLocks([tmp_path / "alias.csv"]):
        (tmp_path / "alias.csv").unlink()
        (tmp_path / "alias.csv").write_text("a file")
        with pytest.raises(BusyError):
            TargetLocks([tmp_path / "alias.csv"])


def test_all_locks_are_taken_or_none(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("a", "b", "c"))
    with TargetLocks([second]):
        with pytest.raises(BusyError, match="'b'"):
            TargetLocks([third, second, first])
        assert names(tmp_path) == [".b.lock"]
    with TargetLocks([first, first]):  # a target that is named twice is one
        assert names(tmp_path) == [".a.lock"]


def test_a_lock_file_that_was_removed_before_it_was_locked_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process opens the file, the holder removes it, and only then the first one locks what it opened."""
    target, opened = tmp_path / "release.csv", []
    holder = TargetLocks([target])
    original = os.open

    def opening(path: Any, *rest: Any) -> int:
        descriptor = original(path, *rest)
        if not opened:
            opened.append(descriptor)
            os.unlink(path)
            os.close(original(path, *rest))  # a third one has made another file of this name
        return descriptor

    holder.close()
    monkeypatch.setattr(os, "open", opening)
    with TargetLocks([target]):
        monkeypatch.undo()
        assert refused_elsewhere(target)
    assert names(tmp_path) == []


def count_up(target: Path, rounds: int, told: Connection) -> None:
    """Add one to the number in a file again and again, as nobody must who is not alone."""
    done = refused = 0
    while done < rounds:
        try:
            with TargetLocks([target]):
                target.write_text(str(int(target.read_text()) + 1))
            done += 1
        except BusyError:
            refused += 1
    told.send(refused)


def test_processes_that_lock_and_remove_all_the_time_never_hold_it_together(tmp_path: Path) -> None:
    target, told = tmp_path / "number", []
    target.write_text("0")
    processes = []
    for _ in range(3):
        here, there = FORK.Pipe(duplex=False)
        processes.append(FORK.Process(target=count_up, args=(target, 300, there)))
        processes[-1].start()
        told.append(here)
    for process, pipe in zip(processes, told, strict=True):
        pipe.recv()
        process.join()
    assert target.read_text() == "900"
    assert names(tmp_path) == ["number"]


def test_a_forked_child_neither_keeps_nor_removes_the_lock_of_its_parent(tmp_path: Path) -> None:
    """In a process without threads, in which forking is safe."""
    program = (
        "import os, sys; from pathlib import Path; from tclose.errors import BusyError\n"
        "from tclose.release.file_lock import TargetLocks\n"
        "target = Path(sys.argv[1]); locks = TargetLocks([target]); child = os.fork()\n"
        "if not child:\n"
        "    locks.close()\n"
        "    try: TargetLocks([target]); os._exit(1)\n"
        "    except BusyError: pass\n"
        "    sys.stdin.read(); os._exit(0)\n"
        "print('held', flush=True); os.waitpid(child, 0) if sys.argv[2] == 'wait' else os._exit(0)\n"
    )
    target = tmp_path / "release.csv"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(target), "leave"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"held\n"
        parent.wait()  # the child still reads
        TargetLocks([target]).close()


def test_a_process_about_to_end_removes_its_lock_files(tmp_path: Path) -> None:
    locks = TargetLocks([tmp_path / "release.csv", tmp_path / "record.json"])
    remove_locks()
    assert names(tmp_path) == []
    locks.close()


# What cannot run here, by stand-ins.


class FakeMsvcrt:
    """The module of Windows: a lock belongs to an open file, and a second one on it is refused."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        self.holders: dict[int, int] = {}
        self.calls: list[tuple[int, int, int]] = []

    def locking(self, descriptor: int, mode: int, n_bytes: int) -> None:
        place = os.fstat(descriptor).st_ino
        self.calls.append((mode, n_bytes, os.lseek(descriptor, 0, os.SEEK_CUR)))
        if mode == self.LK_UNLCK:
            assert self.holders.pop(place) == descriptor
        elif place in self.holders:
            raise PermissionError(errno.EACCES, "Permission denied")
        else:
            self.holders[place] = descriptor


def without(name: str, module: Any) -> Callable[[str], Any]:
    """Importing as where one module is absent and another there."""

    def importing(asked: str) -> Any:
        if asked == name or module is None:
            raise ImportError(asked)
        return module

    return importing


def test_on_windows_the_first_byte_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows, target = FakeMsvcrt(), tmp_path / "release.csv"
    monkeypatch.setattr(file_lock, "import_module", without("fcntl", windows))
    assert isinstance(system_locks(), WindowsLocks)
    with TargetLocks([target]):
        monkeypatch.setattr(file_lock, "_HELD", {})  # as in another process
        with pytest.raises(BusyError, match="is being written by another process"):
            TargetLocks([target])
        monkeypatch.undo()
    assert windows.calls == [(2, 1, 0), (2, 1, 0), (0, 1, 0)]
    assert names(tmp_path) == []


def test_on_windows_a_lock_file_that_another_has_open_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(path: Any) -> None:
        raise PermissionError(errno.EACCES, "in use", str(path))

    monkeypatch.setattr(file_lock, "import_module", without("fcntl", FakeMsvcrt()))
    monkeypatch.setattr(os, "unlink", refusing)
    TargetLocks([tmp_path / "release.csv"]).close()
    assert names(tmp_path) == [".release.csv.lock"]
    monkeypatch.undo()
    TargetLocks([tmp_path / "release.csv"]).close()
    assert names(tmp_path) == []


def test_here_it_is_flock() -> None:
    assert isinstance(system_locks(), PosixLocks)


def test_a_platform_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "import_module", without("fcntl", None))
    with pytest.raises(LockError, match="no file locks on this platform") as refused:
        TargetLocks([tmp_path / "release.csv"])
    assert not isinstance(refused.value, BusyError)
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_file_system_without_locks_is_refused(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoLocks:
        removes_open_files = True

        def take(self, descriptor: int) -> None:
            raise OSError(code, "no locks")

    monkeypatch.setattr(file_lock, "system_locks", NoLocks)
    with pytest.raises(LockError, match="its file system has no locks") as refused:
        TargetLocks([tmp_path / "release.csv"])
    assert not isinstance(refused.value, BusyError)
    assert names(tmp_path) == []


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".release.csv.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        TargetLocks([tmp_path / "release.csv"])
    assert names(tmp_path) == [".release.csv.lock"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open anything")
def test_a_lock_file_of_someone_else_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / ".release.csv.lock").touch(0o000)
    with pytest.raises(BusyError, match=r"'\.release\.csv\.lock' belongs to someone else"):
        TargetLocks([tmp_path / "release.csv"])
