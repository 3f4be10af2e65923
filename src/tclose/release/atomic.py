"""Files that are there as a whole or not at all."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tclose.release.file_lock import TargetLocks, remove_locks
from tclose.table.formats.file_formats import WRITTEN

PRIVATE, PUBLIC = 0o600, 0o666  # before the umask
PATIENCE = 10.0  # seconds that a process which is about to end waits for files that are being given their names


def check_targets(targets: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work, files that could not be made, or of which one would overwrite another.

    Raises
    ------
    OSError
        A folder is absent, or a name is that of a folder, a device, a pipe, or of two of the files.
    """
    for path in targets:
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "There is no such folder", str(path.parent))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(path))
        if path.exists() and not path.is_file():  # a device or a pipe would be replaced by a file
            raise FileExistsError(errno.EEXIST, "Is not an ordinary file", str(path))
    seen: set[str] = {os.path.realpath(path) for path in inputs}
    for path in targets:
        if os.path.realpath(path) in seen:
            raise FileExistsError(errno.EEXIST, "Would overwrite another of the files named", str(path))
        seen.add(os.path.realpath(path))


@contextlib.contextmanager
def locked(targets: Sequence[Path], held: TargetLocks | None = None) -> Iterator[TargetLocks]:
    """Hold the locks of files to be written, and remove what killed processes have left of them.

    Parameters
    ----------
    targets
        The files.
    held
        Locks that the caller holds already; if they cover all targets, they are enough.
    """
    if held is not None and all(map(held.covers, targets)):
        yield held
        return
    with TargetLocks(targets) as locks:
        for path in targets:
            remove_leftovers(path)
        yield locks


def remove_leftovers(path: Path) -> None:
    """Remove temporary files and folders of a target whose lock the caller holds: whoever made them is dead.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in (".a.csv.0123456789abcdef.tmp", ".a.csv.json.0123456789abcdef.tmp"):
    ...     (folder / name).touch()
    >>> remove_leftovers(folder / "a.csv")
    >>> [path.name for path in folder.iterdir()]
    ['.a.csv.json.0123456789abcdef.tmp']
    """
    suffixes = "|".join(map(re.escape, WRITTEN))
    made = re.compile(rf"\.{re.escape(path.name)}\.(?:only|[0-9a-f]{{8,16}})\.tmp(?:{suffixes})?")
    for name in os.listdir(path.absolute().parent):
        if made.fullmatch(name):
            _remove_all(path.with_name(name))


def write_whole(path: Path, content: bytes, mode: int = PUBLIC, *, alone: bool = False) -> None:
    """Write a file: afterwards it is there as a whole, or what was there before.

    Parameters
    ----------
    path, content
        What to write where.
    mode
        Its permissions, before the umask.
    alone
        The caller holds the lock of this file, or of the folder it lies in; if not, it is locked here.

    Raises
    ------
    BusyError
        Another process is writing it.
    """
    with contextlib.nullcontext() if alone else locked([path]), temporary_beside(path, alone=alone) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY)
        try:
            write_all(descriptor, content)
        finally:
            os.close(descriptor)
        if mode == PUBLIC:
            open_to_others(temporary)
        sync_file(temporary)
        with UNFINISHED.naming:
            os.replace(temporary, path)
            sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, however few the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def temporary_beside(path: Path, suffix: str = "", *, alone: bool = False) -> Iterator[Path]:
    """A hidden name beside `path`, removed if anything is left of it."""
    temporary = path.with_name(f".{path.name}.{'only' if alone else secrets.token_hex(8)}.tmp{suffix}")
    if alone:
        remove(temporary)
    try:
        UNFINISHED.files.add(temporary.absolute())
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
    finally:
        remove(temporary)
        UNFINISHED.files.discard(temporary.absolute())


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make names durable."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def put_together(files: Sequence[tuple[Path, Path]]) -> None:
    """Give temporary files the names of their targets; on failure all are as before.

    The last target is the certificate, which vouches for the others. The old one goes first and the new one comes
    last, also on the way back: whenever the process is killed, what stands there is a whole release, with its own
    certificate or with none.

    Parameters
    ----------
    files
        Temporary files and their targets, whose locks the caller holds.
    """
    certificate = files[-1][1]
    for temporary, _ in files:
        sync_file(temporary)
    with contextlib.ExitStack() as backups, UNFINISHED.naming:
        before = [(target, backups.enter_context(_backup(target))) for _, target in files]
        try:
            if os.path.lexists(certificate):
                remove(certificate)
                sync_folder(certificate.parent)
            for temporary, target in files:
                os.replace(temporary, target)
                sync_folder(target.parent)
        except BaseException:
            remove(certificate)
            for target, backup in before:
                if backup is None:
                    remove(target)
                else:
                    os.replace(backup, target)
            raise


@contextlib.contextmanager
def _backup(path: Path) -> Iterator[Path | None]:
    """A second name for what stands there, or a copy where the file system has no second names; None for nothing."""
    if not os.path.lexists(path):
        yield None
        return
    with temporary_beside(path) as backup:
        remove(backup)
        try:
            os.link(path, backup, follow_symlinks=False)
        except (OSError, NotImplementedError):
            shutil.copy2(path, backup, follow_symlinks=False)
        yield backup


def remove(path: Path) -> None:
    """Remove it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _remove_all(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        remove(path)


def open_to_others(path: Path) -> None:
    """Let others read a file as they could one made in the usual way."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)


class _Unfinished:
    """What a process that ends must remove, and must not disturb.

    Attributes
    ----------
    files
        Its temporary files and folders.
    naming
        Held while finished files get their names.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Know of nothing, as a forked child does: the files are those of its parent."""
        self.files: set[Path] = set()
        self.naming = threading.RLock()


UNFINISHED = _Unfinished()


def abandon() -> None:
    """Remove temporary files and lock files of this process, which must end right after this."""
    if UNFINISHED.naming.acquire(timeout=PATIENCE):  # for good: no file gets its name from now on
        for file in [*UNFINISHED.files]:
            with contextlib.suppress(OSError):
                _remove_all(file)
    remove_locks()


def _at_exit() -> None:
    """At the end of the interpreter, of what a thread was still writing."""
    if UNFINISHED.files:
        abandon()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=UNFINISHED.begin)
