"""Standard input as a file: it can be read but once, and some readers go back and forth."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from tclose.errors import TableError
from tclose.table.memory_limit import most_memory

PIECE = 1 << 20


def spool() -> IO[bytes]:
    """All of standard input in a file that only its owner can read, and that goes when it is closed.

    Where the system can, it lies in memory alone, and goes with the process, however that ends.

    Raises
    ------
    TableError
        There is none, it is a terminal, it is empty, or larger than the memory there is.
    """
    given = getattr(sys.stdin, "buffer", None)
    if given is None or sys.stdin.isatty():
        raise TableError("Standard input is a terminal. Pipe a table into it, or name a file.")
    most, n_bytes = most_memory() // 2, 0  # the rest is for what is read of it
    file = _temporary()
    while piece := given.read(PIECE):
        n_bytes += len(piece)
        if n_bytes > most:
            file.close()
            raise TableError(
                f"Standard input is larger than half of the memory that this process may take, {most >> 20:,} MiB. "
                "Write it to a file as Parquet, and name that."
            )
        file.write(piece)
    if not n_bytes:
        file.close()
        raise TableError("Standard input is empty.")
    file.flush()
    return file


def _temporary() -> IO[bytes]:
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        return os.fdopen(os.memfd_create("tclose"), "w+b")
    return tempfile.NamedTemporaryFile(prefix="tclose-", suffix=".input")


def path_of(file: IO[bytes]) -> Path:
    """Where it lies, for readers that want a path, in other processes too."""
    return Path(file.name) if isinstance(file.name, str) else Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
