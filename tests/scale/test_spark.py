"""The engine on a real Spark in local mode: a verified release or an error of ours, with any number of tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import tclose
from tclose.errors import EngineError, InfeasibleError, SchemaError, TableError, VerificationError
from tclose.schema.schema import Schema
from tests.scale import killing_methods
from tests.scale.folders import as_multiset, put
from tests.scale.test_local_engine import LOOSE, people
from tests.scale.test_whole_table import MIXED, mixed_frame

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def on_spark(spark: Any, frame: pl.DataFrame, n_tasks: int = 3) -> Any:
    return spark.createDataFrame(frame.to_arrow()).repartition(n_tasks)


def by_value(module: Any) -> None:
    """Send what stands in a module to the executors, which cannot import it."""
    from pyspark import cloudpickle

    register: Any = cloudpickle.register_pickle_by_value
    register(module)


def collected(df: Any) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(df.toArrow()))


class Ran(NamedTuple):
    """What came of a run: its rows as a multiset, and the rest."""

    rows: pl.DataFrame
    certificate: Any
    notes: dict[str, Any]


def run_small(spark: Any, n_tasks: int, method: Any) -> Ran:
    from tclose.spark import anonymize

    made = anonymize(on_spark(spark, people(1500), n_tasks), LOOSE, seed=1, method=method, shard_rows=800)
    rows = collected(made.table)
    made.release()
    return Ran(as_multiset(rows), made.certificate, made.record.notes)


@pytest.fixture(scope="module")
def undisturbed(spark: Any) -> Ran:
    """A release in few tasks, none of which failed."""
    return run_small(spark, 2, "mondrian")


def test_a_dataframe_is_released_and_verified(undisturbed: Ran) -> None:
    frame = people(1500)
    assert undisturbed.notes["shards"] >= 2
    assert undisturbed.rows.columns == frame.columns
    assert tclose.verify(undisturbed.rows, LOOSE, certificate=undisturbed.certificate).problems == ()
    assert undisturbed.rows["ill"].sort().equals(frame["ill"].sort())


def test_the_same_rows_with_few_and_many_tasks(spark: Any, undisturbed: Ran) -> None:
    assert run_small(spark, 8, "mondrian").rows.equals(undisturbed.rows)


CONNECTED = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tests.scale.test_spark import run_small
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "3").getOrCreate()
assert "connect" in type(spark).__module__
made = run_small(spark, 3, "mondrian")
made.rows.write_parquet(sys.argv[1])
with open(sys.argv[2], "w") as file:
    json.dump(made.certificate.as_dict(), file)
"""


def test_the_same_rows_by_spark_connect(undisturbed: Ran, tmp_path: Path) -> None:
    """A client of Spark Connect has no Java of its own; here its server is started beside it, in another process."""
    pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio, which is not installed")
    rows, certificate = tmp_path / "rows.parquet", tmp_path / "certificate.json"
    command = [sys.executable, "-c", CONNECTED, str(rows), str(certificate)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert pl.read_parquet(rows).equals(undisturbed.rows)
    assert tclose.verify(undisturbed.rows, LOOSE, certificate=certificate).problems == ()


def test_every_kind_of_column_and_promise(spark: Any) -> None:
    from tclose.spark import anonymize

    keys: dict[str, Any] = MIXED | {"k": 4, "keep_unchecked": True}
    made = anonymize(on_spark(spark, mixed_frame(1200)), keys, seed=1, shard_rows=500, method="mondrian")
    rows = collected(made.table)
    assert tclose.verify(rows, keys, certificate=made.certificate).problems == ()
    made.release()


def test_errors_are_ours_without_a_cell(spark: Any) -> None:
    from tclose.spark import anonymize

    frame = people(1000).with_columns(age=pl.when(pl.col("age") < 20).then(pl.lit("secret")).otherwise(pl.lit("3")))
    with pytest.raises(TableError, match=r"Column 'age': 1 distinct value in [0-9]+ rows are not numbers") as error:
        anonymize(on_spark(spark, frame), LOOSE, seed=1)
    assert "secret" not in str(error.value)
    with pytest.raises(SchemaError, match="unit"):
        anonymize(on_spark(spark, frame), LOOSE | {"unit": "who"})
    with pytest.raises(InfeasibleError, match="asks for more in every"):
        anonymize(on_spark(spark, people(20)), LOOSE | {"k": 30})


def test_a_folder_is_released_and_read_again(spark: Any, tmp_path: Path) -> None:
    """Names may be such that Spark would read them in its own way; one row occurs more often than the cap."""
    from tclose.scale.spark_engine import anonymize_folder_on_spark

    frame = people(2000).with_columns(
        age=pl.when(pl.int_range(2000) < 1800).then(40).otherwise(pl.col("age")),
        job=pl.when(pl.int_range(2000) < 1800).then(pl.lit("cook")).otherwise(pl.col("job")),
    )
    frame = frame.rename({"age": "age.in `years`"})
    keys = LOOSE | {"quasi": {"age.in `years`": {"kind": "numeric"}, "job": {"kind": "categorical"}}}
    data, out = put(tmp_path / "in %20 [a]*", frame), tmp_path / "out {b}"
    made = anonymize_folder_on_spark(
        spark, data, keys, out, seed=1, method="mondrian", shard_rows=800, record=tmp_path / "record.json"
    )
    assert made.record.notes["largest_shard"] <= 800
    assert sorted(os.listdir(tmp_path)) == ["in %20 [a]*", "out {b}", "record.json"]
    verdict = tclose.verify(out, keys)
    assert verdict.problems == ()
    assert verdict.certificate is True
    assert made.certificate["rows"] == len(frame)
    rows = pl.concat([pl.read_parquet(file, glob=False) for file in out.glob("*.parquet")])
    assert rows["ill"].sort().equals(frame["ill"].sort())


def test_files_that_spark_would_read_its_own_way_are_refused(spark: Any, tmp_path: Path) -> None:
    from tclose.scale.spark_engine import anonymize_folder_on_spark

    data = put(tmp_path / "in", people(100))
    people(100).with_columns(town=pl.lit("x")).write_parquet(data / "more.parquet")
    with pytest.raises(TableError, match=r"'more.parquet' has other columns"):
        anonymize_folder_on_spark(spark, data, LOOSE, tmp_path / "out")
    (data / "more.parquet").write_bytes(b"no table")
    with pytest.raises(TableError, match=r"'more.parquet' is not a readable Parquet file"):
        anonymize_folder_on_spark(spark, data, LOOSE, tmp_path / "out")
    other = put(tmp_path / "other", people(100).with_columns(Age=pl.lit("x")))
    with pytest.raises(TableError, match="Columns 'age' and 'Age' differ in case alone"):
        anonymize_folder_on_spark(spark, other, LOOSE, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["in", "other"]


def test_points_in_time_are_released_as_they_were(spark: Any, tmp_path: Path) -> None:
    from tclose.scale.spark_engine import anonymize_folder_on_spark

    hours = pl.datetime(2020, 3, 1) + pl.duration(hours=pl.int_range(600) % 4)
    frame = people(600).with_columns(seen=hours.dt.replace_time_zone("Europe/Berlin"), noted=hours)
    keys = LOOSE | {"keep": ["seen", "noted"], "keep_unchecked": True}
    data, out = put(tmp_path / "in", frame), tmp_path / "out"
    anonymize_folder_on_spark(spark, data, keys, out, seed=1, method="mondrian")
    assert tclose.verify(out, keys).problems == ()
    rows = pl.concat([pl.read_parquet(file, glob=False) for file in out.glob("*.parquet")])
    for name in ("seen", "noted"):
        assert rows[name].dt.epoch().sort().equals(frame[name].dt.epoch().sort())
    assert rows["noted"].dtype == pl.Datetime("us")
    assert rows["seen"].dtype == pl.Datetime("us", "UTC")


def test_types_that_spark_does_not_read_are_named(spark: Any, tmp_path: Path) -> None:
    from tclose.scale.spark_engine import anonymize_folder_on_spark

    day, keys = pl.lit("2020-03-01").str.to_datetime(), LOOSE | {"keep": ["seen"]}
    for name, kept in {"ns": day.cast(pl.Datetime("ns")), "time": day.dt.time()}.items():
        data = put(tmp_path / name, people(100).with_columns(seen=kept))
        with pytest.raises(TableError, match=r"Column 'seen' is of type .+, which Spark does not read"):
            anonymize_folder_on_spark(spark, data, keys, tmp_path / "out")
    data = put(tmp_path / "none", people(100))
    people(10).with_columns(job=pl.lit(None)).write_parquet(data / "more.parquet")
    with pytest.raises(TableError, match=r"Column 'job' has no type in 'more.parquet'"):
        anonymize_folder_on_spark(spark, data, LOOSE, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_arguments_that_are_none_are_refused(spark: Any) -> None:
    from tclose.spark import anonymize

    with pytest.raises(SchemaError, match="shard_rows must be a whole number from 1 up"):
        anonymize(on_spark(spark, people(20)), LOOSE, shard_rows=0)
    with pytest.raises(SchemaError, match="seed must be a whole number from 0 up"):
        anonymize(on_spark(spark, people(20)), LOOSE, seed=-1)
    with pytest.raises(TableError, match="takes a DataFrame of Spark"):
        anonymize(people(20), LOOSE)


def test_files_that_were_written_wrongly_are_not_released(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read again has a row in the place of another: it keeps every promise, and is not what was released."""
    from tclose.scale.spark_engine import SparkRun, anonymize_folder_on_spark

    data, out = put(tmp_path / "in", people(1000)), tmp_path / "out"
    before = SparkRun.verify
    monkeypatch.setattr(SparkRun, "verify", lambda run, shown, key: before(run, shown.limit(999), key))
    with pytest.raises(VerificationError):
        anonymize_folder_on_spark(spark, data, LOOSE, out, seed=1, method="mondrian")
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_workers_killed_meanwhile_lose_no_row(spark: Any, undisturbed: Ran, tmp_path: Path) -> None:
    """The Python worker of every shard is killed the first time: what comes out is what would have come out."""
    by_value(killing_methods)
    assert run_small(spark, 2, killing_methods.KillingMondrian(str(tmp_path))).rows.equals(undisturbed.rows)
    assert len(os.listdir(tmp_path)) >= 2


def test_an_engine_that_gives_up_is_one_sentence(spark: Any) -> None:
    from tclose.spark import anonymize

    by_value(killing_methods)
    with pytest.raises(EngineError, match="Spark ended the work") as error:
        anonymize(on_spark(spark, people(500)), LOOSE, seed=1, method=killing_methods.AlwaysKilling())
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_leaves_nothing_and_no_traceback(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", people(20_000))
    Schema.from_dict(LOOSE).save(tmp_path / "schema.toml")
    arguments = ["anonymize", "in", "-s", "schema.toml", "-o", "out", "--engine", "spark", "--master", "local[1]"]
    command = [sys.executable, "-m", "tclose", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    ) as process:  # fmt: skip
        for _ in range(600):
            if [*tmp_path.glob(".out.*.tmp")]:
                break
            time.sleep(0.1)
        time.sleep(1.0)  # Java is called by then
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert "WARN" not in told
    assert sorted(os.listdir(tmp_path)) == ["in", "schema.toml"]
