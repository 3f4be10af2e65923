"""Parquet files: tried in another process, then read here, a column at a time.

A page of a damaged file can make the decoder panic, or ask for so much memory that the process is ended. Which one
does cannot be seen from the file's metadata, so every column is decoded once in a process of its own before any is
decoded here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table import parquet_trial
from tclose.table.memory_limit import most_memory

CODES = 8  # bytes that a cell of a column that was read takes from then on, at least: its code, and its copy by class
DECODED = 16  # bytes of a cell while its column is read
PATIENCE, BYTES_A_SECOND = 60.0, 100_000
FileState = tuple[int, int, int]


class ParquetFile(NamedTuple):
    """A file that can be read.

    Attributes
    ----------
    names, n_rows
        Its columns and how many rows it has.
    column
        Reads the column of a name.
    """

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], pl.Series]


def read_parquet(path: Path, *, made_here: bool = False) -> ParquetFile:
    """A Parquet file, whose columns are read when they are asked for.

    Parameters
    ----------
    path
        Where it lies.
    made_here
        This process wrote it just now: it need not be tried in another.

    Raises
    ------
    TableError
        It cannot be read, or was changed meanwhile; of a column, when that is asked for, or together with those
        that were asked for before it is too large for the memory there is.
    """
    problem = f"'{path.name}' is not a readable Parquet file"
    before = _state(path)
    trial = DecodedFile() if made_here else _tried(os.path.abspath(path), before)
    if trial.end == 0:
        raise TableError(f"{problem}.")
    table = guarded(problem, lambda: pl.scan_parquet(path, hive_partitioning=False, glob=False))
    names = guarded(problem, lambda: tuple(table.collect_schema().names()))
    n_rows = guarded(problem, lambda: int(table.select(pl.len()).collect().item()))
    batches = {place: batch for batch in parquet_trial.batches(len(names)) for place in batch}
    places = {name: place for place, name in enumerate(names)}
    asked_for: set[str] = set()

    @lru_cache(maxsize=2)  # as many as threads read at a time; a batch is one column, but of a wide table
    def together(batch: range) -> pl.DataFrame:
        good = [place for place in batch if trial.can(place)]
        return table.select(pl.nth(*good)).collect()  # by their places: polars takes some names for patterns

    def column(name: str) -> pl.Series:
        place = places[name]
        if not trial.can(place):
            raise TableError(
                f"{problem}: column '{name}' cannot be decoded: it is damaged, or has decimals of more than "
                "38 digits. Convert those to text first."
            )
        asked_for.add(name)
        if not made_here:
            _check_memory(path.name, n_rows, len(asked_for))
        batch = batches[place]
        try:
            if len(batch) == 1:
                return guarded(problem, lambda: table.select(pl.nth(place)).collect().to_series())
            return guarded(problem, lambda: together(batch).get_column(name))
        finally:
            if _state(path) != before:
                raise TableError(f"'{path.name}' was changed while it was read. Leave it alone, and start again.")

    return ParquetFile(names, n_rows, column)


def _check_memory(name: str, n_rows: int, n_columns: int) -> None:
    """Refuse a column that leaves no memory for the codes of those that were read: a small file may have many rows."""
    needed, most = n_rows * (n_columns * CODES + DECODED), most_memory()
    if needed > most:
        raise TableError(
            f"'{name}' has {n_rows:,} rows, of which {n_columns:,} column{'s' * (n_columns > 1)} take at least "
            f"{needed >> 20:,} MiB of memory, and this process may take {most >> 20:,} MiB. Leave rows or columns out."
        )


class DecodedFile(NamedTuple):
    """What became of decoding a file elsewhere.

    Attributes
    ----------
    bad
        The places of columns that cannot be decoded.
    end
        How many columns were tried; none from here on is read. None if all were.
    """

    bad: frozenset[int] = frozenset()
    end: int | None = None

    def can(self, place: int) -> bool:
        """Whether the column at this place can be decoded."""
        return place not in self.bad and (self.end is None or place < self.end)


@lru_cache(maxsize=8)
def _tried(path: str, state: FileState) -> DecodedFile:
    """Decode the columns of a file, as it is in this state, in another process.

    Where no process can be started the file is taken as it is: what it raises is still caught, what ends a process
    is not.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RUST_BACKTRACE": "0"}
    command = [sys.executable or "python", "-P", str(parquet_trial.__file__), path]
    silent = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, env=environment, stdin=silent, stdout=subprocess.PIPE, stderr=silent,
            timeout=PATIENCE + state[1] / BYTES_A_SECOND,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return DecodedFile(end=0)
    except OSError:
        return DecodedFile()
    if done.returncode == parquet_trial.NO_POLARS:
        return DecodedFile()
    bad = frozenset(place for place, mark in enumerate(done.stdout) if mark != ord("+"))
    return DecodedFile(bad, len(done.stdout) if done.returncode else None)


def _state(path: Path) -> FileState:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
