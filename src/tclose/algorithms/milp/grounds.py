"""What says in linear terms that a class is close: by sets of values, by the edges of a tree, or by a plan of moves.

Caps on the shares of values are said by sets, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute
from tclose.algorithms.share_limits import ShareLimits
from tclose.distances import Line, Transport
from tclose.distances.transport_form import ground_distances

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ProgramRow = tuple[Sequence[tuple[Integers, Floats | float]], float, float]

FEW = 4  # values of which all sets are written down
LARGEST = 2**50  # coefficients that a float holds, with room to spare


@dataclass(frozen=True, eq=False)
class Sets:
    """A distance that is the same between any two values: no set of them may have more than t / far beyond its share.

    The distance of p from q is far times the largest p(S) - q(S) over all sets S. With share(S) =
    q(S) + t / far that is, in whole numbers and without any aid,

        (1 - share(S)) (rows inside S) <= share(S) (rows outside S)

    Attributes
    ----------
    inside
        The codes of each set.
    below, n
        The reference's rows in each set, and all of them.
    far
        The distance.
    """

    inside: NDArray[np.bool_]
    below: Integers
    n: int
    far: Fraction
    exact: ClassVar[bool] = True
    most_columns: ClassVar[int] = 0

    def n_columns(self, codes: Integers) -> int:
        """It needs no aids."""
        return 0

    def rows(self, codes: Integers, own: Integers, size: Integers, aids: Integers, t: Fraction) -> Iterator[ProgramRow]:
        """The rows of a program that say so: `own` are the columns of the class, `codes` theirs."""
        for inside, below in zip(self.inside, self.below.tolist(), strict=True):
            share = Fraction(below, self.n) + t / self.far
            if share < 1 and (own_inside := inside[codes]).any():
                over, under = (share / (1 - share)).as_integer_ratio()
                yield [(own, np.where(own_inside, float(under), -float(over)))], -np.inf, 0.0


@dataclass(frozen=True, eq=False)
class CappedSets:
    """Sets of values whose share of a class has a limit: (1 - share) (rows inside) <= share (rows outside).

    Attributes
    ----------
    inside
        The codes of each set.
    shares
        The largest share of each, below 1 and with a denominator of at most the rows of the table.
    """

    inside: NDArray[np.bool_]
    shares: tuple[Fraction, ...]
    exact: ClassVar[bool] = True
    most_columns: ClassVar[int] = 0

    def n_columns(self, codes: Integers) -> int:
        """It needs no aids."""
        return 0

    def rows(self, codes: Integers, own: Integers, size: Integers, aids: Integers, t: Fraction) -> Iterator[ProgramRow]:
        """The rows of a program that say so, whatever t is: `own` are the columns of the class, `codes` theirs."""
        for inside, share in zip(self.inside, self.shares, strict=True):
            if (own_inside := inside[codes]).any():
                over, under = (share / (1 - share)).as_integer_ratio()
                yield [(own, np.where(own_inside, float(under), -float(over)))], -np.inf, 0.0


@dataclass(frozen=True, eq=False)
class Edges:
    """A distance that is a tree metric: the sum over edges of weight |mass beyond the edge - reference there|.

    With c(e) the rows of a class of s rows beyond edge e, and q(e) the reference's share there,
    d(e) = c(e) - q(e) s. As |d| = 2 max(d, 0) - d, one aid a(e) >= max(d(e), 0) an edge says it all:

        sum over e of weight(e) (2 a(e) - d(e)) / denominator <= t s

    Edges beyond which no row of the pattern lies, or all, need none: d has one sign there.

    Attributes
    ----------
    weights, denominator
        Of each edge, and of all.
    beyond
        Which codes lie beyond each edge.
    below, n
        The reference's rows beyond each, and all of them.
    """

    weights: Integers
    denominator: int
    beyond: NDArray[np.bool_]
    below: Integers
    n: int
    exact: ClassVar[bool] = False

    @property
    def most_columns(self) -> int:
        """How many aids a pattern needs at most."""
        return len(self.weights)

    def n_columns(self, codes: Integers) -> int:
        """How many aids a pattern with these codes needs."""
        return int(self._is_open(codes).sum())

    def _is_open(self, codes: Integers) -> NDArray[np.bool_]:
        beyond = self.beyond[:, codes]
        return np.asarray(beyond.any(axis=1) & ~beyond.all(axis=1))

    def rows(self, codes: Integers, own: Integers, size: Integers, aids: Integers, t: Fraction) -> Iterator[ProgramRow]:
        """The rows of a program that say so: `own` are the columns of the class, `codes` theirs.

        Every coefficient is one exact number, rounded once.
        """
        beyond, is_open = self.beyond[:, codes], self._is_open(codes)
        for aid, edge in zip(aids, np.flatnonzero(is_open), strict=True):
            share = int(self.below[edge]) / self.n
            yield [(aid[None], 1.0), (own[beyond[edge]], -1.0), (size, share)], 0.0, np.inf
        masses = np.where(beyond.all(axis=1), self.n - self.below, self.below).tolist()
        work = sum(weight * mass for weight, mass in zip(self.weights.tolist(), masses, strict=True))
        of_size = float(Fraction(work, self.n * self.denominator) - t)
        of_own = -(self.weights[is_open] @ beyond[is_open]) / self.denominator
        yield [(aids, 2 * self.weights[is_open] / self.denominator), (own, of_own), (size, of_size)], -np.inf, 0.0


@dataclass(frozen=True, eq=False)
class Moves:
    """Any distance, as 002 prints it: mass moved from each value of the class to each of the reference.

    Attributes
    ----------
    costs
        The distance of each value from each other.
    shares
        The reference's share of each.
    """

    costs: Floats
    shares: Floats
    exact: ClassVar[bool] = False

    @property
    def most_columns(self) -> int:
        """How many moves there are at most."""
        return len(self.shares) * int((self.shares > 0).sum())

    def n_columns(self, codes: Integers) -> int:
        """How many moves a pattern with these codes needs."""
        return len(np.unique(codes)) * int((self.shares > 0).sum())

    def rows(self, codes: Integers, own: Integers, size: Integers, aids: Integers, t: Fraction) -> Iterator[ProgramRow]:
        """The rows of a program that say so: `own` are the columns of the class, `codes` theirs."""
        present, wanted = np.unique(codes), np.flatnonzero(self.shares > 0)
        plan = aids.reshape(len(present), len(wanted))
        for leaving, code in zip(plan, present, strict=True):
            yield [(leaving, 1.0), (own[codes == code], -1.0)], 0.0, 0.0
        for arriving, code in zip(plan.T, wanted, strict=True):
            yield [(arriving, 1.0), (size, -float(self.shares[code]))], 0.0, 0.0
        yield [(plan.ravel(), self.costs[np.ix_(present, wanted)].ravel()), (size, -float(t))], -np.inf, 0.0


ProgramGround = Sets | CappedSets | Edges | Moves


def ground_of(attribute: Attribute) -> ProgramGround:
    """The distance of an attribute, from its own reference.

    Examples
    --------
    >>> from tclose.table.encode import Domain
    >>> line = Domain("days", Line(np.array([0, 1, 4]), 4), False)
    >>> ground_of(Attribute(line, np.array([1, 1, 2]), None, None)).below
    array([1, 2])
    """
    form, reference = attribute.domain.form, attribute.reference
    if (sets := _sets_of(attribute)) is not None:
        return sets
    if isinstance(form, Transport):
        return Moves(form.distances, reference / reference.sum())
    codes = np.arange(form.size)
    if isinstance(form, Line):
        weights, denominator = np.diff(form.positions), form.span
        beyond = codes[None, :] <= codes[:-1, None]
    else:
        weights, denominator = form.weights[1:], form.denominator
        beyond = (form.paths[None, :, :] == np.arange(1, len(form.parents))[:, None, None]).any(axis=2)
    weights, beyond = weights[weights > 0].astype(np.int64), beyond[weights > 0]
    return Edges(weights, denominator, beyond, beyond.astype(np.int64) @ reference, int(reference.sum()))


def capped_sets(attribute: Attribute, n_rows: int) -> CappedSets | None:
    """The caps of an attribute, for classes of a table of so many rows; None where none says anything.

    Examples
    --------
    >>> from tclose.schema.belief_caps import BeliefCaps
    >>> from tclose.table.encode import Domain
    >>> line = Domain("days", Line(np.array([0, 1]), 1), False)
    >>> capped_sets(Attribute(line, np.array([1, 3]), None, None, BeliefCaps(rise=Fraction(1, 4))), 4).shares
    (Fraction(1, 2),)
    """
    if attribute.caps is None:
        return None
    limits = ShareLimits.of(attribute.caps, attribute.domain.form, attribute.believed, n_rows)
    found = list(limits.sets())
    return CappedSets(np.array([inside for inside, _ in found]), tuple(share for _, share in found)) if found else None


def _sets_of(attribute: Attribute) -> Sets | None:
    """All sets of its values, if these are few and equally far from each other."""
    m, n, t = attribute.domain.size, int(attribute.reference.sum()), attribute.t
    if not 1 < m <= FEW or t is None:
        return None
    far = {cost for place, row in enumerate(exact_costs(attribute)) for cost in row[:place]}
    if len(far) > 1 or 0 in far or n * (t / min(far)).denominator > LARGEST:
        return None
    inside = np.array([flags for flags in product((False, True), repeat=m) if 0 < sum(flags) < m])
    return Sets(inside, inside.astype(np.int64) @ attribute.reference, n, min(far))


def exact_costs(attribute: Attribute) -> list[list[Fraction]]:
    """The distance of each value from each other."""
    form = attribute.domain.form
    costs, under = ground_distances(form, np.arange(form.size))
    return [[Fraction(cost, under) for cost in row] for row in costs.tolist()]
