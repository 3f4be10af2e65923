"""What executors do, without a Spark: Arrow batches in, Arrow batches out, findings and errors as data."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

pa = pytest.importorskip("pyarrow")

from tclose.algorithms import find  # noqa: E402
from tclose.errors import TableError  # noqa: E402
from tclose.scale import spark_jobs  # noqa: E402
from tclose.scale.coded_pieces import gather  # noqa: E402
from tclose.scale.shard_choice import ChosenShards  # noqa: E402
from tclose.scale.shard_job import OrderKey  # noqa: E402
from tclose.scale.shard_plan import learn_tree  # noqa: E402
from tclose.scale.whole_table import WholeTable  # noqa: E402
from tclose.schema.schema import Schema  # noqa: E402
from tests.scale.test_local_engine import LOOSE, people  # noqa: E402

KEY = OrderKey(1, (2, 3))


def batches(frame: pl.DataFrame, size: int = 300) -> list[Any]:
    return list(frame.to_arrow().to_batches(max_chunksize=size))


def found(batch: Any) -> Any:
    done, finding = pickle.loads(batch.column(0)[0].as_py())
    if not done:
        raise finding
    return finding


@pytest.fixture(scope="module")
def whole() -> WholeTable:
    schema = Schema.from_dict(LOOSE)
    task = spark_jobs.findings(spark_jobs.Statistics(schema, 7))
    halves = [people(1000), people(1000, seed=1)]
    summaries = [found(next(task(batches(half)))) for half in halves]
    return WholeTable.of(gather(summaries, schema), halves[0].columns)


def test_an_error_of_ours_is_data_without_a_cell() -> None:
    task = spark_jobs.findings(spark_jobs.Statistics(Schema.from_dict(LOOSE), 7))
    with pytest.raises(TableError, match="The schema names columns"):
        found(next(task(batches(people(10).drop("job")))))


def test_an_empty_partition_has_nothing_to_say(whole: WholeTable) -> None:
    assert spark_jobs.Sampling(whole, 1.0)([]) == (None, [])
    assert spark_jobs.Statistics(whole.schema, 7)([]).values == {}
    assert spark_jobs.CountingRelease(whole.schema, KEY)([]) == ([], 0)


def released(whole: WholeTable) -> Iterator[pl.DataFrame]:
    """All rows as one shard, released as an executor does it."""
    coded = list(spark_jobs.Coding(whole, 7)(batches(people(1000))))
    joints, sample = spark_jobs.Sampling(whole, 1.0)(coded)
    assert joints == []
    tree = learn_tree(whole, pl.concat(sample), 1, 10_000)
    counts = spark_jobs.Counting(whole, tree)(coded)
    assert counts is not None
    assert int(counts.sizes.sum()) == 1000
    one = ChosenShards(np.zeros(tree.n_cells, np.int64), np.array([1000]), 0)
    routed = pa.Table.from_batches(list(spark_jobs.Routing(whole, tree, one)(coded)))
    own = {spark_jobs.FILE: pa.int32(), spark_jobs.ORDER: pa.int64(), spark_jobs.LOSS: pa.float64()}
    fields = [(name, pa.string()) for name in whole.released_names]
    target = pa.schema([*fields, *own.items(), (spark_jobs.FAILURE, pa.binary())])
    for rows in (routed, routed.take(np.random.default_rng(0).permutation(len(routed)))):
        made = spark_jobs.Releasing(whole, find("mondrian"), 1, KEY, 2, target)(rows)
        yield spark_jobs.as_frame(made)


def test_a_shard_is_released_alike_in_any_order_of_rows(whole: WholeTable) -> None:
    one, other = released(whole)
    assert one[spark_jobs.FAILURE].null_count() == len(one) == 1000
    assert one.sort(spark_jobs.ORDER).equals(other.sort(spark_jobs.ORDER))


def test_a_shard_that_fails_sends_its_error(whole: WholeTable) -> None:
    fields = [(name, pa.string()) for name in whole.released_names]
    target = pa.schema([*fields, (spark_jobs.FAILURE, pa.binary())])
    made = spark_jobs.Releasing(whole, find("mondrian"), 1, KEY, 2, target)(pa.table({"0": pa.array([1])}))
    assert len(made) == 1
    assert isinstance(pickle.loads(made.column(spark_jobs.FAILURE)[0].as_py()), Exception)
