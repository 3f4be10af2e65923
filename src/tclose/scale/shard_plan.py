"""What both engines decide on the driver: the method, the sample, and the tree that is learnt on it."""

from __future__ import annotations

import secrets

import numpy as np
import polars as pl

from tclose.algorithms import Algorithm, find
from tclose.algorithms.capable import check_capable
from tclose.algorithms.tight.tight import best_slack
from tclose.errors import SchemaError
from tclose.scale.coded_pieces import ROW
from tclose.scale.row_keys import run_key
from tclose.scale.shard_tree import ShardTree
from tclose.scale.tree_learning import TreeLearner
from tclose.scale.whole_table import WholeTable
from tclose.schema.changes import keys_beyond
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_run
from tclose.table.row_selection import check_columns

SHARD_ROWS = 500_000  # of a shard at most
FILE_ROWS = 1_000_000  # of a written file, about
SAMPLE_ROWS, SAMPLE_OF_SHARD = 200_000, 2_000  # rows a plan is learnt on: at least, and for each shard
ROW_PURPOSE, PLAN_PURPOSE = 0, 1
# Keys that shards keep. One that is added to schemas later is refused until it is kept here, too.
KEPT = (
    *("k", "quasi", "sensitive", "joint", "recode", "missing", "missing_values", "identifiers", "keep"),
    *("keep_unchecked", "roles", "delimiter", "encoding", "decimal", "thousands", "header"),
)
KEPT_OF_QUASI = (
    *("column", "kind", "hierarchy", "step", "bottom", "top", "range", "publish", "format", "grouped", "weight"),
)


def method_at_scale(method: str | Algorithm | None) -> Algorithm:
    """What divides a shard: `tight` with effort `fast` if nothing is named."""
    return find("tight", {"effort": "fast"}) if method is None else find(method)


def check_scalable(schema: Schema) -> None:
    """Refuse what is not promised of shards.

    Raises
    ------
    SchemaError
        The schema counts persons, or has a key that shards do not keep.
    """
    if schema.unit is not None:
        raise SchemaError(
            f"unit = '{schema.unit}': a table in shards is released by rows, and whose they are is not counted across "
            "shards. Keep one row of each person, take `unit` out and name the column in `identifiers`; or release the "
            "table without --engine."
        )
    for key in keys_beyond(schema, KEPT):
        raise SchemaError(f"'{key}' is not kept by a table in shards. Take it out, or release it without --engine.")
    for quasi in schema.quasi:
        for key in keys_beyond(quasi, KEPT_OF_QUASI):
            raise SchemaError(
                f"[quasi.{quasi.column}]: '{key}' is not kept by a table in shards. Take it out, or release the table "
                "without --engine."
            )


def settle(
    schema: SchemaLike, names: tuple[str, ...], method: str | Algorithm | None, seed: int | None, **sizes: int
) -> tuple[Schema, Algorithm, int]:
    """What is asked of a table with these columns, by which method and seed; all that can be is checked.

    A seed is drawn where none is given. `sizes` are the rows of a shard, and others that are 1 at least.
    """
    check_run(seed, **sizes)
    for name, size in sizes.items():
        if size < 1:
            raise SchemaError(f"{name} must be a whole number from 1 up.")
    settled, algorithm = Schema.of(schema).resolve(names), method_at_scale(method)
    check_scalable(settled)
    check_capable(algorithm, settled)
    check_columns(names, settled)
    return settled, algorithm, secrets.randbits(63) if seed is None else seed


def row_key(seed: int) -> int:
    """What the rows of a run are hashed with."""
    return run_key(seed, ROW_PURPOSE)


def sample_share(n_rows: int, shard_rows: int) -> float:
    """The share of rows that a plan is learnt on.

    Examples
    --------
    >>> sample_share(1_000, 500), sample_share(100_000_000, 500_000)
    (1.0, 0.00402)
    """
    return min(max(SAMPLE_ROWS, SAMPLE_OF_SHARD * (n_rows // shard_rows + 1)) / n_rows, 1.0)


def learn_tree(whole: WholeTable, sample: pl.DataFrame, seed: int, shard_rows: int) -> ShardTree:
    """The tree of a run, from coded rows that were drawn by their hashes."""
    sample = sample.sort(sample.columns[::-1])  # in no order of pieces
    table, rng = whole.encode(sample), np.random.default_rng([seed, PLAN_PURPOSE])
    slack = best_slack(table, whole.requirement, rng) if whole.n_rows > shard_rows else 0.0
    return TreeLearner(whole.requirement, whole.n_rows, shard_rows, rng, slack).learn(table, sample[ROW].to_numpy())
