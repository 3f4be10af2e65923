"""What `assess` tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.divergence import Divergence, divergence
from tclose.verification.diversity import Reached
from tclose.verification.verify import Measured, fraction


@dataclass(frozen=True, eq=False)
class Report:
    """The privacy of a table as it stands."""

    measured: Measured
    schema: Schema = field(repr=False)
    _rows: NDArray[np.int64] = field(repr=False)
    _source: Source = field(repr=False)
    _columns: tuple[str, ...] = field(repr=False)
    _show_values: bool = field(repr=False, default=False)

    @property
    def rows(self) -> int:
        """The number of rows measured."""
        return self.measured.rows

    @property
    def classes(self) -> int:
        """The number of distinct combinations of quasi-identifiers."""
        return self.measured.classes

    @property
    def k(self) -> int:
        """The rows of the smallest class."""
        return self.measured.k

    @property
    def t(self) -> dict[str, Fraction]:
        """By sensitive attribute and by joint, the largest distance of a class from the whole table."""
        return self.measured.t

    @property
    def l(self) -> dict[str, Reached]:  # noqa: E743
        """By sensitive attribute, the diversity of the least diverse classes."""
        return self.measured.l

    @property
    def measures(self) -> dict[str, Divergence]:
        """By sensitive attribute, the largest distance of a class by other measures; nothing is certified by them."""
        return {column: divergence(tally) for column, tally in self.measured.tallies.items()}

    def worst(self, column: str, most: int = 5) -> list[dict[str, Any]]:
        """The classes farthest from the whole table in one sensitive attribute, or in a joint.

        Each with its size, its distance and where its first row stands; with its
        quasi-identifiers if values were asked for.
        """
        distances = self.measured.distances[column]
        grouped = self.measured.grouped
        found = []
        for place in map(int, np.lexsort((grouped.sizes, -distances.floats))[:most]):
            first = int(np.argmax(grouped.keys == grouped.distinct[place]))
            row = self._rows[first : first + 1]
            entry = {"size": int(grouped.sizes[place]), "t": fraction(distances.exact(place))}
            entry["first"] = self._source.name_rows(row)
            if self._show_values:
                shown = {name: self._source.column(name)[int(row[0])] for name in self._columns}
                entry["values"] = {name: None if value is None else str(value) for name, value in shown.items()}
            found.append(entry)
        return found

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **self.measured.as_dict(),
            "measures": {column: found.as_dict() for column, found in self.measures.items()},
            "worst": {column: self.worst(column) for column in self.measured.t},
        }
