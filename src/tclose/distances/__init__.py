"""Ground distances between sensitive values, and the Earth Mover's Distance under each.

Every distance of one attribute but a matrix is a tree metric. Cut an edge e of the tree: P(e) and Q(e) are the
masses on its far side, and whatever they differ by must cross it, so

    EMD(P, Q) = sum over edges e of  weight(e) |P(e) - Q(e)|  /  denominator

with integer weights. An order is a path (`Line`); equal distance is a star, and a hierarchy the
tree itself (`Tree`). With class counts c over s rows and reference counts N over n rows this is
the integer sum of weight |n c(e) - s N(e)| over n s denominator: nothing is rounded.
A matrix, and the mean of several attributes' distances, have no such form: they are a transport problem
in integers (`Transport`), and exact too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

from tclose.distances.belief_rise import largest_rise, largest_t
from tclose.distances.equal import Equal
from tclose.distances.hierarchical import Hierarchical
from tclose.distances.line import Line
from tclose.distances.matrix import Matrix
from tclose.distances.numeric import Numeric
from tclose.distances.ordered import Ordered
from tclose.distances.transport_form import Transport
from tclose.distances.tree import Tree

__all__ = ["Distance", "Equal", "Form", "Hierarchical", "Line", "Matrix", "Numeric", "Ordered", "Transport"]
__all__ += ["Tree", "emd", "largest_rise", "largest_t", "moves"]

Distance = Equal | Ordered | Numeric | Hierarchical | Matrix
Form = Line | Tree | Transport
Mass = int | float | Decimal | Fraction
Masses = Sequence[Mass] | Mapping[Any, Mass]


def emd(p: Masses, q: Masses, distance: str | Distance) -> Fraction:
    """The least work that turns one distribution into the other.

    Parameters
    ----------
    p, q
        Counts or masses, each scaled to sum to one: sequences over the same domain, or
        mappings from value to mass.
    distance
        `"equal"` or `"ordered"`, or an object of this module that carries its order,
        values, hierarchy or matrix.

    Returns
    -------
    :
        Exact.

    Examples
    --------
    >>> emd([1, 1, 0], [1, 1, 1], "ordered")
    Fraction(1, 4)
    >>> emd({"flu": 1}, {"flu": 1, "cold": 3}, "equal")
    Fraction(3, 4)
    """
    form, left, right, _ = _align(p, q, distance)
    return form.emd(left, right)


def moves(p: Masses, q: Masses, distance: str | Distance) -> list[tuple[Any, Any, Fraction]]:
    """One optimal transport plan from `p` to `q`: (from, to, mass), only what moves.

    The parameters are those of `emd`. Places are indices into the domain, or the values
    where `p` and `q` are mappings.

    Examples
    --------
    >>> moves([1, 1, 0], [1, 1, 1], "ordered")
    [(0, 2, Fraction(1, 6)), (1, 2, Fraction(1, 6))]
    """
    form, left, right, names = _align(p, q, distance)
    return [(names[source], names[target], mass) for source, target, mass in form.moves(left, right)]


def _align(
    p: Masses, q: Masses, distance: str | Distance
) -> tuple[Form, list[Fraction], list[Fraction], Sequence[Any]]:
    if isinstance(distance, str):
        if distance not in ("equal", "ordered"):
            raise ValueError(
                f"'{distance}' is not a distance that needs nothing else. Use 'equal' or 'ordered', or an object "
                "of tclose.distances: Numeric(values), Hierarchical(hierarchy), Matrix(costs)."
            )
        distance = Equal() if distance == "equal" else Ordered()
    if not isinstance(distance, Distance):
        raise ValueError("The distance must be 'equal' or 'ordered', or an object of tclose.distances.")
    if isinstance(p, Mapping) != isinstance(q, Mapping):
        raise ValueError("Give both distributions as sequences or both as mappings.")
    domain: Sequence[Any] | None = distance.domain
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        if domain is None:
            domain = list(dict.fromkeys([*p, *q]))
            domain = sorted(domain) if isinstance(distance, Ordered) else domain
        unknown = {*p, *q} - set(domain)
        if unknown:
            raise ValueError(f"{len(unknown)} of the values are not in the domain of the distance.")
        left, right = [p.get(value, 0) for value in domain], [q.get(value, 0) for value in domain]
        names: Sequence[Any] = domain
    else:
        left, right, names = list(p), list(q), range(len(p))
    if len(left) != len(right) or (domain is not None and len(domain) != len(left)):
        raise ValueError("Both distributions must have one mass for each value of the domain.")
    return distance.form(len(left)), _normalized(left), _normalized(right), names


def _normalized(masses: Sequence[Mass]) -> list[Fraction]:
    exact = [Fraction(mass if isinstance(mass, Rational | Decimal) else str(mass)) for mass in masses]
    total = sum(exact)
    if total <= 0 or min(exact) < 0:
        raise ValueError("Masses must not be negative, and not all zero.")
    return [mass / total for mass in exact]
