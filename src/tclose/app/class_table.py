"""The classes of a release, counted once: sizes, distances and groups of values, for pages that browse them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.evaluation.report.report_values import group_values
from tclose.release.release import Release

Groups = tuple[NDArray[np.int64], tuple[str, ...], str]


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
    """

    released: pl.DataFrame
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]
    distances: dict[str, NDArray[np.float64]]
    farthest: NDArray[np.float64]
    groups: dict[str, Groups]
    columns: tuple[str, ...]

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
    asked = {each.column: float(each.t or 1) or 1.0 for each in schema.sensitive}
    distances = {name: measured.distances(name).floats for name in measured.t}
    used = [found / asked.get(name, 1.0) for name, found in distances.items()]
    farthest = np.max(used, axis=0) if used else np.zeros(len(grouping.sizes))
    groups = {each.column: group_values(schema, measured, each) for each in schema.sensitive}
    columns = tuple(schema.released_quasi)
    return ClassTable(release.aligned(), grouping.sizes, firsts, distances, farthest, groups, columns)
