"""What a release of a table is to be good for, as arrays: beside the rows, where the schema asks for more than loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MeasureError, TableError
from tclose.schema.schema import Schema
from tclose.table.axes import Axis
from tclose.table.coded import CodedColumn
from tclose.table.line_cells import cells
from tclose.table.reading import Reader
from tclose.table.workload import Workload
from tclose.table.workload_file import read_workload

MOST_LABELS = 100  # of a target: more are no classes to be told apart


@dataclass(frozen=True, eq=False)
class Objective:
    """What is optimized beside keeping the promise.

    Attributes
    ----------
    name
        That of the schema.
    workload
        The queries of the user; None if there are none, and some are to be drawn.
    target
        The label of every row that is to be predicted, as a code.
    """

    name: Literal["loss", "queries", "classify"] = "loss"
    workload: Workload | None = None
    target: NDArray[np.int32] | None = None

    def take(self, rows: NDArray[np.int64]) -> Objective:
        """The same for some of the rows."""
        if self.workload is None and self.target is None:
            return self
        return replace(
            self,
            workload=None if self.workload is None else self.workload.take(rows),
            target=None if self.target is None else self.target[rows],
        )


LOSS = Objective()


def read_queries(schema: Schema, axes: Sequence[Axis], reader: Reader, columns: Mapping[str, CodedColumn]) -> Objective:
    """The queries of a schema's workload, or none where they are to be drawn.

    Raises
    ------
    SchemaError, TableError
        The file of queries is not there or not understood, or a column cannot be asked about.
    """
    for axis in axes:
        try:
            cells(axis)
        except MeasureError:
            raise TableError(
                f"Column '{axis.column}': its numbers have too many digits for objective = \"queries\". Round them."
            ) from None
    if schema.workload is None:
        return Objective("queries")
    return Objective("queries", workload=read_workload(Path(schema.workload), schema, axes, reader, columns))


def label_rows(target: str, given: NDArray[Any]) -> Objective:
    """The labels of a target, from any codes of its values: numbered as they first occur, whatever form the table had.

    Raises
    ------
    TableError
        There are too many.

    Examples
    --------
    >>> label_rows("ill", np.array([7, 3, 3, 7, 5])).target
    array([0, 1, 1, 0, 2], dtype=int32)
    """
    _, first, labels = np.unique(given, return_index=True, return_inverse=True)
    if len(first) > MOST_LABELS:
        raise TableError(
            f"Column '{target}' is the target and has {len(first):,} distinct values; at most {MOST_LABELS} can be "
            "predicted. Take a column of fewer, or group its values."
        )
    ranks = np.empty(len(first), np.int32)
    ranks[np.argsort(first)] = np.arange(len(first))
    return Objective("classify", target=ranks[labels])
