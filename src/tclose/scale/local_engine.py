"""The local engine: a folder of Parquet files to a verified folder, through the disk, on all processors.

1. read: each piece of the table is coded by its own values and left on disk; the distinct values are gathered.
2. plan: axes, domains and reference of the whole table; rows that are alike are counted, over all pieces, and told
   apart by a number; a tree of cuts, learnt on a sample.
3. route: all rows are sent through the tree and counted: shards that do not hold are joined.
4. partition: each shard is released, measured against the whole table.
5. write: the rows of all shards, in the order of a keyed hash, go to files of a hidden folder.
6. verify: the files are read again, and judged.
7. The certificate is written beside them, and the folder gets its name.

Memory grows with the rows of a piece and of a shard, times the processes, and with the distinct values of columns.
"""

from __future__ import annotations

import logging
import os
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.algorithms import Algorithm, parameters_of
from tclose.pipeline import Listener
from tclose.release.atomic import locked
from tclose.release.certificate import Certificate
from tclose.release.release_folder import check_folder, digest_of_digests, folder_files, staged
from tclose.scale import local_jobs
from tclose.scale.checked_release import (
    FolderRelease,
    certify_folder,
    check_release_in_parts,
    commit_with_record,
    record_of_run,
    write_certificate,
)
from tclose.scale.coded_pieces import GatheredValues
from tclose.scale.input_files import columns_of_files, inputs_of
from tclose.scale.local_jobs import (
    COUNTS,
    SHARDS,
    TREE,
    WHOLE,
    RowRange,
    ShardOutcome,
    TablePiece,
    WorkFolder,
    WrittenFile,
)
from tclose.scale.shard_choice import CellCounts, ChosenShards, choose_shards
from tclose.scale.shard_job import OrderKey
from tclose.scale.shard_plan import (
    FILE_ROWS,
    SHARD_ROWS,
    learn_tree,
    row_key,
    sample_share,
    settle,
)
from tclose.scale.shard_tree import ShardTree
from tclose.scale.whole_table import Counted, WholeTable, add_joints
from tclose.scale.worker_pool import WorkerPool
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.source import file_digest
from tclose.verification.class_buckets import BucketMeasure, judge_parts, merge_measures
from tclose.verification.judge_folder import BUCKET_ROWS, is_measurable
from tclose.verification.judge_release import Judgement
from tclose.verification.release_parts import ReleaseCounts

LOG = logging.getLogger(__name__)
PIECE_ROWS = 1_000_000  # of the table that are read at a time


@dataclass(frozen=True)
class LocalOptions:
    """How much is done at a time; the released rows depend on `shard_rows` alone.

    Attributes
    ----------
    jobs
        Processes; as many as processors if None. With 0 all is done in this process.
    shard_rows, piece_rows, file_rows
        Rows of a shard at most, of a piece that is read, and of a file that is written, about.
    """

    jobs: int | None = None
    shard_rows: int = SHARD_ROWS
    piece_rows: int = PIECE_ROWS
    file_rows: int = FILE_ROWS

    @property
    def sizes(self) -> dict[str, int]:
        """All that are 1 at least."""
        return {"shard_rows": self.shard_rows, "piece_rows": self.piece_rows, "file_rows": self.file_rows}


def anonymize_folder(
    data: Path | str,
    schema: SchemaLike,
    output: Path | str,
    *,
    method: str | Algorithm | None = None,
    seed: int | None = None,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
    options: LocalOptions | None = None,
    record: Path | str | None = None,
) -> FolderRelease:
    """Release a table of any size that lies in Parquet files, through the disk of this machine.

    Parameters
    ----------
    data
        A folder of Parquet files, or one such file.
    schema
        What each column is and what is promised.
    output
        The folder to make. It is there with all its files, verified and with its certificate, or not at all.
    method
        What divides a shard; `tight` with effort `fast` if None.
    seed
        For the plan and the method; the operating system's entropy if None.
    allow_single_class, show_values, progress
        As for `tclose.anonymize`.
    options
        How much is done at a time.
    record
        Where to write the record, if anywhere.

    Raises
    ------
    SchemaError, TableError, InfeasibleError, VerificationError
        Nothing weaker than what is promised is ever written.
    """
    folder, data, options = Path(output), Path(data), options or LocalOptions()
    check_folder(folder, inputs_of(data, schema), None if record is None else Path(record))
    files = folder_files(data) if data.is_dir() else [data]
    names = columns_of_files(files)
    settled, algorithm, drawn = settle(schema, names, method, seed, **options.sizes)
    targets = [folder] if record is None else [folder, Path(record)]
    with locked(targets), staged(folder) as staging:
        (staging / "work").mkdir(mode=0o700)
        (staging / "release").mkdir(mode=0o700)
        with WorkerPool(os.cpu_count() or 1 if options.jobs is None else options.jobs) as pool:
            run = LocalRun(
                WorkFolder(staging / "work"), staging / "release", pool, settled, algorithm, drawn, options,
                progress or (lambda stage, loss, done: None),
            )  # fmt: skip
            made = run.release(files, names, folder.name, allow_single_class, show_values)
        commit_with_record(staging / "release", folder, made.record, record)
    return made


@dataclass(eq=False)
class LocalRun:
    """One run of the local engine, stage by stage."""

    work: WorkFolder
    folder: Path
    pool: WorkerPool
    schema: Schema
    algorithm: Algorithm
    seed: int
    options: LocalOptions
    tell: Listener
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def release(
        self, files: Sequence[Path], names: tuple[str, ...], name: str, allow_single_class: bool, show_values: bool
    ) -> FolderRelease:
        """All stages but the last: afterwards the folder is complete, verified and without its name."""
        parameters = parameters_of(self.algorithm)
        with self.stage("read"):
            pieces, gathered, digest = self.read(files, names)
        with self.stage("plan"):
            whole, n_buckets = self.encode(gathered, names, len(pieces), show_values)
            ranges, sample = self.number(whole, len(pieces), n_buckets)
            tree = self.plan(whole, sample)
        with self.stage("route"):
            shards = self.route(whole, tree, ranges, n_buckets)
        key = OrderKey.drawn()
        n_files = whole.n_rows // self.options.file_rows + 1
        with self.stage("partition"):
            outcomes = self.partition(shards, len(ranges), key, n_files)
        with self.stage("write"):
            written = self.write(shards.n_shards, n_files)
        with self.stage("verify"):
            found, counts, read_back = self.verify(written, key, whole.n_rows)
        loss = sum(each.loss for each in outcomes) / whole.n_rows
        released = sum(each.check for each in outcomes) % 2**64, sum(each.n_rows for each in outcomes)
        read = sum(each.check for each in read_back) % 2**64, counts.n_rows
        check_release_in_parts(found, counts, released, read, loss, allow_single_class)
        digests = digest_of_digests(each.digest for each in read_back)
        fields = certify_folder(found, counts, self.algorithm.name, parameters, name, digests)
        write_certificate(self.folder, fields)
        record = record_of_run(gathered, digest, self.seed, self.algorithm.name, self.seconds, loss, self.notes)
        return FolderRelease(Certificate(fields), record)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        self.tell(name, None, None)
        self._stage, started = name, clock.perf_counter()
        yield
        self.seconds[name] = clock.perf_counter() - started
        LOG.info("%s: %.3f s", name, self.seconds[name])

    def done(self, share: float) -> None:
        """Tell how far a stage is."""
        self.tell(self._stage, None, share)

    def each(self, work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What comes of jobs, in their order."""
        for number, result in enumerate(self.pool.each(work, jobs)):
            self.done((number + 1) / len(jobs))
            yield result

    def read(self, files: Sequence[Path], names: tuple[str, ...]) -> tuple[list[TablePiece], GatheredValues, str]:
        """Code all pieces by themselves; what they have together, and the digest of the files."""
        pieces = [*self._pieces(files)]
        key = row_key(self.seed)
        gathered = GatheredValues(self.schema)
        jobs = [(self.work, piece, names, self.schema, key) for piece in pieces]
        for summary in self.each(local_jobs.code_one, jobs):
            gathered.add(summary)
        gathered.check()
        digest = digest_of_digests(self.each(file_digest, [(file,) for file in files]))
        return pieces, gathered, digest

    def _pieces(self, files: Sequence[Path]) -> Iterator[TablePiece]:
        number = 0
        for file in files:
            problem = f"'{file.name}' is not a readable Parquet file"
            table = pl.scan_parquet(file, glob=False).select(pl.len())
            count = guarded(problem, table.collect).item()
            for offset in range(0, int(count), self.options.piece_rows):
                yield TablePiece(number, file, offset, min(self.options.piece_rows, int(count) - offset))
                number += 1

    def encode(
        self, gathered: GatheredValues, names: tuple[str, ...], n_pieces: int, show_values: bool
    ) -> tuple[WholeTable, int]:
        """The whole table, with its rows in buckets of hashes, and how many buckets there are."""
        whole = WholeTable.of(gathered, names, show_values)
        whole.requirement.check_counts(whole.n_rows, whole.references) if not self.schema.joint else None
        self.work.keep(WHOLE, whole)
        n_buckets = -(-whole.n_rows // self.options.piece_rows)
        joints: list[Counted] | None = None
        for counted in self.each(local_jobs.recode_one, [(self.work, n, n_buckets) for n in range(n_pieces)]):
            joints = add_joints(joints, counted)
        for number in range(n_pieces):
            self.work.remove(f"coded-{number}")
            self.work.remove(f"values-{number}")
        if self.schema.joint:
            whole = whole.with_joints(joints or [])
            self.work.keep(WHOLE, whole)
        whole.requirement.check_counts(whole.n_rows, whole.references)
        return whole, n_buckets

    def number(self, whole: WholeTable, n_pieces: int, n_buckets: int) -> tuple[list[RowRange], pl.DataFrame]:
        """Number rows that are alike; where all rows are then, and a sample of them."""
        share = sample_share(whole.n_rows, self.options.shard_rows)
        ranges: list[RowRange] = []
        samples: list[pl.DataFrame] = []
        jobs = [(self.work, bucket, n_pieces, self.options.piece_rows, share) for bucket in range(n_buckets)]
        for found, sample in self.each(local_jobs.number_one, jobs):
            ranges += found
            samples.append(sample)
        for number in range(n_pieces):
            self.work.remove(f"alike-{number}")
        return ranges, pl.concat(samples)

    def plan(self, whole: WholeTable, sample: pl.DataFrame) -> ShardTree:
        """The tree of cuts."""
        tree = learn_tree(whole, sample, self.seed, self.options.shard_rows)
        self.notes["blends"] = [cut.blend for cut in tree.root.cuts()]
        self.work.keep(TREE, tree)
        return tree

    def route(self, whole: WholeTable, tree: ShardTree, ranges: Sequence[RowRange], n_buckets: int) -> ChosenShards:
        """Send all rows through the tree, and choose shards that hold by their counts."""
        counts: CellCounts | None = None
        for found in self.each(local_jobs.route_one, [(self.work, number, at) for number, at in enumerate(ranges)]):
            counts = found if counts is None else counts.plus(found)
        assert counts is not None
        for bucket in range(n_buckets):
            self.work.remove(f"rows-{bucket}")
        shards = choose_shards(whole, tree, counts, self.options.shard_rows)
        np.save(self.work.path / SHARDS, shards.of_cell)
        self.notes |= shards.notes
        return shards

    def partition(self, shards: ChosenShards, n_ranges: int, key: OrderKey, n_files: int) -> list[ShardOutcome]:
        """Release all shards, the largest first."""
        order = np.argsort(-shards.sizes, kind="stable").tolist()
        jobs = [(self.work, shard, n_ranges, self.algorithm, self.seed, key, n_files) for shard in order]
        outcomes = [*self.each(local_jobs.release_one, jobs)]
        for number in range(n_ranges):
            self.work.remove(f"cells-{number}")
        return outcomes

    def write(self, n_shards: int, n_files: int) -> list[Path]:
        """Write all files; those with rows."""
        jobs = [(self.work, number, n_shards, self.folder) for number in range(n_files)]
        rows = [*self.each(local_jobs.write_one, jobs)]
        for shard in range(n_shards):
            self.work.remove(f"shard-{shard}")
        return [self.folder / local_jobs.file_name(number) for number, count in enumerate(rows) if count]

    def verify(
        self, files: Sequence[Path], key: OrderKey, n_rows: int
    ) -> tuple[Judgement, ReleaseCounts, list[WrittenFile]]:
        """Read all files again, and judge them."""
        n_buckets = n_rows // BUCKET_ROWS + 1
        jobs = [(self.work, file, number, n_buckets, key, self.schema) for number, file in enumerate(files)]
        found: list[WrittenFile] = [*self.each(local_jobs.count_one, jobs)]
        whole = ReleaseCounts.of((each.counts for each in found), self.schema)
        if not is_measurable(whole):
            return judge_parts(whole, BucketMeasure()), whole, found
        self.work.keep(COUNTS, whole)
        for _ in self.each(local_jobs.renumber_one, [(self.work, number) for number in range(len(files))]):
            pass
        measured = self.each(local_jobs.measure_one, [(self.work, len(files), bucket) for bucket in range(n_buckets)])
        return judge_parts(whole, merge_measures(measured)), whole, found


def local_options(**given: int | None) -> LocalOptions:
    """The usual options but for those that are given."""
    return replace(LocalOptions(), **{name: value for name, value in given.items() if value is not None})
