"""How well a classifier learns from the release what holds for the original."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MissingExtraError, TableError
from tclose.evaluation.utility.label import original_labels
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.axes import Axis, TreeAxis
from tclose.table.line_cells import cells

Floats32 = NDArray[np.float32]
Places = NDArray[np.int32]
MOST_LEAVES = 64  # of a tree that has a feature for every leaf
TREES = 50


@dataclass(frozen=True)
class Accuracy:
    """Shares of held out rows of the original whose label is found.

    Attributes
    ----------
    released
        By a classifier that was trained on the release.
    original
        By the same one, trained on the original.
    majority
        By saying the most frequent label of the training rows.
    """

    released: float
    original: float
    majority: float

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


def classifier_accuracy(released: ReadBack, label: str, *, held_out: float = 0.3, seed: int = 0) -> Accuracy:
    """Train a random forest on the release of some rows, and test it on the others as they were.

    Its features are the quasi-identifiers: of a number or a date the middle of what is covered, of
    a category the share of each leaf in it (the middle of its places if there are many). Needs
    `tclose[utility]`.

    Parameters
    ----------
    released
        A release beside its original, with rows aligned: which rows are held out must be known.
    label
        A column that is released as it is: a sensitive attribute, or one of `keep`.
    held_out
        The share of rows to test on.
    seed
        Which rows are held out, and what the forest draws.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.
    TableError
        The rows are not aligned, or too few.

    Examples
    --------
    >>> import tclose
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> frame, schema = tclose.datasets.hospital(200, seed=1)
    >>> identity = frame.drop(schema.identifiers)
    >>> found = classifier_accuracy(read_release(frame, identity, schema, aligned=True), schema.sensitive[0].column)
    >>> found.released == found.original
    True
    """
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ModuleNotFoundError:
        raise MissingExtraError("scikit-learn", "utility", "The accuracy of a classifier") from None
    if not released.aligned:
        raise TableError(
            "Which released row comes from which original one is not known, so that none can be held out. Give the "
            "Release itself, or rows in the order of the original with `aligned`."
        )
    codes = original_labels(released, label).codes.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(codes))
    n_test = int(len(codes) * held_out)
    test, train = order[:n_test], order[n_test:]
    if not n_test or not len(train):
        raise TableError(f"Of {len(codes)} rows none can be held out to test on. Take a larger table.")
    plain = _features(released.table.axes, [(places, places) for places in released.table.places])
    shown = _features(
        released.table.axes, [(low[released.labels], high[released.labels]) for low, high in released.spans]
    )

    def accuracy(features: Floats32) -> float:
        forest = RandomForestClassifier(TREES, min_samples_leaf=5, random_state=seed)
        return float(np.mean(forest.fit(features[train], codes[train]).predict(plain[test]) == codes[test]))

    most = int(np.argmax(np.bincount(codes[train])))
    return Accuracy(accuracy(shown), accuracy(plain), float(np.mean(codes[test] == most)))


def _features(axes: tuple[Axis, ...], spans: list[tuple[Places, Places]]) -> Floats32:
    """One row a row: numbers for what each axis covers."""
    columns: list[Any] = []
    for axis, (low, high) in zip(axes, spans, strict=True):
        if isinstance(axis, TreeAxis) and axis.size <= MOST_LEAVES:
            width = (high - low + 1).astype(np.float32)
            columns += [((low <= place) & (place <= high)) / width for place in range(axis.size)]
        else:
            columns.append((cells(axis)[low] + cells(axis)[high]) / 2)
    return np.column_stack(columns).astype(np.float32)
