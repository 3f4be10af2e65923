"""Files that survive a crash: appended to what is known to be there, and never cut."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tclose.errors import TableError
from tclose.release.atomic import sync_folder, write_all, write_whole
from tclose.stream.envelope import ANEW

CHUNK = 1 << 20
BY_WHOM = (
    "Either the checkpoint is an older copy: put the last one back. Or something else has written there: put the "
    "output back as it was."
)
AS_IT_WAS = f"Put it back as it was when the checkpoint was made. {ANEW}"


class Appended:
    """A file that only grows, by one process, which knows all that is in it.

    Parameters
    ----------
    path
        Where it lies; made if it is not there.
    mode
        Its permissions when it is made, before the umask.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self._path, self._length, self._digest = path, 0, hashlib.sha256()
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), mode)
        sync_folder(path.parent)

    def known(self) -> dict[str, Any]:
        """Length and digest of what it holds.

        Raises
        ------
        TableError
            Someone else has written to it.
        """
        if os.fstat(self._descriptor).st_size != self._length:
            raise TableError(f"'{self._path.name}' was changed by another program while the stream ran. {AS_IT_WAS}")
        return {"length": self._length, "sha256": self._digest.hexdigest()}

    def recognize(self, told: Mapping[str, Any], data: bytes) -> bytes:
        """See that it holds what was committed before, and at most a beginning of these bytes; what lacks of them.

        It is read once from its beginning. Nothing is written.

        Raises
        ------
        TableError
            It holds less, or something else.
        """
        length, name = told["length"], self._path.name
        if os.fstat(self._descriptor).st_size < length:
            raise TableError(f"'{name}' is shorter than when the checkpoint was made. {AS_IT_WAS}")
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while self._length < length:
            chunk = os.read(self._descriptor, min(CHUNK, length - self._length))
            if not chunk:
                break
            self._digest.update(chunk)
            self._length += len(chunk)
        if self._digest.hexdigest() != told["sha256"]:
            raise TableError(f"'{name}' was changed since the checkpoint was made. {AS_IT_WAS}")
        there = self._rest(len(data) + 1)
        if not data.startswith(there):
            raise TableError(f"'{name}' holds more than the checkpoint knows of. Nothing is cut off. {BY_WHOM} {ANEW}")
        self._digest.update(there)
        self._length += len(there)
        return data[len(there) :]

    def _rest(self, most: int) -> bytes:
        """The bytes from here on, so many at most."""
        found = b""
        while len(found) < most and (chunk := os.read(self._descriptor, most - len(found))):
            found += chunk
        return found

    def append(self, data: bytes) -> None:
        """Make these bytes its durable end."""
        if data:
            os.lseek(self._descriptor, self._length, os.SEEK_SET)
            write_all(self._descriptor, data)
            self._digest.update(data)
            self._length += len(data)
            self.sync()

    def sync(self) -> None:
        """Make what it holds durable."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


class OutputFolder:
    """A folder that gets a file for each commit, with its number for a name; files in it may be taken away.

    Parameters
    ----------
    path
        The folder.
    suffix
        How the names of its files end.
    """

    def __init__(self, path: Path, suffix: str) -> None:
        self._path, self._suffix = path, suffix
        self._n_put, self._last = 0, ""

    def is_empty(self) -> bool:
        """Whether nothing was put there."""
        return not any(self._path.glob(f"*.{self._suffix}"))

    def known(self) -> dict[str, Any]:
        """How many files were put there, and the digest of the last."""
        return {"files": self._n_put, "sha256": self._last}

    def recognize(self, told: Mapping[str, Any], data: bytes) -> bytes:
        """See that it holds nothing but what was put there; the bytes of the next file, if they are not there.

        Raises
        ------
        TableError
            It has other files, or the last one was changed.
        """
        self._n_put, self._last = told["files"], told["sha256"]
        stop = self._n_put + bool(data)
        if any(not self._is_below(path.name, stop) for path in self._path.glob(f"*.{self._suffix}")):
            raise TableError(
                f"'{self._path.name}' has files that the checkpoint does not know of. Nothing is removed. {BY_WHOM} "
                f"{ANEW}"
            )
        last = self._path / self._name(self._n_put - 1)
        if self._n_put and last.exists() and hashlib.sha256(last.read_bytes()).hexdigest() != self._last:
            raise TableError(f"'{last.name}' was changed since the checkpoint was made. {AS_IT_WAS}")
        following = self._path / self._name(self._n_put)
        if not data or not following.exists():
            return data
        if following.read_bytes() != data:
            raise TableError(f"'{following.name}' is not what the checkpoint says it is. {AS_IT_WAS}")
        self._count(data)
        return b""

    def put(self, data: bytes) -> None:
        """Put the next file there, whole."""
        if data:
            path = self._path / self._name(self._n_put)
            if path.exists():
                raise TableError(f"'{path.name}' was put there by another program. {AS_IT_WAS}")
            write_whole(path, data, alone=True)
            self._count(data)

    def _name(self, number: int) -> str:
        return f"{number:012}.{self._suffix}"

    def _is_below(self, name: str, stop: int) -> bool:
        """Whether it is the name of a file with a smaller number."""
        stem = name.removesuffix(f".{self._suffix}")
        return stem.isdecimal() and stem.isascii() and int(stem) < stop and name == self._name(int(stem))

    def _count(self, data: bytes) -> None:
        self._n_put, self._last = self._n_put + 1, hashlib.sha256(data).hexdigest()
