"""Decode every column of a Parquet file in a process that may die of it: run as a script, by its path.

A damaged page can make the reader ask for more memory than there is, which ends the process: no exception can be
caught. It prints `+` for a column that can be decoded and `-` for one that cannot, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

NO_POLARS = 70
BATCHES = 64


def decode(path: str) -> None:
    """Print what becomes of each column, in order."""
    import polars as pl

    table = pl.scan_parquet(path, hive_partitioning=False, glob=False)
    names = table.collect_schema().names()
    table.select(pl.len()).collect()

    def can(places: range) -> bool:
        with contextlib.suppress(BaseException):  # a panic is no Exception; this process has nothing else to do
            table.select(pl.nth(*places)).collect()
            return True
        return False

    for places in batches(len(names)):
        if can(places):
            os.write(1, b"+" * len(places))
        else:
            for place in places:
                os.write(1, b"+" if can(range(place, place + 1)) else b"-")


def batches(n_columns: int) -> list[range]:
    """Columns to decode together: one by one, but of a wide table so many that planning does not take longer."""
    width = max(n_columns // BATCHES, 1)
    return [range(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]


def be_the_first_to_die() -> None:
    """Leave no core behind, which would hold cells, and be the one that is ended when memory runs out."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    be_the_first_to_die()
    try:
        import polars  # noqa: F401
    except ImportError:
        sys.exit(NO_POLARS)
    decode(sys.argv[1])
