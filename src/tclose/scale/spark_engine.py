"""The engine on Apache Spark: the same plan and the same jobs, on a DataFrame of the user's session.

Every step is a pass over the DataFrame by `mapInArrow`, or a group by an explicit number (`shard`, `bucket`) whose rows
are worked on together by `applyInArrow`. Nothing is drawn by the engine, and no number of a row or a partition is used.
"""

from __future__ import annotations

import logging
import os
import pickle
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tclose.algorithms import Algorithm, parameters_of
from tclose.algorithms.control import check_watching
from tclose.errors import EngineError, MissingExtraError, TableError
from tclose.pipeline import Listener
from tclose.release.atomic import locked
from tclose.release.certificate import Certificate
from tclose.release.record import Record
from tclose.release.release_folder import check_folder, digest_of_digests, folder_files, staged
from tclose.scale.alike_rows import TIMES
from tclose.scale.checked_release import (
    FolderRelease,
    certify_folder,
    check_release_in_parts,
    commit_with_record,
    record_of_run,
    write_certificate,
)
from tclose.scale.coded_pieces import ROW, GatheredValues, coded_names
from tclose.scale.input_files import as_spark_path, check_read_by_spark, columns_of_files, inputs_of
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
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_flags, check_order
from tclose.table.source import file_digest
from tclose.verification.class_buckets import BucketMeasure, judge_parts, merge_measures
from tclose.verification.judge_folder import BUCKET_ROWS, is_measurable
from tclose.verification.judge_release import Judgement
from tclose.verification.release_parts import PartCounts, ReleaseCounts

LOG = logging.getLogger(__name__)
MERGED = 4  # tasks that put findings of all others together, before they go to the driver
CHANGED = "The table was changed while it was read. Leave it alone, and start again."
STOPPED = (
    "Spark ended the work on the table; nothing was released. Set TCLOSE_DEBUG=1 to have its message raised instead."
)


def need_spark() -> None:
    """Raise if Spark is not there."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "An engine on Spark") from None


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """A verified release on Spark.

    Attributes
    ----------
    table
        The released rows: a DataFrame of the same session, kept by Spark until `release` is called.
    certificate
        What is promised and was reached; publishable.
    record
        Seed, timings and the loss; not publishable.
    """

    table: Any
    certificate: Certificate
    record: Record
    _kept: Any = field(repr=False)

    def release(self) -> None:
        """Let Spark forget the released rows; they must have been written by then."""
        self._kept.unpersist()


def anonymize_dataframe(
    df: Any,
    schema: SchemaLike,
    *,
    method: str | Algorithm | None = None,
    seed: int | None = None,
    shard_rows: int = SHARD_ROWS,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
) -> SparkRelease:
    """Turn a DataFrame of Spark into a verified release; see `tclose.spark.anonymize`."""
    check_order(df, schema, "spark.anonymize")
    check_watching(progress)
    check_flags(allow_single_class=allow_single_class, show_values=show_values)
    need_spark()
    if not hasattr(df, "mapInArrow"):
        raise TableError(
            f"spark.anonymize takes a DataFrame of Spark, and this is a {type(df).__name__}. Make one of it, or use "
            "`tclose.anonymize`."
        )
    run = SparkRun.of(df, schema, method, seed, shard_rows, progress)
    return run.release(allow_single_class, show_values)


def anonymize_folder_on_spark(
    session: Any,
    data: Path | str,
    schema: SchemaLike,
    output: Path | str,
    *,
    method: str | Algorithm | None = None,
    seed: int | None = None,
    shard_rows: int = SHARD_ROWS,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
    record: Path | str | None = None,
) -> FolderRelease:
    """Release a folder of Parquet files on a session of Spark; the parameters are those of `anonymize_folder`.

    Both folders lie on a file system that driver and executors share, under the same path.
    """
    folder, data = Path(output), Path(data)
    check_folder(folder, inputs_of(data, schema), None if record is None else Path(record))
    files = folder_files(data) if data.is_dir() else [data]
    targets = [folder] if record is None else [folder, Path(record)]
    with locked(targets), staged(folder) as staging:
        check_cases(columns_of_files(files))
        check_read_by_spark(files)
        with as_engine_errors():
            df = session.read.parquet(*(as_spark_path(file, pattern=True) for file in files))
        run = SparkRun.of(df, schema, method, seed, shard_rows, progress)
        digest = digest_of_digests(map(file_digest, files))
        fields, noted = run.release_folder(staging / "release", folder.name, digest, allow_single_class, show_values)
        write_certificate(staging / "release", fields)
        commit_with_record(staging / "release", folder, noted, record)
    return FolderRelease(Certificate(fields), noted)


@contextmanager
def as_engine_errors() -> Iterator[None]:
    """Turn what Spark raises into a sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException):
        if os.environ.get("TCLOSE_DEBUG"):
            raise
        raise EngineError(STOPPED) from None


def check_cases(names: Sequence[str]) -> None:
    """Refuse columns that Spark would take for one.

    Raises
    ------
    TableError
        Two differ in case alone.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise TableError(
                f"Columns '{other}' and '{name}' differ in case alone, and Spark does not tell them apart. Rename one, "
                "or use --engine local."
            )


@dataclass(eq=False)
class SparkRun:
    """One run on Spark, stage by stage."""

    df: Any
    schema: Schema
    algorithm: Algorithm
    seed: int
    shard_rows: int
    tell: Listener
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        df: Any,
        schema: SchemaLike,
        method: str | Algorithm | None,
        seed: int | None,
        shard_rows: int,
        progress: Listener | None,
    ) -> SparkRun:
        """Check what can be checked before any row is read."""
        settled, algorithm, drawn = settle(schema, tuple(df.columns), method, seed, shard_rows=shard_rows)
        return cls(df, settled, algorithm, drawn, shard_rows, progress or (lambda stage, loss, done: None))

    def release(self, allow_single_class: bool, show_values: bool) -> SparkRelease:
        """All stages."""
        parameters = parameters_of(self.algorithm)
        key = OrderKey.drawn()
        kept, whole, gathered = self.released(key, show_values)
        try:
            shown = only_released(kept, whole)
            with self.stage("verify"):
                found, counts, check = self.verify(shown, key)
                loss, n_rows = self.totals(kept)
            check_release_in_parts(found, counts, (check, n_rows), (check, counts.n_rows), loss, allow_single_class)
            if n_rows != whole.n_rows:
                raise EngineError(STOPPED)
        except BaseException:
            kept.unpersist()
            raise
        fields = certify_folder(found, counts, self.algorithm.name, parameters, "", "")
        for name in ("file", "sha256", "formulas"):
            del fields[name]
        return SparkRelease(shown, Certificate(fields), self.record(gathered, loss, ""), kept)

    def release_folder(
        self, folder: Path, name: str, digest: str, allow_single_class: bool, show_values: bool
    ) -> tuple[dict[str, Any], Record]:
        """All stages; the release is written to a folder, read again from there, judged and certified."""
        parameters = parameters_of(self.algorithm)
        key = OrderKey.drawn()
        kept, whole, gathered = self.released(key, show_values)
        try:
            with self.stage("write"):
                shown = only_released(kept, whole)
                check = self.summed(shown, key)
                loss, n_rows = self.totals(kept)
                shown.write.parquet(as_spark_path(folder, pattern=False))
        finally:
            kept.unpersist()
        for beside in [*folder.glob("_*"), *folder.glob(".*")]:  # what Spark notes of its own
            beside.unlink()
        with self.stage("verify"):
            written = self.df.sparkSession.read.parquet(as_spark_path(folder, pattern=True))
            found, counts, read = self.verify(written, key)
        check_release_in_parts(found, counts, (check, n_rows), (read, counts.n_rows), loss, allow_single_class)
        if n_rows != whole.n_rows:
            raise EngineError(STOPPED)
        digests = digest_of_digests(map(file_digest, folder_files(folder)))
        fields = certify_folder(found, counts, self.algorithm.name, parameters, name, digests)
        return fields, self.record(gathered, loss, digest)

    def summed(self, shown: Any, key: OrderKey) -> int:
        """A sum over released rows, which does not depend on their order."""
        from tclose.scale.spark_jobs import Summing

        return int(sum(self.findings(shown, Summing(key))) % 2**64)

    def released(self, key: OrderKey, show_values: bool) -> tuple[Any, WholeTable, GatheredValues]:
        """The released rows, kept by Spark, with where they go; the whole table; and its values."""
        from pyspark import StorageLevel

        with self.stage("read"):
            gathered = self.gather()
            whole = WholeTable.of(gathered, tuple(self.df.columns), show_values)
            rows = self.code(whole)
        try:
            with self.stage("plan"):
                whole, sample = self.sample(whole, rows)
                tree = learn_tree(whole, sample, self.seed, self.shard_rows)
                self.notes["blends"] = [cut.blend for cut in tree.root.cuts()]
            with self.stage("route"):
                shards = self.choose(whole, tree, rows)
            with self.stage("partition"):
                made = self.partition(whole, tree, shards, key, rows).persist(StorageLevel.DISK_ONLY)
                self.check_failures(made)
        finally:
            rows.unpersist()
        return made, whole, gathered

    def record(self, gathered: GatheredValues, loss: float, digest: str) -> Record:
        """What is noted for whoever releases."""
        return record_of_run(gathered, digest, self.seed, self.algorithm.name, self.seconds, loss, self.notes)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, and turn what Spark raises in it into a sentence."""
        self.tell(name, None, None)
        started = clock.perf_counter()
        with as_engine_errors():
            yield
        self.seconds[name] = clock.perf_counter() - started
        LOG.info("%s: %.3f s", name, self.seconds[name])

    def findings(self, df: Any, work: Any) -> Iterator[Any]:
        """What work finds on the partitions of a DataFrame, those of many together, or raises."""
        from tclose.scale import spark_jobs

        found = map_rows(df, spark_jobs.findings(work), spark_jobs.FINDING)
        yield from received(found.repartition(MERGED).mapInArrow(spark_jobs.merged(work), spark_jobs.FINDING))

    def gather(self) -> GatheredValues:
        """The distinct values of all columns, and their counts."""
        from tclose.scale.spark_jobs import Statistics

        gathered = GatheredValues(self.schema)
        for summary in self.findings(self.df, Statistics(self.schema, row_key(self.seed))):
            gathered.add(summary)
        gathered.check()
        return gathered

    def code(self, whole: WholeTable) -> Any:
        """The rows coded, those that are alike as one with how many they are; kept by Spark."""
        from pyspark import StorageLevel
        from pyspark.sql.functions import col
        from pyspark.sql.functions import sum as summed

        from tclose.scale.spark_jobs import Coding

        names = [f"`{name}`" for name in (*self.numbers, ROW)]
        schema = ", ".join(f"{name} long" for name in (*names, TIMES))
        coded = map_rows(self.df, Coding(whole, row_key(self.seed)), schema)
        alike = coded.groupBy(*map(col, names)).agg(summed(TIMES).alias(TIMES))
        return alike.persist(StorageLevel.DISK_ONLY)

    @property
    def numbers(self) -> list[str]:
        """The names of the coded columns."""
        return [str(place) for place in range(len(coded_names(self.schema)))]

    def sample(self, whole: WholeTable, rows: Any) -> tuple[WholeTable, pl.DataFrame]:
        """The whole table with its joints, and a sample of its rows."""
        from tclose.scale.spark_jobs import Sampling

        joints: list[Counted] | None = None
        samples: list[pl.DataFrame] = []
        for counted, chosen in self.findings(rows, Sampling(whole, sample_share(whole.n_rows, self.shard_rows))):
            samples += chosen
            joints = add_joints(joints, counted)
        if joints is None:
            raise TableError(CHANGED)
        whole = whole.with_joints(joints)
        whole.requirement.check_counts(whole.n_rows, whole.references)
        return whole, pl.concat(samples)

    def choose(self, whole: WholeTable, tree: ShardTree, rows: Any) -> ChosenShards:
        """The shards, by the counts of all rows."""
        from tclose.scale.spark_jobs import Counting

        counts: CellCounts | None = None
        for found in self.findings(rows, Counting(whole, tree)):
            counts = found if counts is None else counts if found is None else counts.plus(found)
        if counts is None or int(counts.sizes.sum()) != whole.n_rows:
            raise TableError(CHANGED)
        shards = choose_shards(whole, tree, counts, self.shard_rows)
        self.notes |= shards.notes
        return shards

    def partition(self, whole: WholeTable, tree: ShardTree, shards: ChosenShards, key: OrderKey, rows: Any) -> Any:
        """All shards released, rows in the order of their keys, spread over files; not computed yet."""
        from tclose.scale.spark_jobs import FILE, ORDER, SHARD, Releasing, Routing

        n_files = whole.n_rows // FILE_ROWS + 1
        coded = ", ".join(f"`{name}` long" for name in (*self.numbers, ROW, SHARD))
        routed = map_rows(rows, Routing(whole, tree, shards), coded)
        target = released_schema(whole)
        releasing = Releasing(whole, self.algorithm, self.seed, key, n_files, arrow_schema(target))
        made = routed.groupBy(SHARD).applyInArrow(as_function(releasing), target)
        return made.repartition(n_files, FILE).sortWithinPartitions(ORDER)

    def check_failures(self, made: Any) -> None:
        """Compute the released rows, and raise what a shard could not do."""
        from tclose.scale.spark_jobs import FAILURE

        for row in made.where(f"{FAILURE} is not null").select(FAILURE).limit(1).collect():
            raise pickle.loads(bytes(row[0]))

    def totals(self, made: Any) -> tuple[float, int]:
        """The loss of all rows, and how many they are."""
        from tclose.scale.spark_jobs import LOSS

        row = made.selectExpr(f"sum({LOSS})", "count(*)").collect()[0]
        return float(row[0]) / max(int(row[1]), 1), int(row[1])

    def verify(self, shown: Any, key: OrderKey) -> tuple[Judgement, ReleaseCounts, int]:
        """Judge released rows on the engine: by what they show, grouped anew. Also a sum over them."""
        from tclose.scale.spark_jobs import BUCKET, FINDING, Bucketing, CountingRelease, Measuring

        parts: list[PartCounts] = []
        check = 0
        for counts, partial_sum in self.findings(shown, CountingRelease(self.schema, key)):
            parts += counts
            check = (check + partial_sum) % 2**64
        whole = ReleaseCounts.of(parts, self.schema)
        if not is_measurable(whole):
            return judge_parts(whole, BucketMeasure()), whole, check
        n_buckets = whole.n_rows // BUCKET_ROWS + 1
        columns = ", ".join(f"`{name}` long" for name in (*map(str, range(len(whole.columns))), BUCKET))
        numbered = map_rows(shown, Bucketing(whole, n_buckets), columns)
        measured = numbered.groupBy(BUCKET).applyInArrow(as_function(Measuring(whole)), FINDING)
        return judge_parts(whole, merge_measures(received(measured))), whole, check


def map_rows(df: Any, work: Callable[[Any], Any], schema: str) -> Any:
    """What work makes of the rows of each partition; columns may have any names."""
    from tclose.scale.spark_jobs import with_names

    plain = df.toDF(*map(str, range(len(df.columns))))
    return plain.mapInArrow(with_names(work, list(df.columns)), schema)


def only_released(made: Any, whole: WholeTable) -> Any:
    """Released rows without what says where they go."""
    from pyspark.sql.functions import col

    return made.select(*(col(f"`{name.replace('`', '``')}`") for name in whole.released_names))


def received(df: Any) -> Iterator[Any]:
    """Findings that tasks have sent; the first error among them is raised."""
    for row in df.collect():
        done, finding = pickle.loads(bytes(row[0]))
        if not done:
            raise finding
        yield finding


def as_function(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Work as a plain function of one argument, which Spark asks for."""

    def apply(table: Any) -> Any:
        return work(table)

    return apply


def released_schema(whole: WholeTable) -> Any:
    """The released columns, and those that say where a row goes, as Spark has them."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import BinaryType, DoubleType, IntegerType, LongType, StructField, StructType

    from tclose.scale.spark_jobs import FAILURE, FILE, LOSS, ORDER

    empty = pl.DataFrame(schema=whole.released_types).to_arrow()
    taken = {FILE, ORDER, LOSS, FAILURE} & {*whole.released_names}
    if taken:
        raise TableError("Columns that begin with 'tclose_' are used by the engine. Rename them.")
    own = [(FILE, IntegerType()), (ORDER, LongType()), (LOSS, DoubleType()), (FAILURE, BinaryType())]
    return StructType([*from_arrow_schema(empty.schema).fields, *(StructField(name, kind) for name, kind in own)])


def arrow_schema(target: Any) -> Any:
    """The Arrow types that Spark expects for its own; points in time are those of UTC, whatever the session's zone."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(target, timezone="UTC")
