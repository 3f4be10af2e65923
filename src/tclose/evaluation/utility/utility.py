"""utility: how useful a release still is, by several measures."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from tclose.errors import MeasureError
from tclose.evaluation.utility.class_size import average_class_size
from tclose.evaluation.utility.classification import classification_metric
from tclose.evaluation.utility.classifier import Accuracy, classifier_accuracy
from tclose.evaluation.utility.cubes import cube_divergence
from tclose.evaluation.utility.discernibility import discernibility
from tclose.evaluation.utility.entropy import Entropy, nonuniform_entropy
from tclose.evaluation.utility.loss import general_loss, loss_by_column
from tclose.evaluation.utility.queries import QueryError, query_error
from tclose.evaluation.utility.reading_back import ReadBack, read_release
from tclose.evaluation.utility.summed_loss import summed_loss
from tclose.evaluation.utility.suppressed import suppressed_cells
from tclose.release.certificate import keep_warning, warned
from tclose.release.release import Release
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_flags, check_run

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Utility:
    """What a release is still good for; docs/utility.md says what each measure means.

    Attributes
    ----------
    rows, suppressed_rows, classes
        Rows of the original; those left out or hidden as a whole; distinct released combinations.
    loss, loss_by_column, summed_loss
        The general loss metric (004 section 3.2), the same by column, and the variant of 003.
    discernibility, average_class_size, normalized_class_size
        From the sizes of classes alone; the last is the average over k.
    suppressed_cells
        Cells that tell nothing.
    entropy
        Bits hidden, of all there are.
    queries
        The relative error of COUNT queries.
    cubes
        By level, the KL divergence of cubes, if asked.
    classification
        The share of rows without the most frequent label of their class, if a label was given.
    classifier
        The accuracy of a classifier, if asked.
    warning
        That kept columns were not checked (`keep_unchecked`).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method="mondrian", seed=1)
    >>> found = tclose.utility(table, release, queries=0)
    >>> round(found.loss, 3), found.average_class_size, found.discernibility
    (0.048, 3.0, 18)
    """

    rows: int
    suppressed_rows: int
    classes: int
    loss: float
    loss_by_column: dict[str, float]
    summed_loss: float
    discernibility: int
    average_class_size: float
    normalized_class_size: float
    suppressed_cells: int
    entropy: Entropy
    queries: QueryError | None = None
    cubes: dict[int, float] | None = None
    classification: float | None = None
    classifier: Accuracy | None = None
    warning: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: None for what was not asked, and for a divergence that is infinite."""
        told = warned(self.warning, {name: value for name, value in vars(self).items() if name != "warning"})
        for name in ("entropy", "queries", "classifier"):
            told[name] = told[name].as_dict() if told[name] is not None else None
        if self.cubes is not None:
            told["cubes"] = {str(level): found if isfinite(found) else None for level, found in self.cubes.items()}
        return told


def utility(
    df: Any,
    release: Any,
    schema: SchemaLike | None = None,
    *,
    label: str | None = None,
    weights: Mapping[str, float] | None = None,
    queries: int = 1000,
    attributes: int | None = None,
    selectivity: float = 0.1,
    cubes: tuple[int, ...] = (),
    classifier: bool = False,
    aligned: bool = False,
    seed: int = 0,
) -> Utility:
    """Measure what a release is still good for; it may come from any tool.

    Parameters
    ----------
    df
        The table it was made from: a dataframe or a path.
    release
        A `Release`, or any dataframe or path; rows may be in any order, and some may be left out. One that continues a
        history is compared with the rows that were generalized, also those that the history held.
    schema
        The schema of the original; that of a `Release` if None.
    label
        A column that is released as it is, for the classification metric and the classifier.
    weights
        By column, for the loss.
    queries, attributes, selectivity
        COUNT queries to draw (0 for none), the quasi-identifiers each asks about, and the share of the
        space it covers: see `evaluation/utility/queries.py`.
    cubes
        Levels of OLAP cubes to compare.
    classifier
        Train one: needs `tclose[utility]`, a label, and aligned rows.
    aligned
        The released rows stand in the order of the original; a `Release` knows it.
    seed
        For queries and classifier.

    Raises
    ------
    TableError
        Something released is not understood; the message names the column and counts rows.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> found = tclose.utility(frame, release)
    >>> abs(found.loss - release.loss) < 1e-12, found.classes == release.measured.classes
    (True, True)
    """
    check_run(seed, queries=queries)
    check_flags(classifier=classifier, aligned=aligned)
    _check_asked(weights, attributes, selectivity, cubes)
    read = beside(df, release, schema, aligned=aligned)
    LOG.info("utility of %d rows in %d classes", len(read.table), len(read.sizes))
    if classifier and label is None:
        raise MeasureError("A classifier needs a label: name a column that is released as it is.")
    return Utility(
        rows=len(read.table),
        suppressed_rows=read.n_suppressed,
        classes=len(read.sizes),
        loss=general_loss(read, weights),
        loss_by_column=loss_by_column(read),
        summed_loss=summed_loss(read),
        discernibility=discernibility(read),
        average_class_size=average_class_size(read),
        normalized_class_size=average_class_size(read, read.schema.k),
        suppressed_cells=suppressed_cells(read),
        entropy=nonuniform_entropy(read),
        queries=query_error(read, queries, attributes=attributes, selectivity=selectivity, seed=seed)
        if queries
        else None,
        cubes={level: cube_divergence(read, level) for level in cubes} if cubes else None,
        classification=None if label is None else classification_metric(read, label),
        classifier=classifier_accuracy(read, label, seed=seed) if classifier and label is not None else None,
        warning=keep_warning(read.schema),
    )


def _check_asked(weights: object, attributes: object, selectivity: object, cubes: object) -> None:
    """Refuse what cannot be asked of queries, cubes and loss, whatever the table is."""
    numbers = int | float | np.number
    if weights is not None and not (
        isinstance(weights, Mapping) and all(isinstance(weight, numbers) for weight in weights.values())
    ):
        raise MeasureError("weights must be a mapping from quasi-identifiers to numbers.")
    check_run(None, attributes=0 if attributes is None else attributes)
    if not isinstance(selectivity, numbers):
        raise MeasureError("selectivity must be a number above 0 and at most 1.")
    if not isinstance(cubes, Collection) or not all(isinstance(level, int | np.integer) for level in cubes):
        raise MeasureError("cubes must be a list of numbers of quasi-identifiers.")


def beside(df: Any, release: Any, schema: SchemaLike | None = None, *, aligned: bool = False) -> ReadBack:
    """A release beside its original, as arrays that each metric can be asked about alone."""
    if isinstance(df, Release | Schema) or isinstance(release, Schema):
        raise MeasureError("Give the table first, then the release, then the schema: (df, release, schema).")
    given = None if schema is None else Schema.of(schema)
    if isinstance(release, Release):
        df, release = release.as_made() or (df, release)
        classes = release.classes[release.classes >= 0]
        picked = np.flatnonzero(release.classes >= 0) if release.schema.unit_rows == "one" else None
        asked = given or release.schema
        if release.record.left_out_rows:  # they are lost, and count as such
            return read_release(df, release.aligned(), asked)
        return read_release(df, release.aligned(), asked, aligned=True, classes=classes, picked=picked)
    if given is None:
        raise MeasureError("Give the schema of the original: only a Release brings its own.")
    return read_release(df, release, given, aligned=aligned)
