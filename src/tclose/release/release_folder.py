"""Releases that are folders of Parquet files: what belongs to one, and making one that is there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tclose.errors import TableError
from tclose.release.atomic import UNFINISHED, check_targets, open_to_others, sync_file, sync_folder
from tclose.table.source import file_digest

HIDDEN = ("_", ".")  # how names begin that readers of folders pass by


def folder_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder, by name; what readers of folders pass by is passed by here too.

    Raises
    ------
    TableError
        There is none, or the folder holds something else.
    """
    shown = sorted(path for path in folder.iterdir() if not path.name.startswith(HIDDEN))
    others = [path for path in shown if path.suffix.lower() != ".parquet" or not path.is_file()]
    if others:
        raise TableError(
            f"'{folder.name}' holds {len(others)} file{'s' * (len(others) > 1)} or folders that are no Parquet files "
            "(.parquet). Name a folder of Parquet files alone."
        )
    if not shown:
        raise TableError(f"'{folder.name}' holds no Parquet file.")
    return shown


def hidden_problems(folder: Path) -> Iterator[str]:
    """Parquet files of a folder that are not among its files: some readers read them, and nobody has judged them."""
    shown = {*folder_files(folder)}
    count = sum(path.suffix.lower() == ".parquet" and path not in shown for path in folder.rglob("*"))
    if count:
        told = "1 Parquet file" if count == 1 else f"{count} Parquet files"
        yield (
            f"The folder holds {told} with a hidden name, which some readers read and the certificate does not "
            "cover. Remove them."
        )


def release_digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the sorted digests of its files, a line each."""
    return file_digest(path) if not path.is_dir() else digest_of_digests(map(file_digest, folder_files(path)))


def digest_of_digests(digests: Iterable[str]) -> str:
    """What a folder is told by: the same whatever its files are called.

    Examples
    --------
    >>> digest_of_digests(["b", "a"]) == digest_of_digests(["a", "b"])
    True
    """
    return hashlib.sha256("".join(f"{each}\n" for each in sorted(digests)).encode()).hexdigest()


def check_folder(folder: Path, inputs: Sequence[Path], record: Path | None = None) -> None:
    """Refuse, before any work, a folder that could not be made, or a record that would do harm.

    Raises
    ------
    OSError
        The folder's parent is absent, something stands there already, or it lies within what is read. The record could
        not be written, would overwrite what is read, or would lie within that or within the release.
    """
    if not folder.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", str(folder.parent))
    is_free = not os.path.lexists(folder) or (
        folder.is_dir() and not folder.is_symlink() and not os.listdir(folder) and not os.path.samefile(folder, ".")
    )  # the folder that a process is in does not give up its name
    if not is_free:
        raise FileExistsError(errno.EEXIST, "Is there already: name a new folder", str(folder))
    for path in inputs:
        if _lies_within(folder, path):
            raise FileExistsError(errno.EEXIST, "Lies within what is read", str(folder))
        if record is not None and _lies_within(record, path):
            raise FileExistsError(errno.EEXIST, "Lies within what is read", str(record))
    if record is not None:
        if _lies_within(record, folder):
            raise FileExistsError(errno.EEXIST, "Lies within the release, which the record must not", str(record))
        check_targets([record], inputs)


def _lies_within(path: Path, other: Path) -> bool:
    """Whether a path is another one, or lies in that folder."""
    inner, outer = os.path.realpath(path), os.path.realpath(other)
    return inner == outer or inner.startswith(os.path.join(outer, ""))


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden, private folder beside `folder`, whose lock the caller holds; removed with all that is in it.

    What a killed process has left of such a folder was removed when the lock was taken.
    """
    staging = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(8)}.tmp"
    try:
        UNFINISHED.files.add(staging)
        os.mkdir(staging, 0o700)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        UNFINISHED.files.discard(staging)


def commit(made: Path, folder: Path) -> None:
    """Give a finished folder its name: the last step, and the only one that others see."""
    files = list(made.iterdir())
    for file in files:
        open_to_others(file)
        sync_file(file)
    sync_folder(made)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(made, 0o777 & ~mask)
    with UNFINISHED.naming:
        os.rename(made, folder)  # takes the place of an empty folder, and of nothing else
        sync_folder(folder.absolute().parent)
