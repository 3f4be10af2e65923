"""What the `coarsest` of a column keeps apart: places that no class may mix, and how far an interval may reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InfeasibleError
from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy

Places = NDArray[np.int32]
Flags = NDArray[np.bool_]
LONG = 2**62
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def allowed_nodes(hierarchy: Hierarchy, coarsest: Any) -> Flags:
    """Which nodes may be released: those of a height up to a level, or those that are not above a label.

    What is below an allowed node is allowed.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": []})
    >>> allowed_nodes(tree, 1).tolist() == allowed_nodes(tree, "lung").tolist() == [False, True, True, True, True]
    True
    """
    if not isinstance(coarsest, str):
        return np.asarray(hierarchy.heights <= coarsest)
    allowed = np.ones(len(hierarchy.labels), bool)
    for node in (place for place, label in enumerate(hierarchy.labels) if label == coarsest):
        above = int(hierarchy.parents[node])
        while above >= 0:
            allowed[above] = False
            above = int(hierarchy.parents[above])
    return allowed


def blocks_of_leaves(hierarchy: Hierarchy, allowed: Flags, leaves: Places, missing: bool, column: str) -> Places | None:
    """The block of each leaf: all below its highest allowed ancestor. None where all may be mixed.

    Raises
    ------
    InfeasibleError
        A leaf is not allowed itself.
    """
    if allowed[0]:
        return None
    if not allowed[leaves].all():
        raise never_fine_enough(column, "finest")
    tops = leaves.copy()
    while (climbs := (hierarchy.parents[tops] >= 0) & allowed[hierarchy.parents[tops]]).any():
        tops[climbs] = hierarchy.parents[tops[climbs]]
    return numbered_blocks(tops[1:] != tops[:-1], len(leaves), missing)


def blocks_of_days(
    first: NDArray[np.int64], last: NDArray[np.int64], period: str, missing: bool, quasi: Quasi
) -> Places:
    """The block of each day: its month, quarter or year; by itself each day. An interval runs from first to last.

    Raises
    ------
    InfeasibleError
        A day is released as an interval of several periods.
    """
    if period == "day":
        numbers = first, last
    else:
        months = (days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) for days in (first, last))
        numbers = tuple(each // MONTHS[period] for each in months)  # type: ignore[assignment]
    if (numbers[0] != numbers[1]).any():
        raise never_fine_enough(quasi.column, "step")
    return numbered_blocks(numbers[0][1:] != numbers[0][:-1], len(first), missing)


def reach_of(lows: NDArray[Any], highs: NDArray[Any], width: int, quasi: Quasi) -> Places:
    """For each place, the last one at which an interval may end that begins there.

    Raises
    ------
    InfeasibleError
        A single value is released wider than that.

    Examples
    --------
    >>> values = np.array([18, 20, 38, 60])
    >>> reach_of(values, values, 20, Quasi("age", "numeric")).tolist()
    [2, 2, 2, 3]
    """
    if width >= LONG or np.abs(lows).max(initial=0) >= LONG:  # 64 bits may not hold the sum
        lows, highs = lows.astype(object), highs.astype(object)
    found = np.searchsorted(highs, lows + width, side="right").astype(np.int32) - np.int32(1)
    if (found < np.arange(len(lows))).any():
        raise never_fine_enough(quasi.column, "step")
    return np.asarray(found, np.int32)


def numbered_blocks(parts: Flags, n: int, missing: bool) -> Places:
    """Blocks 0, 1, 2, ... of n places, where `parts` says which of them end one; missing is a block by itself.

    Examples
    --------
    >>> numbered_blocks(np.array([False, True]), 3, True).tolist()
    [0, 0, 1, 2]
    """
    blocks = np.zeros(n + missing, np.int32)
    blocks[1:n] = np.cumsum(parts)
    blocks[n:] = blocks[:n].max(initial=-1) + 1
    return blocks


def never_fine_enough(column: str, key: str) -> InfeasibleError:
    """What to say where not even a single value can be released."""
    return InfeasibleError(
        f"Column '{column}': by its `{key}` a single value is released coarser than its `coarsest` allows. Allow a "
        f"coarser one, or a finer `{key}`."
    )
