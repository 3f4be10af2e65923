"""SABRE_W: which classes a window releases when it advances (004 section 5).

The rows of a window are numbered from 0; the first `step` of them expire when it advances. Of the
classes formed for a window only those with expiring rows are released, the others are kept back:
they are formed anew for a later window (case 2), or released as they are if that cannot be done
(case 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import Algorithm
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Attribute, Requirement, is_diverse
from tclose.errors import InfeasibleError
from tclose.schema.schema import Schema
from tclose.stream.reached import reached
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Budget = Literal["printed", "window"]
FormClasses = Callable[[Integers], Integers | None]
NOWHERE = -1
FINEST = 10**9  # kernels take fractions of small terms; what is left of t is rounded down to such parts


@dataclass(frozen=True, eq=False)
class Advance:
    """What happens when a window advances.

    Attributes
    ----------
    case
        1: nothing is left to release. 2: classes are formed of all rows not yet out. 3: those kept
        back are released.
    released
        The class of each row that is released now, else -1.
    kept
        The class of each row whose class is kept back afterwards, else -1; in case 3 under its old number.
    stuck
        Rows that expire and are in no class. There are none unless l, rise or beta is asked (theorem 5).
    """

    case: Literal[1, 2, 3]
    released: Integers
    kept: Integers
    stuck: Flags


def advance(out: Flags, kept: Integers, step: int, form: FormClasses, last: bool = False) -> Advance:
    """One turn of the loop of SABRE_W, but for moving the window on.

    Parameters
    ----------
    out
        Whether each row of the window is out already.
    kept
        The class of each row among those kept back, -1 elsewhere.
    step
        How many rows expire.
    form
        Gives classes 0, 1, 2, ... for some rows, or None where that cannot be done.
    last
        Whether the stream has ended: then case 3 releases only those classes kept back that have expiring
        rows, as the last rows may need the others to join them. The paper has no end, and releases all.

    Examples
    --------
    >>> out, kept = np.zeros(6, bool), np.full(6, NOWHERE)
    >>> done = advance(out, kept, 2, lambda rows: np.array([0, 1, 0, 2, 1, 2]))
    >>> done.case, done.released.tolist(), done.kept.tolist()
    (2, [0, 1, 0, -1, 1, -1], [-1, -1, -1, 0, -1, 0])
    """
    nobody = np.zeros(len(out), bool)
    expiring = ~out
    expiring[step:] = False
    if not expiring.any():
        return Advance(1, np.full(len(out), NOWHERE), kept, nobody)
    rows = np.flatnonzero(~out)
    formed = form(rows)
    if formed is None:
        stays = np.isin(kept, kept[expiring], invert=True) & (kept != NOWHERE) & last
        released, later = np.where(stays, NOWHERE, kept), np.where(stays, kept, NOWHERE)
        return Advance(3, released, later, expiring & (kept == NOWHERE))
    labels = np.full(len(out), NOWHERE)
    labels[rows] = formed
    leaves = np.zeros(int(formed.max()) + 1, bool)
    leaves[labels[expiring]] = True
    now = labels >= 0
    now[rows] = leaves[formed]
    return Advance(2, _numbered(labels, now), _numbered(labels, ~now & (labels >= 0)), nobody)


def _numbered(labels: Integers, chosen: Flags) -> Integers:
    """Some of the classes, numbered without gaps."""
    result = np.full(len(labels), NOWHERE)
    if chosen.any():
        result[chosen] = Partition.of(labels[chosen]).labels
    return result


@dataclass(frozen=True, eq=False)
class WindowSplitter:
    """How classes are formed that are close to a window: DIRECT.

    Attributes
    ----------
    schema
        What is asked.
    table
        The rows of the window.
    algorithm
        The method.
    budget
        `printed`: the rows to be released are partitioned as a table of their own, whose classes may be
        t - D from it; D is how far that table is from the window. `window`: classes are measured
        against the window itself, and may be t from it.
    """

    schema: Schema
    table: EncodedTable
    algorithm: Algorithm
    budget: Budget = "printed"

    def requirement(self, rows: Integers) -> Requirement | None:
        """What is asked of classes of these rows; None if not even all of them together meet it.

        EMD(class, window) <= EMD(class, rows) + EMD(rows, window) <= (t - D) + D = t, for each attribute. Shares of
        single values, which caps limit, are compared with those of the window itself.
        """
        whole = Requirement.of(self.schema, self.table)
        if len(rows) < whole.k:
            return None
        labels = np.full(len(self.table), NOWHERE)
        labels[rows] = 0
        attributes = []
        for attribute, codes, found in zip(
            whole.attributes, self.table.codes, reached(self.schema, self.table, labels).values(), strict=True
        ):
            counts = np.bincount(codes[rows], minlength=attribute.domain.size).astype(np.int64)
            left = _left_of_t(attribute, found.exact(0))
            if (left is not None and left < 0) or (attribute.l is not None and not is_diverse(counts, attribute.l)):
                return None
            if not attribute.keeps_caps(counts):
                return None
            attributes.append(replace(attribute, reference=counts, t=left, cap_reference=attribute.reference))
        return replace(whole, attributes=tuple(attributes), n=len(rows)) if self.budget == "printed" else whole

    def form(self, rows: Integers, rng: np.random.Generator) -> Integers | None:
        """Classes of these rows, or None where there are none that meet what is asked."""
        requirement = self.requirement(rows)
        if requirement is None:
            return None
        try:
            found = self.algorithm.partition(self.table.take(rows), requirement, rng=rng, control=Control())
        except InfeasibleError:
            return None
        return found.labels


def _left_of_t(attribute: Attribute, distance: Fraction) -> Fraction | None:
    """t - D, if need be rounded down; None where no t is asked."""
    if attribute.t is None:
        return None
    left = attribute.t - distance
    return left if left.denominator <= FINEST else Fraction(left.numerator * FINEST // left.denominator, FINEST)
