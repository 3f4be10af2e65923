"""Large tables on Apache Spark (extra `spark`)."""

from __future__ import annotations

from typing import Any

from tclose.algorithms import Algorithm
from tclose.pipeline import Listener
from tclose.scale.shard_plan import SHARD_ROWS
from tclose.scale.spark_engine import SparkRelease, anonymize_dataframe
from tclose.schema.schema import SchemaLike

__all__ = ["SparkRelease", "anonymize"]


def anonymize(
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
    """Turn a DataFrame of Spark into a verified release, on its own cluster.

    The table is read twice, so persist it first if it is costly to make; it must give the same rows both times.
    The executors need this package, in the environment of their Python.

    Parameters
    ----------
    df
        A DataFrame of pyspark.
    schema
        What each column is and what is promised: a `Schema`, a dict with its keys, or a path to TOML.
    method
        What divides a shard: a name of `tclose.methods()` or an algorithm object; `tight` with effort `fast` if None.
    seed
        For the plan and the method; the operating system's entropy if None.
    shard_rows
        The rows of a shard at most: so many are in the memory of one Python worker.
    allow_single_class, show_values, progress
        As for `tclose.anonymize`.

    Returns
    -------
    :
        `table`, a DataFrame in random order that Spark keeps on disk until `release()` is called; `certificate`;
        `record`.

    Raises
    ------
    SchemaError, TableError, InfeasibleError, VerificationError
        Nothing weaker than what is promised is ever returned.
    EngineError
        Spark gave up.
    """
    return anonymize_dataframe(
        df, schema, method=method, seed=seed, shard_rows=shard_rows, allow_single_class=allow_single_class,
        show_values=show_values, progress=progress,
    )  # fmt: skip
