"""The column that a release is to predict."""

from __future__ import annotations

from tclose.errors import TableError
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.coded import CodedColumn
from tclose.table.reading import code
from tclose.table.source import Source


def released_labels(released: ReadBack, label: str) -> CodedColumn:
    """The labels of the released rows, coded."""
    return _labels(released, label, released.source, "release")


def original_labels(released: ReadBack, label: str) -> CodedColumn:
    """The labels of the rows of the original that were not dropped for missing values, coded."""
    return _labels(released, label, released.original, "original").take(released.table.rows)


def _labels(released: ReadBack, label: str, source: Source, which: str) -> CodedColumn:
    if any(label == quasi.column for quasi in released.schema.quasi):
        raise TableError(f"Column '{label}' is a quasi-identifier and cannot be the label: it is generalized.")
    if label not in source.names:
        raise TableError(f"The {which} has no column '{label}'. Name a column that is released as it is.")
    return code(source.column(label), released.schema.missing_values, numeric=False)
