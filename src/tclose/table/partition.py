"""Partition: which class each row belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Partition:
    """The classes a method found.

    Attributes
    ----------
    labels
        The class of each row: 0, 1, 2, ..., no number left out; -1 for a row that is in none, and not released.
    levels
        The levels of a full-domain recoding, by axis, if the method chose one.
    facts
        What the method says of its run, for the record: a proven bound, that it was stopped early.
    notes
        What else it found, for the record.

    Examples
    --------
    >>> Partition.of(np.array([7, 3, 7])).labels
    array([1, 0, 1])
    """

    labels: NDArray[np.int64]
    levels: tuple[int, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: NDArray[Any], **rest: Any) -> Partition:
        """Take any labels, and number them without gaps; rows of label -1 stay in no class."""
        found = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        return cls(found - 1 if (labels < 0).any() else found, **rest)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max(initial=-1)) + 1
