"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o666  # before the umask


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


def write_whole(path: Path, content: bytes, mode: int = PUBLIC, *, alone: bool = False) -> None:
    """Write a file: afterwards it is there as a whole, or what was there before.

    Parameters
    ----------
    path, content
        What to write where.
    mode
        Its permissions, before the umask.
    alone
        No other process writes here, so what a killed one left behind is removed first.
    """
    with temporary_beside(path, alone=alone) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY)
        try:
            write_all(descriptor, content)
        finally:
            os.close(descriptor)
        if mode == PUBLIC:
            open_to_others(temporary)
        put(temporary, path)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, however few the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def temporary_beside(path: Path, suffix: str = "", *, alone: bool = False) -> Iterator[Path]:
    """A hidden name beside `path`, removed if anything is left of it."""
    temporary = path.with_name(f".{path.name}.{'only' if alone else secrets.token_hex(4)}.tmp{suffix}")
    if alone:
        remove(temporary)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
    finally:
        remove(temporary)


def put(temporary: Path, path: Path) -> None:
    """Make the file durable, then give it its name in one step."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make names durable."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def put_both(release: Path, path: Path, certificate: Path, beside: Path) -> None:
    """Replace a release and its certificate; on failure both are as before.

    The old certificate goes first and the new one comes last: whenever the process is killed,
    what stands there is a whole release, with its own certificate or with none.
    """
    with temporary_beside(path) as old_release, temporary_beside(beside) as old_certificate:
        pairs = ((path, old_release), (beside, old_certificate))
        kept = [(target, backup) for target, backup in pairs if target.exists()]
        for target, backup in kept:
            shutil.copy2(target, backup)
        try:
            remove(beside)
            put(release, path)
            put(certificate, beside)
        except BaseException:
            for target, backup in pairs:
                if (target, backup) in kept:
                    os.replace(backup, target)
                else:
                    remove(target)
            raise


def remove(path: Path) -> None:
    """Remove it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def open_to_others(path: Path) -> None:
    """Let others read a file as they could one made in the usual way."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)
