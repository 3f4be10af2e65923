"""Partition: which class each row belongs to."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.guarding import guarded

NO_PARTITION = "The file holds no classes of an earlier run. Give one that `Release.write_partition` wrote."


@dataclass(frozen=True, eq=False)
class Partition:
    """The classes that a method found: one label for each row.

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

    def to_bytes(self) -> bytes:
        """As a file holds it: never to be published, for it tells which rows were together."""
        made = io.BytesIO()
        levels = np.array([] if self.levels is None else self.levels, np.int64)
        facts = np.frombuffer(json.dumps(self.facts).encode(), np.uint8)
        np.savez_compressed(made, labels=self.labels, levels=levels, facts=facts)
        return made.getvalue()

    @classmethod
    def load(cls, path: Path | str) -> Partition:
        """Read what `Release.write_partition` wrote, to start from it: `anonymize(..., start=..., time=0)`.

        Raises
        ------
        TableError
            The file holds no partition.
        """
        path = Path(path)
        if path.exists() and not path.is_file():  # a device may have no end
            raise TableError(NO_PARTITION)
        return cls._read(path.read_bytes())

    @classmethod
    def _read(cls, data: bytes) -> Partition:
        try:
            labels, levels, facts = guarded(NO_PARTITION, lambda: _held(data))
        except (TableError, OSError):
            raise TableError(NO_PARTITION) from None
        is_whole = labels.dtype == levels.dtype == np.int64 and labels.ndim == levels.ndim == 1
        if not is_whole or not isinstance(facts, dict) or (labels < 0).any():
            raise TableError(NO_PARTITION)
        return cls.of(labels, levels=tuple(levels.tolist()) or None, facts=facts)

    @property
    def is_numbered(self) -> bool:
        """Whether labels are what they should be: whole numbers, of which none is left out.

        Examples
        --------
        >>> Partition(np.array([1, 0, -1])).is_numbered, Partition(np.array([1, 2])).is_numbered
        (True, False)
        """
        if not isinstance(self.labels, np.ndarray) or self.labels.dtype.kind != "i" or self.labels.ndim != 1:
            return False
        n_classes = self.n_classes
        if not 0 < n_classes <= len(self.labels) or int(self.labels.min()) < -1:
            return False
        return bool(np.bincount(self.labels + 1, minlength=n_classes + 1)[1:].all())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max(initial=-1)) + 1


def _held(data: bytes) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Labels, levels and facts, as a file holds them."""
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        return held["labels"], held["levels"], json.loads(held["facts"].tobytes())
