"""How large classes are."""

from __future__ import annotations

from tclose.evaluation.utility.reading_back import ReadBack


def average_class_size(released: ReadBack, k: int = 1) -> float:
    """Released rows over classes; over k too it is C_avg of LeFevre et al. (2006), at best 1.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"sex": ["f", "f", "f", "m", "m", "m"]})
    >>> found = read_release(table, table, schema)
    >>> average_class_size(found), average_class_size(found, k=2)
    (3.0, 1.5)
    """
    return len(released.labels) / len(released.sizes) / k
