"""What the executors of Spark do: functions from Arrow rows to Arrow rows, and small findings for the driver.

A finding, or an error of ours, goes to the driver as data: what Spark makes of an exception quotes a traceback, and may
quote a cell. All is made of the rows, the plan and the seed; a task that is run again gives the same rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tclose.algorithms import Algorithm
from tclose.errors import TableError
from tclose.scale.alike_rows import TIMES, alike, chunks, copies
from tclose.scale.coded_pieces import ROW, GatheredValues, PieceSummary, code_piece, tables_among
from tclose.scale.local_jobs import checksum, file_numbers, in_sample
from tclose.scale.shard_choice import CellCounts, ChosenShards
from tclose.scale.shard_job import OrderKey, release_shard
from tclose.scale.shard_tree import ShardTree
from tclose.scale.whole_table import Counted, WholeTable, add_joints
from tclose.scale.worker_process import told
from tclose.schema.schema import Schema
from tclose.verification.class_buckets import buckets_of, measure_bucket
from tclose.verification.release_parts import PartCounts, ReleaseCounts, read_part, table_among

Batches = Iterable[pa.RecordBatch]
PIECE_ROWS = 200_000  # that are looked at together, whatever the batches that Spark sends
FINDING = "finding binary"  # the schema of what goes to the driver, as Spark writes it
SHARD, BUCKET = "shard", "bucket"
FILE, ORDER, LOSS, FAILURE = "tclose_file", "tclose_order", "tclose_loss", "tclose_failure"


def pieces(batches: Batches) -> Iterator[pl.DataFrame]:
    """The rows of a partition, many at a time."""
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        waiting.append(batch)
        n_rows += batch.num_rows
        if n_rows >= PIECE_ROWS:
            yield as_frame(pa.Table.from_batches(waiting))
            waiting, n_rows = [], 0
    if n_rows:
        yield as_frame(pa.Table.from_batches(waiting))


def as_frame(table: pa.Table) -> pl.DataFrame:
    """Arrow rows as a polars frame."""
    return pl.DataFrame(pl.from_arrow(table))


class PartitionFinder(Protocol):
    """Work on a partition that finds something small."""

    def __call__(self, batches: Batches) -> Any:
        """What the partition adds."""
        ...

    def merge(self, found: list[Any]) -> Any:
        """What several partitions add together."""
        ...


def with_names(work: Callable[[Batches], Any], names: list[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Work on rows whose columns have no names on their way through Spark, which takes dots in them for its own."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from work(batch.rename_columns(names) for batch in batches)

    return task


def findings(work: PartitionFinder) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Let work on a partition send what it finds, or its error."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield _sent(lambda: work(batches))

    return task


def merged(work: PartitionFinder) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Put what was found on many partitions together before it goes to the driver; the first error is passed on."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        outcomes = [pickle.loads(each.as_py()) for batch in batches for each in batch.column(0)]
        if not outcomes:
            return
        errors = [finding for done, finding in outcomes if not done]
        if errors:
            yield _batch((False, errors[0]))
        else:
            yield _sent(lambda: work.merge([finding for _, finding in outcomes]))

    return task


def _sent(work: Callable[[], Any]) -> pa.RecordBatch:
    try:
        return _batch((True, work()))
    except Exception as error:
        return _batch((False, told(error)))


def _batch(outcome: tuple[bool, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"finding": pa.array([pickle.dumps(outcome)], pa.binary())})


@dataclass(frozen=True)
class Statistics:
    """Gathers the distinct values of the columns of a partition, and their counts."""

    schema: Schema
    key: int

    def __call__(self, batches: Batches) -> PieceSummary:
        """What the partition adds to what is known of the whole table."""
        return self.merge([code_piece(frame, self.schema, self.key)[1] for frame in pieces(batches)])

    def merge(self, found: list[PieceSummary]) -> PieceSummary:
        """What several partitions add together."""
        gathered = GatheredValues(self.schema)
        for summary in found:
            gathered.add(summary)
        values = {name: column.values for name, column in gathered.columns.items()}
        counts = {name: column.counts for name, column in gathered.columns.items()}
        return PieceSummary(gathered.n_read, gathered.n_dropped, values, counts, gathered.n_missing)


@dataclass(frozen=True)
class Coding:
    """Codes rows by the values of the whole table, and counts those that are alike."""

    whole: WholeTable
    key: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """The coded rows of a partition, each with how many are like it.

        All was read before. What cannot be read now is of a table that has changed: its rows are left out, and missed
        when all are counted.
        """
        for frame in pieces(batches):
            try:
                rows, summary = code_piece(frame, self.whole.schema, self.key)
                counted = alike(self.whole.recoded(rows, tables_among(summary.values, self.whole.values)))
            except TableError:
                continue
            yield from batches_of({name: pa.array(_signed(counted[name])) for name in counted.columns})


def _signed(column: pl.Series) -> NDArray[np.int64]:
    """Numbers as Spark has them, which knows none without a sign."""
    values = column.to_numpy()
    return values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64)


def unsigned(rows: pl.DataFrame) -> pl.DataFrame:
    """Coded rows with their hashes as they were before they went to Spark."""
    return rows.with_columns(pl.Series(ROW, rows[ROW].to_numpy().view(np.uint64)))


def numbered(batches: Batches) -> Iterator[pl.DataFrame]:
    """The rows of a partition of counted ones, copies told apart, some at a time."""
    for frame in pieces(batches):
        rows = unsigned(frame)
        for first, last in chunks(int(rows[TIMES].sum()), PIECE_ROWS):
            yield copies(rows, first, last)


@dataclass(frozen=True)
class Sampling:
    """Counts the joints of a partition, and takes the rows that fall into the sample."""

    whole: WholeTable
    share: float

    def __call__(self, batches: Batches) -> tuple[list[Counted] | None, list[pl.DataFrame]]:
        """The joints, and the sample, of a partition."""
        joints: list[Counted] | None = None
        chosen: list[pl.DataFrame] = []
        for rows in numbered(batches):
            joints = add_joints(joints, self.whole.count_joints(rows))
            chosen.append(in_sample(rows, self.share))
        return joints, chosen

    def merge(self, found: list[Any]) -> tuple[list[Counted] | None, list[pl.DataFrame]]:
        """The same of several partitions."""
        joints: list[Counted] | None = None
        for counted, _ in found:
            joints = add_joints(joints, counted)
        return joints, [rows for _, chosen in found for rows in chosen]


@dataclass(frozen=True)
class Counting:
    """Sends the rows of a partition through the tree, and counts them."""

    whole: WholeTable
    tree: ShardTree

    def __call__(self, batches: Batches) -> CellCounts | None:
        """The counts of a partition; None if it has no rows."""
        total: CellCounts | None = None
        for rows in numbered(batches):
            table = self.whole.encode(rows)
            counts = CellCounts.of(self.tree.cells(table, rows[ROW].to_numpy()), table, self.tree.n_cells)
            total = counts if total is None else total.plus(counts)
        return total

    def merge(self, found: list[CellCounts | None]) -> CellCounts | None:
        """The counts of several partitions."""
        total: CellCounts | None = None
        for counts in found:
            total = counts if total is None else total if counts is None else total.plus(counts)
        return total


@dataclass(frozen=True)
class Routing:
    """Gives every row, coded, the number of its shard."""

    whole: WholeTable
    tree: ShardTree
    shards: ChosenShards

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """The coded rows of a partition."""
        for rows in numbered(batches):
            cells = self.tree.cells(self.whole.encode(rows), rows[ROW].to_numpy())
            columns = {name: _signed(rows[name]) for name in rows.columns}
            columns[SHARD] = self.shards.of_cell[cells]
            yield from batches_of({name: pa.array(column) for name, column in columns.items()})


def batches_of(columns: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
    """Columns as batches of a size that Spark likes."""
    yield from pa.table(columns).to_batches(max_chunksize=PIECE_ROWS)


@dataclass(frozen=True)
class Releasing:
    """Releases a shard.

    Attributes
    ----------
    target
        The Arrow schema of what is released, as Spark has it.
    """

    whole: WholeTable
    algorithm: Algorithm
    seed: int
    key: OrderKey
    n_files: int
    target: pa.Schema

    def __call__(self, table: pa.Table) -> pa.Table:
        """The released rows of a shard, with where they go and what they lose; or what went wrong."""
        try:
            return self._released(table)
        except Exception as error:
            failure = pa.array([pickle.dumps(told(error))], pa.binary())
            none = {name: pa.nulls(1, self.target.field(name).type) for name in self.target.names if name != FAILURE}
            return pa.table({**none, FAILURE: failure}).select(self.target.names)

    def _released(self, table: pa.Table) -> pa.Table:
        rows = unsigned(as_frame(table).drop(SHARD))
        made = release_shard(self.whole, rows, self.algorithm, self.seed, self.key)
        more = {
            FILE: pa.array(file_numbers(made.order, self.n_files).astype(np.int32)),
            ORDER: pa.array(made.order.view(np.int64)),
            LOSS: pa.array(np.full(len(rows), made.loss / len(rows))),
            FAILURE: pa.nulls(len(rows), pa.binary()),
        }
        shown = {name: made.frame[name].to_arrow() for name in made.frame.columns}
        return pa.table({name: (shown | more)[name] for name in self.target.names}).cast(self.target)


@dataclass(frozen=True)
class CountingRelease:
    """Counts the released rows of a partition for the verifier, and sums them up."""

    schema: Schema
    key: OrderKey

    def __call__(self, batches: Batches) -> tuple[list[PartCounts], int]:
        """What was counted of each piece, and the sum over the rows."""
        counts, check = [], 0
        for frame in pieces(batches):
            counts.append(read_part(frame, self.schema)[1])
            check += checksum(frame, self.key)
        return counts, check % 2**64

    def merge(self, found: list[tuple[list[PartCounts], int]]) -> tuple[list[PartCounts], int]:
        """The same of several partitions."""
        return [each for counts, _ in found for each in counts], sum(check for _, check in found) % 2**64


@dataclass(frozen=True)
class Summing:
    """Sums up the released rows of a partition."""

    key: OrderKey

    def __call__(self, batches: Batches) -> int:
        """The sum, the same in any order of rows."""
        return sum(checksum(frame, self.key) for frame in pieces(batches)) % 2**64

    def merge(self, found: list[int]) -> int:
        """The sum of several partitions."""
        return sum(found) % 2**64


@dataclass(frozen=True)
class Bucketing:
    """Numbers the cells of released rows by the values of the release, and gives every row its bucket."""

    whole: ReleaseCounts
    n_buckets: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """The numbered rows of a partition."""
        for frame in pieces(batches):
            found, _ = read_part(frame, self.whole.schema)
            columns: dict[str, NDArray[Any]] = {}
            for place, (name, column) in enumerate(self.whole.columns.items()):
                columns[str(place)] = table_among(found[name].values, column.values)[found[name].codes]
            columns[BUCKET] = buckets_of(found, self.whole.schema.released_quasi, self.n_buckets)
            yield from batches_of({name: pa.array(column) for name, column in columns.items()})


@dataclass(frozen=True)
class Measuring:
    """Measures the classes of a bucket."""

    whole: ReleaseCounts

    def __call__(self, table: pa.Table) -> pa.Table:
        """What the bucket reaches."""

        def measured() -> Any:
            rows = as_frame(table)
            numbered = {name: rows[str(place)].to_numpy() for place, name in enumerate(self.whole.columns)}
            return measure_bucket(self.whole, numbered)

        return pa.Table.from_batches([_sent(measured)])
