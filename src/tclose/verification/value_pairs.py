"""Pairs of values that stand in one row, in two columns."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.verification.distinct_values import FactoredColumn

PRESENCE = 1 << 24


def distinct_pairs(one: FactoredColumn, other: FactoredColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of values that stand in one row, as numbers from -1 (none) up.

    Examples
    --------
    >>> from tclose.verification.distinct_values import factorize
    >>> distinct_pairs(factorize(pl.Series(["a", "a", "b"])), factorize(pl.Series([1, 1, None])))
    (array([0, 1]), array([ 0, -1]))
    """
    keys = _pair_keys(one, other)
    bound = (len(one.values) + 1) * (len(other.values) + 1)
    if bound <= max(PRESENCE, len(keys)):
        occurs = np.zeros(bound, bool)
        occurs[keys] = True
        found = np.flatnonzero(occurs)
    else:
        found = pl.Series(keys).unique().sort().to_numpy()
    at, which = np.divmod(found, len(other.values) + 1)
    return at - 1, which - 1


def count_pairs(
    one: FactoredColumn, other: FactoredColumn, times: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The same pairs, and in how many rows each stands; each row may stand for several (`times`).

    Examples
    --------
    >>> from tclose.verification.distinct_values import factorize
    >>> count_pairs(factorize(pl.Series(["a", "a", "b"])), factorize(pl.Series([1, 1, None])))[2]
    array([2, 1])
    """
    at, which = distinct_pairs(one, other)
    known = (at + 1) * (len(other.values) + 1) + which + 1
    places = np.searchsorted(known, _pair_keys(one, other))  # they ascend
    if times is None:
        return at, which, np.bincount(places, minlength=len(known)).astype(np.int64)
    counts = np.zeros(len(known), np.int64)
    np.add.at(counts, places, times)
    return at, which, counts


def rows_of_pairs(
    one: FactoredColumn, other: FactoredColumn, at: NDArray[np.int64], which: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The rows that hold one of these pairs."""
    if not len(at):
        return np.zeros(0, np.int64)
    wanted = (at + 1) * (len(other.values) + 1) + which + 1
    return np.flatnonzero(np.isin(_pair_keys(one, other), wanted))


def _pair_keys(one: FactoredColumn, other: FactoredColumn) -> NDArray[np.int64]:
    keys = (one.codes + np.int64(1)) * (len(other.values) + 1)
    keys += other.codes
    keys += 1
    return keys
