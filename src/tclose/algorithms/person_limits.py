"""Caps on belief in persons: the largest share of a class's persons who may have a value.

Let a class have the rows of P persons, c of whom have a row of a value, and the table n persons, N of whom have one.
A cap says c / P <= q with q from N / n, as for rows. A person in two classes counts once in their union, so the union
of two classes that keep a cap may break it: of {ann: flu, bob: cold} and {cyd: flu, bob: cold} each has flu in 1 of 2
persons, and together they have it in 2 of 3. Whoever merges classes must look at the union.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.share_limits import LARGEST_CLASS, limits_of_counts
from tclose.schema.belief_caps import BeliefCaps
from tclose.table.person_codes import Holders

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PersonLimits:
    """The largest shares of a class's persons.

    Attributes
    ----------
    over, under
        Of each value, or node, the largest share is over / under.
    holders
        Which persons have which values.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from tclose.table.person_codes import code_holders
    >>> codes, holders = code_holders(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1], np.int32), 2, None)
    >>> limits = PersonLimits.of(BeliefCaps(rise=Fraction(1, 6)), holders, np.bincount(codes))
    >>> limits.hold(np.bincount(codes[:3], minlength=4)), limits.hold(np.bincount(codes[:2], minlength=4))
    (True, False)
    """

    over: Integers
    under: Integers
    holders: Holders

    @classmethod
    def of(cls, caps: BeliefCaps, holders: Holders, reference: Integers) -> PersonLimits:
        """What caps mean beside a table, of which the rows of each code are given."""
        persons = holders.count(np.flatnonzero(reference))
        over, under = limits_of_counts(caps, persons[:-1], int(persons[-1]), LARGEST_CLASS)
        return cls(over, under, holders)

    def hold(self, counts: Integers) -> bool:
        """Whether a class with these rows of each code keeps every cap."""
        return self.keep(np.flatnonzero(counts))

    def keep(self, codes: Integers | NDArray[np.int32]) -> bool:
        """Whether a class of rows with these codes keeps every cap."""
        persons = self.holders.count(codes)
        return bool((persons[:-1] * self.under <= self.over * persons[-1]).all())

    def broken(self, owner: Integers, code: Integers, count: Integers, sizes: Integers) -> NDArray[np.bool_]:
        """Which of some classes break a cap, from the codes that occur in each of them."""
        found = np.zeros(len(sizes), bool)
        for each in np.unique(owner).tolist():
            persons = self.holders.count(code[owner == each])
            found[each] = bool((persons[:-1] * self.under > self.over * persons[-1]).any())
        return found
