"""Caps on belief and diversity as the search sees them: runs of values that may not have too much, in floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAST_ROOM = 1e-9  # between a share and its cap, so that one without room is a wall


def capped_runs(attribute: Attribute, of_code: Integers) -> tuple[Integers, Floats]:
    """Runs of values of which a class may have so much only.

    Parameters
    ----------
    attribute
        What is asked.
    of_code
        The value of each code while searching: neighbouring codes may be one value. What is capped must be some
        values and nothing else; other caps do not guide the search.

    Returns
    -------
    :
        Of each run its first value and the one after the last; and its share of the reference and how much more it
        may have.
    """
    reference = attribute.believed
    n = max(int(reference.sum()), 1)
    found: dict[tuple[int, int], tuple[float, float]] = {}
    before = np.concatenate([[0], np.cumsum(np.bincount(of_code))])  # codes up to each value
    lone = np.flatnonzero(np.bincount(of_code)[of_code] == 1)
    for codes, most in _capped_codes(attribute, lone):
        low, high = int(of_code[codes].min()), int(of_code[codes].max()) + 1
        rows = int(reference[codes].sum())
        if before[high] - before[low] == len(codes) and rows:
            room = max(most - rows / n, LEAST_ROOM)
            known = found.get((low, high), (0.0, np.inf))
            found[low, high] = rows / n, min(known[1], room)
    return np.array([*found], np.int64).reshape(-1, 2), np.array([*found.values()]).reshape(-1, 2)


def _capped_codes(attribute: Attribute, lone: Integers) -> Iterator[tuple[Integers, float]]:
    """Codes, and the largest share of them together; single ones only if they are values of their own."""
    limits, asked = attribute.limits, attribute.l
    if limits is not None and limits.paths is None:
        for code in lone.tolist():
            if limits.over[code] < limits.under[code]:
                yield np.array([code]), float(limits.over[code] / limits.under[code])
    elif limits is not None and limits.paths is not None:
        order = np.argsort(limits.paths, axis=None, kind="stable")
        nodes = limits.paths.ravel()[order]
        for place in np.split(np.arange(len(nodes)), np.flatnonzero(np.diff(nodes)) + 1):
            node = int(nodes[place[0]]) if len(place) else -1
            if node >= 0 and limits.over[node] < limits.under[node]:
                yield order[place] // limits.paths.shape[1], float(limits.over[node] / limits.under[node])
    shares = []
    if asked is not None and asked.frequency is not None:
        shares.append(1 / asked.frequency)
    if asked is not None and asked.recursive is not None:  # at least so much is asked; with l = 2 no more
        shares.append(asked.recursive[0] / (1 + asked.recursive[0]))
    for code in lone.tolist() if shares else ():
        yield np.array([code]), float(min(shares))


def diversity_terms(attribute: Attribute, rows: NDArray[Any], is_whole: bool) -> tuple[float, float, float]:
    """What `kernels.soft` knows of distinct values and entropy; no entropy where a value stands for several codes.

    Parameters
    ----------
    attribute
        What is asked.
    rows
        Of the reference, by value.
    is_whole
        Whether every code is a value of its own.
    """
    asked = attribute.l
    if asked is None or attribute.domain.of_persons:  # persons are no values of `soft`
        return 0.0, -1.0, 1.0
    distinct = float(asked.distinct or 0)
    if asked.entropy is None or not is_whole:
        return distinct, -1.0, 1.0
    shares = rows[rows > 0] / rows.sum()
    bound = float(np.log(float(asked.entropy)))
    return distinct, bound, max(float(-(shares * np.log(shares)).sum()) - bound, LEAST_ROOM)
