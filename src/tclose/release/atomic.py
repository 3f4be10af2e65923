"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file: afterwards it is there as a whole, or what was there before."""
    with temporary_beside(path) as temporary:
        temporary.write_bytes(content)
        open_to_others(temporary)
        put(temporary, path)


@contextlib.contextmanager
def temporary_beside(path: Path, suffix: str = "") -> Iterator[Path]:
    """A hidden name beside `path`, removed if anything is left of it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp{suffix}")
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
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


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
