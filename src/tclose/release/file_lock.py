"""Locks on files: a target is written by one process at a time.

The lock of a target is a hidden, private file `.NAME.lock` beside it, which the operating system locks and unlocks
when the process ends, however it does. Whoever holds it removes it at the end. Another process may have opened the
file before it was removed and lock it afterwards; so whoever has locked it looks whether the name still stands for
the same file, and begins again if not. On Windows an open file cannot be removed, and this cannot happen.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from tclose.errors import BusyError, LockError

ATTEMPTS = 1000  # each one that fails means that another process has finished its work meanwhile
BUSY = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


class SystemLocks(Protocol):
    """What an operating system does about locks on open files."""

    @property
    def removes_open_files(self) -> bool:
        """Whether the name of a file can be removed while the file is open."""
        ...

    def take(self, descriptor: int) -> None:
        """Lock an open file, or raise an OSError at once."""
        ...

    def drop(self, descriptor: int) -> None:
        """Unlock it."""
        ...


@dataclass(frozen=True)
class PosixLocks:
    """Linux and macOS: `flock`, which belongs to the open file and not to the process."""

    fcntl: Any
    removes_open_files: bool = True

    def take(self, descriptor: int) -> None:
        """See `SystemLocks`."""
        self.fcntl.flock(descriptor, self.fcntl.LOCK_EX | self.fcntl.LOCK_NB)

    def drop(self, descriptor: int) -> None:
        """See `SystemLocks`."""
        self.fcntl.flock(descriptor, self.fcntl.LOCK_UN)


@dataclass(frozen=True)
class WindowsLocks:
    """Windows: a lock on the first byte, which need not be there."""

    msvcrt: Any
    removes_open_files: bool = False

    def take(self, descriptor: int) -> None:
        """See `SystemLocks`."""
        os.lseek(descriptor, 0, os.SEEK_SET)
        self.msvcrt.locking(descriptor, self.msvcrt.LK_NBLCK, 1)

    def drop(self, descriptor: int) -> None:
        """See `SystemLocks`."""
        os.lseek(descriptor, 0, os.SEEK_SET)
        self.msvcrt.locking(descriptor, self.msvcrt.LK_UNLCK, 1)


def system_locks() -> SystemLocks | None:
    """The locks of this operating system; None if it has none that Python knows of."""
    with contextlib.suppress(ImportError):
        return PosixLocks(import_module("fcntl"))
    with contextlib.suppress(ImportError):
        return WindowsLocks(import_module("msvcrt"))
    return None


@dataclass(frozen=True, eq=False)
class _LockFile:
    """A lock file that this process has open and locked."""

    path: str
    descriptor: int
    locks: SystemLocks

    def remove(self) -> None:
        """Remove its name and unlock it."""
        if self.locks.removes_open_files:
            if _is_named(self.path, self.descriptor):  # someone may have removed it by hand, and another made it anew
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            self._let_go()
        else:
            self._let_go()
            with contextlib.suppress(OSError):  # another process has it open by now
                os.unlink(self.path)

    def _let_go(self) -> None:
        try:
            self.locks.drop(self.descriptor)  # also where a forked child has it open still
        finally:
            os.close(self.descriptor)


class TargetLocks:
    """The locks of some targets, held until `close` or the end of the process; taken all at once or not at all.

    Nobody waits for a lock, so nobody waits forever. A target that is a link has two locks, its own and that of what
    it leads to; folders on the way to it are resolved. So all names of a file, hard links excepted, have a lock in
    common.

    Parameters
    ----------
    targets
        Files, or folders into which files are written; they need not exist, but the folders they lie in do.

    Raises
    ------
    BusyError
        Another process, or another part of this one, holds one of the locks.
    LockError
        There are no locks on this platform or file system.
    OSError
        A lock file cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with TargetLocks([folder / "release.csv"]):
    ...     [path.name for path in folder.iterdir()]
    ['.release.csv.lock']
    >>> list(folder.iterdir())
    []
    """

    def __init__(self, targets: Iterable[Path]) -> None:
        named = {lock: target.name for target in targets for lock in lock_names(target)}
        self._files: list[_LockFile] = []
        try:
            for lock in sorted(named):  # of two that want some of the same, one gets all
                self._files.append(_lock(lock, named[lock]))
        except BaseException:
            self.close()
            raise

    def covers(self, target: Path) -> bool:
        """Whether the locks of a target are among those held.

        Examples
        --------
        >>> with TargetLocks([]) as locks:
        ...     locks.covers(Path("release.csv"))
        False
        """
        held = {file.path for file in self._files if _HELD.get(_key(file.path)) is file}
        return held >= set(lock_names(target))

    def close(self) -> None:
        """Let others hold them; a second time, and in a forked child, nothing happens."""
        while self._files:
            file = self._files.pop()
            with _GUARD.lock:
                if _HELD.get(_key(file.path)) is file:
                    try:
                        file.remove()
                    finally:
                        del _HELD[_key(file.path)]

    def __enter__(self) -> TargetLocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def lock_names(target: Path) -> list[str]:
    """Where the lock files of a target lie: beside its name and, if that is a link, beside what it leads to.

    Examples
    --------
    >>> [Path(name).name for name in lock_names(Path("release.csv"))]
    ['.release.csv.lock']
    """
    leads_to = os.path.realpath(target)
    parent, name = os.path.split(os.path.abspath(target) if target.name in ("", "..") else target)
    places = [os.path.join(os.path.realpath(parent or os.curdir), name)]
    if leads_to not in places and os.path.isdir(os.path.dirname(leads_to)):
        places.append(leads_to)
    return [os.path.join(os.path.dirname(place), f".{os.path.basename(place)}.lock") for place in places]


class _Guard:
    """What keeps threads apart; a forked child gets another, since a thread that is gone may hold this one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_GUARD = _Guard()
_HELD: dict[str, _LockFile] = {}  # by lock file: some file systems know processes only, and no parts of one


def _key(path: str) -> str:
    return os.path.normcase(path)


def _lock(path: str, target: str) -> _LockFile:
    with _GUARD.lock:
        if _key(path) in _HELD:
            raise BusyError(f"'{target}' is being written already, by this process.")
        locks = system_locks()
        if locks is None:
            raise LockError(
                f"'{target}' cannot be kept from being written by two processes at once: Python has no file locks "
                "on this platform, so nothing is written."
            )
        file = _LockFile(path, _open_locked(path, target, locks), locks)
        _HELD[_key(path)] = file
        return file


def _open_locked(path: str, target: str, locks: SystemLocks) -> int:
    """Open the lock file and lock it, whoever may be removing it at the same time."""
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    for _ in range(ATTEMPTS):
        descriptor = _open(path, flags, target)
        try:
            locks.take(descriptor)
            if not locks.removes_open_files or _is_named(path, descriptor):
                return descriptor
            os.close(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in BUSY:
                break
            if error.errno not in NO_LOCKS:
                raise
            with contextlib.suppress(OSError):  # which nobody can hold
                os.unlink(path)
            raise LockError(
                f"'{target}' cannot be kept from being written by two processes at once: its file system has no "
                "locks, so nothing is written. Write to another one, and copy the files from there."
            ) from None
        except BaseException:  # such as Ctrl-C: nobody could unlock it any more
            os.close(descriptor)
            raise
    raise BusyError(f"'{target}' is being written by another process. Wait until it has ended, or name another file.")


def _open(path: str, flags: int, target: str) -> int:
    try:
        return os.open(path, flags, 0o600)
    except PermissionError:
        if not os.path.lexists(path):
            raise
        raise BusyError(
            f"'{target}' is being written by another process, or was by one that was killed: its lock file "
            f"'{os.path.basename(path)}' belongs to someone else. If nothing writes it any more, remove that file."
        ) from None


def _is_named(path: str, descriptor: int) -> bool:
    """Whether this name still stands for this open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def remove_locks() -> None:
    """Remove all lock files that this process holds, for one that is about to end."""
    with _GUARD.lock:
        while _HELD:
            _, file = _HELD.popitem()
            with contextlib.suppress(OSError):
                file.remove()


def _forget() -> None:
    """In a forked child: the locks are those of its parent, which must not stay locked for the child's sake."""
    _GUARD.lock = threading.Lock()
    for file in _HELD.values():
        with contextlib.suppress(OSError):
            os.close(file.descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
