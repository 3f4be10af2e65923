"""Tables in folders, and what a release of one holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tclose.scale.checked_release import FolderRelease
from tclose.scale.local_engine import LocalOptions, anonymize_folder
from tclose.schema.schema import Schema

SMALL = LocalOptions(jobs=0, shard_rows=800, piece_rows=700, file_rows=1000)


def put(folder: Path, frame: pl.DataFrame, n_files: int = 3) -> Path:
    """Write a table as some files."""
    folder.mkdir()
    step = -(-len(frame) // n_files)
    for number in range(n_files):
        frame.slice(number * step, step).write_parquet(folder / f"{number}.parquet", row_group_size=500)
    return folder


def census_folder(folder: Path, n: int, seed: int = 1) -> tuple[Path, Schema, pl.DataFrame]:
    frame, schema = tclose.datasets.census(n, seed=seed)
    table = pl.DataFrame(frame)
    return put(folder, table), schema, table


def released(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))])


def as_multiset(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in one order, whatever order they were in."""
    return frame.sort(frame.columns)


def release(tmp_path: Path, schema: Any, frame: pl.DataFrame, **given: Any) -> tuple[FolderRelease, Path]:
    data = put(tmp_path / "in", frame)
    out = tmp_path / "out"
    arguments: dict[str, Any] = {"seed": 1, "options": SMALL, "method": "mondrian"} | given
    return anonymize_folder(data, schema, out, **arguments), out
