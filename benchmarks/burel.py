"""BUREL, the method of beta-likeness, built plainly: buckets of sensitive values, halved while they may be, filled up.

J. Cao, P. Karras: Publishing Microdata with a Robust Privacy Guarantee. PVLDB 5(11), 2012, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.along import take_along
from tclose.algorithms.shared.class_sizes import halve
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Burel:
    """Buckets of values, of which every class takes about its share, so that even one value of a bucket keeps its cap.

    1. Values are sorted by frequency. A bucket is a run of them whose rows together are at most f(p) of the table,
       where p is the share of its rarest value and f the cap; dynamic programming finds the fewest buckets.
    2. The table is halved, and so are its halves, while no bucket has more than f(p) of the rows of either half.
    3. Around a random row, each class takes its rows of every bucket, the next along a Hilbert curve.

    Buckets that use their caps up leave no room for halves that are not quite even, and then there are few classes.

    Parameters
    ----------
    budget
        The part of its cap that a bucket may have in the whole table; 1 as printed.
    """

    name: ClassVar[str] = "burel"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="buckets of values by frequency",
        paper="Cao and Karras 2012",
        several_sensitive=False,
        guarantees=frozenset({"k", "beta"}),
    )

    budget: float = 1.0

    def refuse(self, schema: Schema) -> None:
        """It is made for one attribute with a beta, on its values."""
        if len(schema.sensitive) != 1 or schema.sensitive[0].beta is None or schema.sensitive[0].levels:
            raise SchemaError("'burel' takes one sensitive attribute with a beta, and no levels.")

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
        (attribute,) = requirement.attributes
        limits = attribute.limits
        assert limits is not None
        caps = limits.over / limits.under
        of_value, tops = buckets(attribute.reference, caps, self.budget)
        owners = of_value[table.codes[0]]

        def may_be(sizes: NDArray[np.int64]) -> bool:
            return bool(sizes.sum() >= requirement.k and (sizes <= tops * sizes.sum()).all())

        sizes = halve(np.bincount(owners, minlength=len(tops)).astype(np.int64), may_be, Stage(control, 0.0, 0.1))
        labels, _ = take_along(table, owners, sizes, int(rng.integers(2**62)), Stage(control, 0.1, 1.0))
        return Partition.of(labels)


def buckets(reference: NDArray[np.int64], caps: Floats, budget: float = 1.0) -> tuple[NDArray[np.int32], Floats]:
    """The bucket of each value, and the largest share of each: the fewest runs of values in the order of frequency.

    A value alone is a bucket whatever the budget is.

    Examples
    --------
    >>> buckets(np.array([1, 1, 2]), np.array([0.5, 0.5, 1.0]))
    (array([0, 0, 1], dtype=int32), array([0.5, 1. ]))
    """
    order = np.argsort(reference, kind="stable")
    order = order[reference[order] > 0]
    below = np.concatenate([[0], np.cumsum(reference[order])]) / reference.sum()
    fewest, first = [0.0] + [math.inf] * len(order), [0] * (len(order) + 1)
    for end in range(1, len(order) + 1):
        for begin in range(end):
            fits = end - begin == 1 or below[end] - below[begin] <= budget * caps[order[begin]]
            if fits and fewest[begin] + 1 < fewest[end]:
                fewest[end], first[end] = fewest[begin] + 1, begin
    tops: list[float] = []
    of_value, end = np.zeros(len(reference), np.int32), len(order)
    while end > 0:
        of_value[order[first[end] : end]] = len(tops)
        tops.append(float(caps[order[first[end]]]))
        end = first[end]
    return len(tops) - 1 - of_value, np.array(tops[::-1])
