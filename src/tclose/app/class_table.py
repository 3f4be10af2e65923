"""The classes of a release, counted once: sizes, distances and groups of values, for pages that browse them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.evaluation.report.report_values import group_values
from tclose.evaluation.report.report_words import summary
from tclose.release.release import Release

ShownGroups = tuple[NDArray[np.int64], tuple[str, ...], str]


@dataclass(frozen=True, eq=False)
class ClassTable:
    """The classes of a release.

    Attributes
    ----------
    released
        The released rows in the order of the input.
    sizes
        The rows of each class.
    firsts
        A row of each, which has its released values.
    distances
        By sensitive attribute and joint, how far each is from the table.
    farthest
        The largest share of its t that a class uses, over all attributes with one.
    columns
        The released quasi-identifiers.
    groups
        By sensitive attribute, the group of each row's value, the names of groups, and what they stand for.
    words
        What is reached, for people.
    n_left_out
        How many rows of the input are not released.
    worst_first
        All classes, those first that use most of their t, of these the smallest.
    """

    released: pl.DataFrame
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]
    distances: dict[str, NDArray[np.float64]]
    farthest: NDArray[np.float64]
    groups: dict[str, ShownGroups]
    columns: tuple[str, ...]
    words: str
    n_left_out: int
    worst_first: NDArray[np.int64]

    def neighbours(self, place: int) -> tuple[int | None, int | None]:
        """The classes before and after one, worst first; None at the ends."""
        rank = int(np.flatnonzero(self.worst_first == place)[0])
        before = int(self.worst_first[rank - 1]) if rank else None
        after = int(self.worst_first[rank + 1]) if rank + 1 < len(self.worst_first) else None
        return before, after

    def shows(self, text: str) -> NDArray[np.bool_]:
        """Which classes have a released value that holds this text; all if it is empty."""
        if not text:
            return np.ones(len(self.sizes), bool)
        values = self.released.select(self.columns)[self.firsts.tolist()]
        holding = pl.all().cast(pl.String).str.contains(text, literal=True).fill_null(False)
        found: NDArray[np.bool_] = values.select(pl.any_horizontal(holding)).to_series().to_numpy()
        return found


@lru_cache(maxsize=4)
def class_table(release: Release) -> ClassTable:
    """All classes of a release."""
    schema, measured = release.schema, release.measured
    grouping = measured.grouping
    firsts = np.unique(grouping.labels, return_index=True)[1].astype(np.int64)
    asked = {each.column: float(each.t or 1) for each in schema.sensitive}
    asked |= {joint.name: float(joint.t or 1) for joint in schema.joint}
    distances, groups = {}, {}
    for each in schema.sensitive:
        placed = measured.placed(each.column)
        distances[each.column] = measured.distances_of(placed).floats
        groups[each.column] = group_values(schema, measured, each, placed)
    distances |= {joint.name: measured.distances(joint.name).floats for joint in schema.joint}
    used = [found / asked.get(name, 1.0) for name, found in distances.items()]
    farthest = np.max(used, axis=0) if used else np.zeros(len(grouping.sizes))
    columns, words = tuple(schema.released_quasi), summary(schema, measured, release.record.persons)
    assert release.table is not None  # which is put in its random order once, and not while a page waits
    n_left_out = int((release.classes < 0).sum())
    counted = (release.aligned(), grouping.sizes, firsts, distances, farthest, groups, columns)
    return ClassTable(*counted, words, n_left_out, np.lexsort((grouping.sizes, -farthest)))
