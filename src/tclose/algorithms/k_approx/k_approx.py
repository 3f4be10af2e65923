"""k-approx: k-anonymity that suppresses at most m times the cells that must be, m the quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import find, run_method
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Integers = NDArray[np.int64]
MOST = 2**62
PROVED_BY = "counting cells that every partition suppresses (002, theorem 10), in integers"


@dataclass(frozen=True)
class KApprox:
    """Keep rows that have k - 1 others like them, and put all other rows into one class.

    Identical rows are kinds. The rows of small kinds, fewer than k of each, are s in all.

    The class of the rest is then cut on.

    1. s is 0, or at least k: they form a class, and each large kind forms one.
    2. The large kinds have k - s rows to spare, beyond k each: these are added to the class of
       the small ones. They come from the largest kinds.
    3. Else the smallest of the large kinds joins the small ones.

    Parameters
    ----------
    cut
        Cut the class of the rest on, as `mondrian` does. It never costs more, and the guarantee
        stays. False is the theorem as printed.

    Guarantee
    ---------
    Every class has k rows, and at most m times as many cells are suppressed as in the best
    partition, where m counts the quasi-identifiers and each position of kind digits: the fact
    `cost_within`. With one quasi-identifier that is the best (`tests/algorithms/k_approx/test_k_approx.py`).

    No partition suppresses less than `loss_at_least`. A row of a small kind has a class with
    another row, and loses a cell: s cells. A class with a lost cell has k rows: k cells. In case 3
    every partition touches all rows of some large kind: were a row of each in a class of its kind,
    with k rows, fewer than k rows would be left for the small ones. So s rows and those of the
    smallest large kind lose a cell. The fact `optimal` says whether that is met.

    Cost
    ----
    Linear in the rows but for one sort.

    References
    ----------
    002 section 5, theorem 10.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> rows = {"sex": ["f", "f", "m", "m", "m"], "town": ["x", "x", "y", "y", "z"]}
    >>> schema = tclose.Schema.from_dict(
    ...     {"k": 2, "recode": "suppress", "quasi": {name: {"kind": "categorical"} for name in rows}}
    ... )
    >>> release = tclose.anonymize(pl.DataFrame(rows), schema, method="k-approx")
    >>> release.loss, release.facts["loss_at_least"], release.facts["optimal"]
    (0.3, 0.3, True)
    """

    name: ClassVar[str] = "k-approx"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="k alone: rows with k - 1 others like them stay, the rest is one class",
        paper="Liang, Yuan 2013 (002), section 5, theorem 10",
        needs='recode = "suppress", and no sensitive attribute',
        several_sensitive=False,
        distances=frozenset(),
        guarantees=frozenset({"k"}),
        recodings=frozenset({"suppress"}),
    )

    cut: bool = True

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Form classes anew."""
        requirement.check_whole(table)
        cells = len(table) * len(table.axes)
        kinds = _kinds(table)
        labels, least = _join(kinds, requirement.k)
        facts: dict[str, Any] = {"cost_within": len(table.axes), "loss_at_least": least / cells, "proved_by": PROVED_BY}
        found = Partition.of(labels)
        if self.cut:
            found = run_method(find("mondrian"), table, requirement, rng=rng, control=control, start=found)
            facts |= found.facts
        optimal = round(table.loss(found.labels) * cells) == least
        return replace(found, facts=facts | {"optimal": optimal})


def _kinds(table: EncodedTable) -> Integers:
    """A number for each row, from 0 without gaps: rows with the same places have the same."""
    keys, bound = np.zeros(len(table), np.int64), 1
    for axis, places in zip(table.axes, table.places, strict=True):
        if bound * axis.size >= MOST:
            distinct, keys = np.unique(keys, return_inverse=True)
            bound = len(distinct)
        keys = keys * axis.size + places
        bound *= axis.size
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def _join(kinds: Integers, k: int) -> tuple[Integers, int]:
    """A label for each row, and how many cells every partition suppresses at least."""
    sizes = np.bincount(kinds)
    small = sizes < k
    n_small, spare = int(sizes[small].sum()), int((sizes[~small] - k).sum())
    if n_small >= k or n_small == 0:
        return np.where(small[kinds], len(sizes), kinds), n_small
    if n_small + spare >= k:
        labels = np.where(small[kinds], len(sizes), kinds)
        labels[_spared(kinds, sizes, k, k - n_small)] = len(sizes)
        return labels, k
    joined = small.copy()
    joined[np.argmin(np.where(small, len(kinds) + 1, sizes))] = True
    return np.where(joined[kinds], len(sizes), kinds), int(sizes[joined].sum())


def _spared(kinds: Integers, sizes: Integers, k: int, wanted: int) -> Integers:
    """So many rows of kinds that keep k without them, from the largest kinds down."""
    largest = np.argsort(-sizes, kind="stable")
    taken = np.zeros_like(sizes)
    taken[largest] = np.diff(np.minimum(np.cumsum(np.maximum(sizes[largest] - k, 0)), wanted), prepend=0)
    rows = np.argsort(kinds, kind="stable")
    place = np.arange(len(kinds)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its kind
    return rows[place < taken[kinds[rows]]]
