"""Runs of methods on one table, and what the release of each would be worth to an attacker and to an analyst."""

from __future__ import annotations

import logging
import math
import time as clock
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, parameters_of, run_method
from tclose.algorithms.alike_classes import settle_alike
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.rows_left_out import holds_with_left_out
from tclose.errors import InfeasibleError, MissingExtraError, SchemaError, SizeError, TcloseError, VerificationError
from tclose.evaluation.attacks.allowed_rise import AllowedRise, allowed_rises
from tclose.evaluation.attacks.attacked_values import by_value
from tclose.evaluation.attacks.definetti import Learner, definetti, unlearned
from tclose.evaluation.attacks.reidentification import reidentification
from tclose.evaluation.attacks.shown_boxes import Boxes, shown_classes
from tclose.evaluation.attacks.skewness import largest_rise, skewness
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.schema.schema import Schema
from tclose.table.classes import Classes, Tally
from tclose.table.coded import CodedColumn
from tclose.table.encode import EncodedTable, encode_rows, with_objective
from tclose.table.measuring import measure_classes
from tclose.table.reading import one_spelling
from tclose.table.row_selection import select_rows
from tclose.table.source import Source

LOG = logging.getLogger(__name__)
Integers = NDArray[np.int64]
WARM_ROWS, WARM_SECONDS = 100, 20.0
REFUSALS = (SchemaError, SizeError, InfeasibleError, MissingExtraError)
ONE_CLASS = "Only one class holding the whole table was found, which is useless."


@dataclass(frozen=True)
class Gains:
    """What attackers gain.

    Attributes
    ----------
    rise
        The largest rise, in any class, of the belief in a sensitive value: its share there minus that in the table.
    guess
        How much more often the better of two learners guesses the sensitive value of a row than whoever
        always says the most frequent one (`attacks.definetti`); the largest over the attributes.
    risk
        The largest chance that a row is given its person: one over the rows of its class.
    """

    rise: float
    guess: float
    risk: float


@dataclass(frozen=True)
class Trial:
    """One method at one t and k.

    Attributes
    ----------
    method, t, k
        What was run; t is that of every sensitive attribute that has one, None if each has its own from the schema.
    refused
        Why there is nothing else; None if there is.
    loss, query_error
        The general loss metric, and the median relative error of COUNT queries (None without queries, or if every
        answer is 0).
    reached
        By sensitive attribute and joint, the largest distance of a class.
    classes, sizes
        How many, and their sizes: least, lower quartile, median, upper quartile, largest.
    gains
        What attackers gain.
    seconds
        Of the method alone.
    stopped_early
        Whether its time was up.
    rises
        By sensitive attribute, the largest rise of a belief, exactly.
    taken_from
        In a sweep, the stricter t whose classes are kept because it found none that lose less.
    left_out_rows
        Rows that the release would leave out (`suppress_rows`), each of which loses 1.
    """

    method: str
    t: Fraction | None
    k: int
    refused: str | None = None
    loss: float = math.nan
    query_error: float | None = None
    reached: Mapping[str, float] | None = None
    classes: int = 0
    sizes: tuple[int, ...] = ()
    gains: Gains = Gains(math.nan, math.nan, math.nan)
    seconds: float = math.nan
    stopped_early: bool = False
    rises: Mapping[str, Fraction] = field(default_factory=dict)
    taken_from: Fraction | None = None
    left_out_rows: int = 0

    @property
    def is_useless(self) -> bool:
        """Whether it is one class holding the whole table, which `anonymize` refuses."""
        return self.classes == 1 and self.loss > 0

    @property
    def rise(self) -> Fraction:
        """The largest rise of a belief, exactly; 0 without sensitive attributes."""
        return max(self.rises.values(), default=Fraction(0))

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = asdict(self) | {"t": exact_or_none(self.t), "taken_from": exact_or_none(self.taken_from)}
        if self.refused is not None:
            return {name: told[name] for name in ("method", "t", "k", "refused")}
        del told["refused"]
        rises = {column: exact_or_none(rise) for column, rise in self.rises.items()}
        return {**told, "sizes": list(self.sizes), "rises": rises}


def exact_or_none(value: Fraction | None) -> dict[str, Any] | None:
    """A fraction for JSON, exactly and as a float."""
    return None if value is None else {"exact": str(value), "value": float(value)}


@dataclass(frozen=True, eq=False)
class TrialTable:
    """A table on which methods are run: as arrays, made once.

    Attributes
    ----------
    source, schema
        The table and its schema, whose t and k runs may change.
    columns
        Its quasi-identifiers and sensitive attributes as they are.
    table
        The same as arrays.
    attacked
        The same as attackers see it: `attacks.values`.
    seed
        For methods and queries.
    queries
        How many COUNT queries are asked; 0 for none.
    """

    source: Source
    schema: Schema
    columns: Mapping[str, CodedColumn]
    table: EncodedTable
    attacked: EncodedTable
    seed: int
    queries: int

    @classmethod
    def of(cls, source: Source, schema: Schema, seed: int, queries: int) -> TrialTable:
        """Read the table once for all runs."""
        columns, rows = select_rows(source, schema, seed=seed)
        table = with_objective(encode_rows(source, columns, rows, schema), source, columns, schema)
        return cls(source, schema, columns, table, by_value(table, source, columns, schema), seed, queries)

    @property
    def allowed(self) -> dict[str, AllowedRise]:
        """The most that caps of the schema let a belief rise by."""
        return allowed_rises(self.schema, self.table, Requirement.of(self.schema, self.table), None)

    @cached_property
    def before(self) -> Gains:
        """What attackers gain from the table as it stands."""
        names = (self.columns[quasi.column] for quasi in self.schema.quasi)
        return gains(self.attacked, Classes.of(len(self.table), names).labels, unlearned)

    def warm(self, algorithm: Algorithm, seconds: float | None) -> None:
        """Run it on some rows, so that a measured time is that of the method and not of loading it."""
        some = self.table.take(np.arange(min(WARM_ROWS, len(self.table))))
        try:
            check_capable(algorithm, self.schema)
            asked = Requirement.of(self.schema, some)
            limit = WARM_SECONDS if seconds is None else min(seconds, WARM_SECONDS)
            algorithm.partition(some, asked, rng=np.random.default_rng(0), control=Control(limit))
        except TcloseError:
            return  # the run itself will tell

    def run(self, algorithm: Algorithm, schema: Schema, t: Fraction | None, control: Control) -> Trial:
        """One run; raises what the method raises where it refuses."""
        check_capable(algorithm, schema)
        requirement = Requirement.of(schema, self.table)
        rng = np.random.default_rng(self.seed)
        began = clock.perf_counter()
        partition = run_method(algorithm, self.table, requirement, rng=rng, control=control)
        partition = settle_alike(
            self.table, requirement, partition, lambda found: shown_classes(self.table, found.labels)
        )
        seconds = clock.perf_counter() - began
        if not holds_with_left_out(requirement, self.table, partition.labels):
            raise VerificationError(f"'{algorithm.name}' returned classes that break the requirement.")
        run = self._measured(schema, t, partition.labels)
        LOG.info("%s at k %d: loss %.6f in %.3f s", label(algorithm), schema.k, run.loss, seconds)
        stopped = bool(partition.facts.get("stopped_early"))
        return replace(run, method=label(algorithm), seconds=seconds, stopped_early=stopped)

    def _measured(self, schema: Schema, t: Fraction | None, found: Integers) -> Trial:
        """What a release of these classes would be worth; rows of label -1 are left out."""
        kept = np.flatnonzero(found >= 0)
        table, attacked = (self.table, self.attacked)
        if len(kept) < len(found):
            table, attacked = table.take(kept), attacked.take(kept)
        labels = shown_classes(table, found[kept])
        if failure := self._keep_failure(table, labels, schema):
            asked = "" if t is None else f" at t = {float(t):g}"
            raise InfeasibleError(f"The classes found{asked} cannot be released: {failure}.")
        sizes = np.bincount(labels)
        return Trial(
            "", t, schema.k,
            loss=self.table.loss(found),
            query_error=self._query_error(table, labels),
            reached=self._reached(table, labels),
            classes=len(sizes),
            sizes=tuple(int(size) for size in np.quantile(sizes, [0, 0.25, 0.5, 0.75, 1], method="nearest")),
            gains=gains(attacked, labels),
            rises=exact_rises(attacked, labels),
            left_out_rows=len(found) - len(kept),
        )  # fmt: skip

    def run_or_refuse(self, algorithm: Algorithm, schema: Schema, t: Fraction | None, control: Control) -> Trial:
        """One run; where no release can be made, why."""
        try:
            run = self.run(algorithm, schema, t, control)
        except REFUSALS as error:
            return Trial(label(algorithm), t, schema.k, refused=str(error))
        return Trial(label(algorithm), t, schema.k, refused=ONE_CLASS) if run.is_useless else run

    def _keep_failure(self, table: EncodedTable, labels: Integers, schema: Schema) -> str | None:
        """What is wrong with the columns of `keep`: with classes as they are shown they must leave groups of k."""
        if not schema.keep or schema.keep_unchecked:
            return None
        classes = CodedColumn(pl.Series("class", np.arange(int(labels.max()) + 1)), labels)
        kept = (CodedColumn.of(one_spelling(self.source.column(name).gather(table.rows))) for name in schema.keep)
        least = int(Classes.of(len(table), chain([classes], kept)).sizes.min())
        return None if least >= schema.k else f"with the columns of `keep` the smallest group has {least} rows"

    def _query_error(self, table: EncodedTable, labels: Integers) -> float | None:
        if not self.queries:
            return None
        boxes = Boxes.of(table, labels)
        spans = [(low.copy(), high.copy()) for low, high in zip(boxes.lows.T, boxes.highs.T, strict=True)]
        codes, aligned = table.codes[: len(self.schema.sensitive)], len(table) == len(self.table)
        found = query_error(
            ReadBack(self.schema, self.table, labels, spans, codes, self.source, self.source, aligned),
            self.queries,
            seed=self.seed,
        )
        return found.median if found.answered else None

    def _reached(self, table: EncodedTable, labels: Integers) -> dict[str, float]:
        """The largest distance of a class."""
        n = len(self.schema.sensitive)
        columns = zip(table.domains[:n], table.codes[:n], strict=True)
        found = measure_classes(columns, self.schema.joint, labels)
        return {name: float(distances.largest()) for name, distances in found.distances.items()}


def gains(table: EncodedTable, labels: Integers, learner: Learner = definetti) -> Gains:
    """What attackers gain from classes 0, 1, 2, ... of a table; nothing without sensitive attributes but the risk.

    A learner that is worse than whoever says the most frequent value gains 0.
    """
    rises, guesses = [0.0], [0.0]
    for place, (domain, codes) in enumerate(zip(table.domains, table.codes, strict=True)):
        rises.append(skewness(Tally.of(labels, codes, domain.size)).worst_rise)
        found = learner(table, labels, place)
        guesses.append(max(found.right, found.right_with_rows) - found.of_table)
    return Gains(max(rises), max(guesses), reidentification(np.bincount(labels)).prosecutor.largest)


def exact_rises(table: EncodedTable, labels: Integers) -> dict[str, Fraction]:
    """By sensitive attribute, the largest rise of a belief in any class."""
    columns = zip(table.domains, table.codes, strict=True)
    return {domain.column: largest_rise(Tally.of(labels, codes, domain.size)) for domain, codes in columns}


def label(algorithm: Algorithm) -> str:
    """Its name, with the options that are not at their default.

    Examples
    --------
    >>> from tclose.algorithms.tight.tight import Tight
    >>> label(Tight()), label(Tight("fast"))
    ('tight', 'tight effort=fast')
    """
    usual: dict[str, Any] = (
        {field.name: field.default for field in fields(algorithm)} if is_dataclass(algorithm) else {}
    )
    told = [f"{name}={value}" for name, value in parameters_of(algorithm).items() if value != usual.get(name, MISSING)]
    return " ".join([algorithm.name, *told])
