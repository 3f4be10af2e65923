"""The job of one shard: coded rows in, released rows out, measured against the whole table.

A job depends on its rows, the plan and the seed of the run alone, not on the order in which the rows come or on who
runs it: run again, it gives the same rows.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, run_method
from tclose.algorithms.control import Control
from tclose.errors import VerificationError
from tclose.release.recode import recode
from tclose.scale.coded_pieces import ROW
from tclose.scale.row_keys import RowKeys, mixed, sip_hash
from tclose.scale.whole_table import WholeTable
from tclose.table.coded import as_text
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition
from tclose.table.source import Source
from tclose.verification.exact_loss import ReleasedRows, exact_loss
from tclose.verification.truth import truth_problems

ORDER = "order"  # the name of the column that says where a released row is written


@dataclass(frozen=True)
class OrderKey:
    """What the order of written rows comes from: drawn once from entropy, and forgotten.

    Attributes
    ----------
    content
        Seeds the hash of what a row shows.
    words
        The key of the hash of that and of the row's place in its class.
    """

    content: int
    words: tuple[int, int]

    @classmethod
    def drawn(cls) -> OrderKey:
        """A new one."""
        return cls(secrets.randbits(64), (secrets.randbits(64), secrets.randbits(64)))

    def of(self, frame: pl.DataFrame, places: NDArray[np.int64]) -> RowKeys:
        """Where each released row goes, given its place in its class."""
        return sip_hash(frame.hash_rows(self.content).to_numpy(), places.astype(np.uint64), self.words)


@dataclass(frozen=True, eq=False)
class ReleasedShard:
    """What comes of a shard.

    Attributes
    ----------
    frame
        Its released rows.
    n_classes
        The classes that the method made.
    loss
        The loss of each row, summed.
    order
        Where each row goes among all that are written.
    """

    frame: pl.DataFrame
    n_classes: int
    loss: float
    order: RowKeys


def release_shard(
    whole: WholeTable, rows: pl.DataFrame, algorithm: Algorithm, seed: int, key: OrderKey
) -> ReleasedShard:
    """Release the rows of a shard.

    Parameters
    ----------
    whole
        The whole table.
    rows
        The shard's, coded, in any order.
    algorithm
        The method; what it is asked is measured against the whole table.
    seed
        That of the run; the method draws from it and from what the rows hold.
    key
        What the order of written rows comes from.

    Raises
    ------
    VerificationError
        What would be released is not true to the rows, or loses another part than the method goes by.
    """
    rows = rows.sort(rows.columns[::-1])  # by hash first: rows with the same hash are alike, or told apart by the rest
    table = whole.encode(rows)
    partition = _partition(whole, table, rows[ROW].to_numpy(), algorithm, seed)
    spans = table.spans(partition.labels, partition.n_classes)
    loss = table.loss(partition.labels, spans) * len(table)
    frame = _recoded(whole, table, partition, rows)
    _check_truth(whole, rows, frame)
    _check_loss(whole, rows, frame, partition, loss)
    places = _places_in_class(partition.labels)
    return ReleasedShard(frame, partition.n_classes, loss, key.of(frame, places))


def _partition(whole: WholeTable, table: EncodedTable, hashes: RowKeys, algorithm: Algorithm, seed: int) -> Partition:
    content = int(mixed(hashes, 0).sum(dtype=np.uint64))
    rng = np.random.default_rng([seed, content])
    return run_method(algorithm, table, whole.requirement, rng=rng, control=Control())


def _recoded(whole: WholeTable, table: EncodedTable, partition: Partition, rows: pl.DataFrame) -> pl.DataFrame:
    """The released columns in their types, which are those of all shards."""
    coded = {*whole.values} - {*whole.schema.keep}
    source = Source.of(pl.DataFrame({name: [] for name in whole.names if name in coded}))
    columns, schema = whole.columns_of(rows), replace(whole.schema, keep=(), keep_unchecked=False)
    made = recode(table, partition, source, columns, schema, texts=True)
    kept = [whole.shown_values[name].gather(rows[whole.numbers[name]].to_numpy()) for name in whole.schema.keep]
    shown = as_text(made.with_columns(each.alias(name) for each, name in zip(kept, whole.schema.keep, strict=True)))
    frame = pl.DataFrame([shown[name] for name in whole.released_names])
    if dict(frame.schema) != whole.released_types:
        raise VerificationError("A shard has columns of other types than the release. Please report this.")
    return frame


def _check_truth(whole: WholeTable, rows: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Every released value covers its own; the judge reads both sides by itself."""
    problems = truth_problems(Source.of(whole.original(rows)), Source.of(frame), whole.schema)
    if problems:
        told = " ".join(problems)
        raise VerificationError(f"The release would not be true to its original, and nothing is released. {told}")


def _check_loss(whole: WholeTable, rows: pl.DataFrame, frame: pl.DataFrame, partition: Partition, loss: float) -> None:
    """The loss of the rows, which is told to whoever releases, is what the released values lose by the verifier."""
    places = np.arange(len(rows))
    taken = ReleasedRows(places, places, partition.labels)
    found = exact_loss(Source.of(whole.original(rows)), Source.of(frame), whole.schema, taken, whole.values)
    if not found.holds(loss / max(len(rows), 1)):
        raise VerificationError(
            "The loss of a shard is another by what methods go by than by the verifier. One of them is wrong, so "
            "nothing is released. Please report this."
        )


def _places_in_class(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each row among those of its class.

    Examples
    --------
    >>> _places_in_class(np.array([1, 0, 1, 1])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))[:-1]])
    places = np.empty(len(labels), np.int64)
    places[order] = np.arange(len(labels)) - starts[labels[order]]
    return places
