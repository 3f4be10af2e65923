"""What the processes of the local engine do: each job reads files of the work folder and leaves others there.

A job that is begun again, after its process was killed, writes the same files with the same content.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import Algorithm
from tclose.errors import TableError
from tclose.release import writing
from tclose.scale.alike_rows import TIMES, alike, chunks, copies, joined
from tclose.scale.coded_pieces import ROW, PieceSummary, code_piece, tables_among
from tclose.scale.row_keys import as_shares, hash_rows, mixed
from tclose.scale.shard_choice import CellCounts
from tclose.scale.shard_job import ORDER, OrderKey, release_shard
from tclose.scale.shard_tree import ShardTree
from tclose.scale.whole_table import Counted, WholeTable
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.source import file_digest
from tclose.verification.class_buckets import BucketMeasure
from tclose.verification.judge_folder import measure_spilled, renumber_part, spill_part
from tclose.verification.release_parts import PartCounts

SAMPLE_SALT, CHECK_SALT, BUCKET_SALT = 2, 3, 5
WHOLE, TREE, SHARDS, COUNTS = "whole.pickle", "tree.pickle", "shards.npy", "counts.pickle"


class TablePiece(NamedTuple):
    """Some rows of a file, in the order of the table.

    Attributes
    ----------
    number
        Its own.
    file, offset, n_rows
        Where they are.
    """

    number: int
    file: Path
    offset: int
    n_rows: int


class RowRange(NamedTuple):
    """Some rows of a bucket, copies counted.

    Attributes
    ----------
    bucket
        Of hashes of rows.
    first, last
        Where they are among all copies of the bucket.
    """

    bucket: int
    first: int
    last: int


@dataclass(frozen=True)
class WorkFolder:
    """A private folder with all that jobs leave for each other."""

    path: Path

    def keep(self, name: str, thing: object) -> None:
        """Leave something for all jobs to come."""
        (self.path / name).write_bytes(pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))

    def kept(self, name: str) -> Any:
        """What was left, read once a process."""
        return _kept(self.path / name, (self.path / name).stat().st_mtime_ns)

    def write(self, name: str, frame: pl.DataFrame) -> None:
        """Leave rows of numbers: under their name only when they are all there."""
        made = self.path / f"{name}.making.npy"
        np.save(made, frame.to_numpy(structured=True))
        os.replace(made, self.path / name)

    def rows(self, name: str) -> LeftRows:
        """Rows that were left, read from disk when they are looked at."""
        return LeftRows(np.load(self.path / name, mmap_mode="r"))

    def remove(self, name: str) -> None:
        """Remove what nobody needs any more."""
        (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class LeftRows:
    """Rows of numbers on disk."""

    array: NDArray[Any]

    def __getitem__(self, at: slice) -> pl.DataFrame:
        """Some neighbouring rows."""
        part = self.array[at]
        return pl.DataFrame({name: np.ascontiguousarray(part[name]) for name in part.dtype.names or ()})


@lru_cache(maxsize=4)
def _kept(path: Path, _state: int) -> Any:
    return pickle.loads(path.read_bytes())


def read_piece(piece: TablePiece, names: tuple[str, ...]) -> pl.DataFrame:
    """The rows of a piece, all columns."""
    problem = f"'{piece.file.name}' is not a readable Parquet file"
    table = guarded(problem, lambda: pl.scan_parquet(piece.file, hive_partitioning=False, glob=False))
    frame = guarded(problem, lambda: table.slice(piece.offset, piece.n_rows).collect())
    if len(frame) != piece.n_rows or {*frame.columns} != {*names}:
        raise TableError(f"'{piece.file.name}' was changed while it was read. Leave it alone, and start again.")
    return frame


def code_one(work: WorkFolder, piece: TablePiece, names: tuple[str, ...], schema: Schema, key: int) -> PieceSummary:
    """Code a piece by its own values."""
    rows, summary = code_piece(read_piece(piece, names), schema, key)
    work.write(f"coded-{piece.number}", rows)
    work.keep(f"values-{piece.number}", summary.values)
    return summary


def recode_one(work: WorkFolder, number: int, n_buckets: int) -> list[Counted]:
    """Code a piece by the values of the whole table, count alike rows in buckets of their hashes, and count joints."""
    whole: WholeTable = work.kept(WHOLE)
    values: dict[str, pl.Series] = pickle.loads((work.path / f"values-{number}").read_bytes())
    rows = whole.recoded(work.rows(f"coded-{number}")[:], tables_among(values, whole.values))
    counted = alike(rows)
    buckets = file_numbers(mixed(counted[ROW].to_numpy(), BUCKET_SALT), n_buckets)
    work.write(f"alike-{number}", counted[np.argsort(buckets, kind="stable")])
    starts = np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=n_buckets))])
    np.save(work.path / f"alike-{number}.starts.npy", starts)
    return whole.count_joints(rows)


def number_one(
    work: WorkFolder, bucket: int, n_pieces: int, size: int, share: float
) -> tuple[list[RowRange], pl.DataFrame]:
    """Count rows of a bucket that are alike over all pieces; where its copies are, and those that are in the sample."""
    parts = []
    for number in range(n_pieces):
        starts = np.load(work.path / f"alike-{number}.starts.npy", mmap_mode="r")
        parts.append(work.rows(f"alike-{number}")[int(starts[bucket]) : int(starts[bucket + 1])])
    rows = joined(parts)
    work.write(f"rows-{bucket}", rows)
    ranges = [RowRange(bucket, *each) for each in chunks(int(rows[TIMES].sum()), size)]
    samples = [in_sample(copies(rows, each.first, each.last), share) for each in ranges]
    return ranges, pl.concat(samples or [copies(rows, 0, 0)])


def in_sample(rows: pl.DataFrame, share: float) -> pl.DataFrame:
    """The rows that a plan is learnt on: about a share of them, drawn by their hashes."""
    return rows.filter(pl.Series(as_shares(mixed(rows[ROW].to_numpy(), SAMPLE_SALT)) < share))


def route_one(work: WorkFolder, number: int, at: RowRange) -> CellCounts:
    """Send some rows of a bucket to the cells of the tree, and count them."""
    whole: WholeTable = work.kept(WHOLE)
    tree: ShardTree = work.kept(TREE)
    rows = copies(work.rows(f"rows-{at.bucket}")[:], at.first, at.last)
    table = whole.encode(rows)
    cells = tree.cells(table, rows[ROW].to_numpy())
    counts = CellCounts.of(cells, table, tree.n_cells)
    work.write(f"cells-{number}", rows[np.argsort(cells, kind="stable")])
    np.save(work.path / f"cells-{number}.starts.npy", np.concatenate([[0], np.cumsum(counts.sizes)]))
    return counts


class ShardOutcome(NamedTuple):
    """What came of a shard.

    Attributes
    ----------
    n_rows, n_classes
        Its rows, and the classes that the method made.
    loss
        The loss of its rows, summed.
    check
        A sum over its released rows that does not depend on their order.
    """

    n_rows: int
    n_classes: int
    loss: float
    check: int


def release_one(
    work: WorkFolder, shard: int, n_pieces: int, algorithm: Algorithm, seed: int, key: OrderKey, n_files: int
) -> ShardOutcome:
    """Release a shard; its rows are left in the order in which they go to files."""
    whole: WholeTable = work.kept(WHOLE)
    cells = np.flatnonzero(np.load(work.path / SHARDS, mmap_mode="r") == shard)
    rows = pl.concat([_rows_of_cells(work, number, cells) for number in range(n_pieces)], rechunk=True)
    released = release_shard(whole, rows, algorithm, seed, key)
    order = np.argsort(released.order, kind="stable")
    columns = [CodedColumn.of(column) for column in released.frame]
    coded = {str(place): column.codes for place, column in enumerate(columns)}  # names may be any
    check = checksum(released.frame, key)
    files = file_numbers(released.order[order], n_files)
    work.write(f"shard-{shard}", pl.DataFrame({**coded, ORDER: released.order})[order])
    work.keep(f"shard-{shard}.values", [column.values for column in columns])
    np.save(work.path / f"shard-{shard}.starts.npy", np.searchsorted(files, np.arange(n_files + 1)))
    return ShardOutcome(len(rows), released.n_classes, released.loss, check)


def _rows_of_cells(work: WorkFolder, number: int, cells: NDArray[np.int64]) -> pl.DataFrame:
    starts, rows = np.load(work.path / f"cells-{number}.starts.npy", mmap_mode="r"), work.rows(f"cells-{number}")
    runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
    spans = [(int(starts[run[0]]), int(starts[run[-1] + 1])) for run in runs if len(run)]
    return pl.concat([rows[0:0], *(rows[first:last] for first, last in spans if last > first)])


def file_numbers(order: NDArray[np.uint64], n_files: int) -> NDArray[np.int64]:
    """The file that each row goes to: rows in the order of their keys, cut into as many equal stretches of keys.

    Examples
    --------
    >>> file_numbers(np.array([0, 2**63, 2**64 - 1], np.uint64), 2).tolist()
    [0, 1, 1]
    """
    return ((order >> np.uint64(32)) * np.uint64(n_files) >> np.uint64(32)).astype(np.int64)


def checksum(frame: pl.DataFrame, key: OrderKey) -> int:
    """A sum over the rows of a released frame, the same in any order; nobody who lacks the key can aim at it."""
    return int(mixed(hash_rows(frame, key.content), CHECK_SALT).sum(dtype=np.uint64))


def write_one(work: WorkFolder, number: int, n_shards: int, folder: Path) -> int:
    """Write one file of the release: the rows of all shards that go there, in the order of their keys."""
    whole: WholeTable = work.kept(WHOLE)
    frames, orders = [], []
    for shard in range(n_shards):
        starts = np.load(work.path / f"shard-{shard}.starts.npy", mmap_mode="r")
        values = pickle.loads((work.path / f"shard-{shard}.values").read_bytes())
        rows = work.rows(f"shard-{shard}")[int(starts[number]) : int(starts[number + 1])]
        columns = [known.gather(rows[str(place)].to_numpy()) for place, known in enumerate(values)]
        frames.append(
            pl.DataFrame([column.alias(name) for column, name in zip(columns, whole.released_names, strict=True)])
        )
        orders.append(rows[ORDER].to_numpy())
    frame = pl.concat(frames)[np.argsort(np.concatenate(orders), kind="stable")]
    if len(frame):
        writing.write_frame(frame, folder / file_name(number), ".parquet", whole.schema)
    return len(frame)


def file_name(number: int) -> str:
    """What a file of a release is called."""
    return f"part-{number:05d}.parquet"


class WrittenFile(NamedTuple):
    """What was found in a file that was written.

    Attributes
    ----------
    counts
        What the verifier counted.
    digest
        The SHA-256 of its bytes.
    check
        The sum over its rows.
    """

    counts: PartCounts
    digest: str
    check: int


def count_one(work: WorkFolder, file: Path, number: int, n_buckets: int, key: OrderKey, schema: Schema) -> WrittenFile:
    """Read a file that was written, and count it for the verifier."""
    frame = pl.read_parquet(file, hive_partitioning=False, glob=False)
    counts = spill_part(frame, schema, n_buckets, _counts_of(work, number))
    return WrittenFile(counts, file_digest(file), checksum(frame, key))


def renumber_one(work: WorkFolder, number: int) -> None:
    """Number the cells of a file by the values of the release."""
    renumber_part(work.kept(COUNTS), _counts_of(work, number))


def measure_one(work: WorkFolder, n_files: int, bucket: int) -> BucketMeasure:
    """Measure the classes of a bucket."""
    return measure_spilled(work.kept(COUNTS), [_counts_of(work, number) for number in range(n_files)], bucket)


def _counts_of(work: WorkFolder, number: int) -> Path:
    return work.path / f"part-{number}.counts"
