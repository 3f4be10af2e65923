"""Arrow IPC: files (Feather version 2) and streams."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tclose.errors import TableError
from tclose.table.formats.tried_files import read_tried

_FILE, _OLD = b"ARROW1", b"FEA1"


def read_arrow(path: Path, *, made_here: bool = False) -> pl.DataFrame:
    """A table from a file or a stream, whichever it is; it is tried in another process."""
    with path.open("rb") as file:
        if file.read(len(_OLD)) == _OLD:
            raise TableError(
                f"'{path.name}' is a Feather file of version 1, which is no longer read. Write it as version 2."
            )
    return read_tried(f"'{path.name}' is not a readable Arrow file", path, load_arrow, made_here=made_here)


def load_arrow(path: str) -> pl.DataFrame:
    """Decode it in this process."""
    with open(path, "rb") as file:
        is_file = file.read(len(_FILE)) == _FILE
    return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)
