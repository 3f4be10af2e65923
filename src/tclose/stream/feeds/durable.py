"""Files that survive a crash: appended to a known length, and held by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

from tclose.errors import TableError
from tclose.release.atomic import PRIVATE, sync_folder, write_all


class Appended:
    """A file that only grows, and is cut back to what was committed.

    Parameters
    ----------
    path
        Where it lies; made if it is not there.
    mode
        Its permissions when it is made, before the umask.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR, mode)
        sync_folder(path.parent)

    @property
    def length(self) -> int:
        """How many bytes it has."""
        return os.fstat(self._descriptor).st_size

    def settle(self, length: int, data: bytes) -> None:
        """Let it have as many bytes as were committed, and then these; what is there of them stays there.

        Raises
        ------
        TableError
            It has fewer than were committed.
        """
        if self.length < length:
            raise TableError(
                f"'{self._path.name}' is shorter than when the checkpoint was made. Put it back as it was, or begin "
                "anew with another checkpoint and other outputs."
            )
        there = os.pread(self._descriptor, len(data) + 1, length)
        if not data.startswith(there):
            os.ftruncate(self._descriptor, length)
            there = b""
        os.lseek(self._descriptor, 0, os.SEEK_END)
        write_all(self._descriptor, data[len(there) :])
        os.fsync(self._descriptor)

    def append(self, data: bytes) -> None:
        """Make these bytes its durable end."""
        if data:
            write_all(self._descriptor, data)
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


class Lock:
    """Held by one process at a time, and let go when it ends, however it does.

    Raises
    ------
    TableError
        Another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE)
        fcntl: Any = None
        with contextlib.suppress(ImportError):  # which Windows does not have
            import fcntl
        try:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise TableError("Another `tclose stream` is at work with this checkpoint.") from None

    def close(self) -> None:
        """Let others hold it."""
        os.close(self._descriptor)
