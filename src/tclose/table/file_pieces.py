"""The bytes of a file in pieces, unpacked if it is gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from tclose.errors import TableError

PIECE = 1 << 20


def open_pieces(path: Path, zipped: bool, most: int) -> Iterator[bytes]:
    """What a file holds, some of it at a time; a gzipped one that expands to more than `most` bytes is refused.

    Raises
    ------
    TableError
        It cannot be read; the message says why, and quotes nothing.
    """
    taken = 0
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            while piece := file.read(PIECE):
                taken += len(piece)
                if zipped and taken > most:
                    break
                yield piece
            else:
                return
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise TableError(f"'{path.name}' cannot be read: {type(error).__name__}.") from None
    raise too_large(path, most)


def too_large(path: Path, most: int) -> TableError:
    """That a file is larger than the memory there is."""
    return TableError(
        f"'{path.name}' cannot be read: it is larger than the memory that this process may take, {most >> 20:,} MiB. "
        "Give it as Parquet."
    )
