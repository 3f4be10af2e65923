"""What is asked lets a belief in a sensitive value rise by at most so much: beside what attackers reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.person_limits import PersonLimits
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.evaluation.attacks.skewness import largest_rise
from tclose.schema.schema import Schema
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable
from tclose.table.person_codes import Holders

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AllowedRise:
    """The most that caps allow, and what a release reaches.

    Attributes
    ----------
    counted
        What shares are of: `rows`, or `persons` where the promise is made in these.
    rise, ratio
        The largest q - p and q / p that any value may have, p being its share in the table and q in a class.
    reached
        The largest q - p in the release; None without one.
    """

    counted: Literal["rows", "persons"]
    rise: Fraction
    ratio: Fraction
    reached: Fraction | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        numbers = {"rise": self.rise, "ratio": self.ratio, "reached": self.reached}
        return {
            "counted": self.counted,
            **{name: None if each is None else float(each) for name, each in numbers.items()},
        }


def allowed_rises(
    schema: Schema, table: EncodedTable, requirement: Requirement, labels: Integers | None
) -> dict[str, AllowedRise]:
    """By sensitive attribute with caps, what these allow and what classes reach.

    Of an attribute that is binned nothing is said: its caps are on the bins, and a belief in a value inside one has
    no cap.
    """
    found = {}
    capped = iter(each for each in zip(requirement.attributes, table.codes, strict=True) if each[0].domain.holders)
    for place, sensitive in enumerate(schema.sensitive):
        if sensitive.caps is None:
            continue
        attribute, codes = (
            next(capped) if schema.counts_persons else (requirement.attributes[place], table.codes[place])
        )
        if sensitive.bins is None and sensitive.edges is None:
            found[sensitive.column] = _allowed(attribute, codes, labels)
    return found


def allowed_words(found: Mapping[str, AllowedRise]) -> list[str]:
    """What is allowed beside what is reached, a sentence for each attribute.

    Examples
    --------
    >>> allowed_words({"ill": AllowedRise("rows", Fraction(1, 10), Fraction(2), Fraction(7, 100))})[0]
    "By its caps the belief in a value of 'ill' may rise by 10.0 points at most; in the release it rises by 7.0 points."
    """
    told = []
    for name, each in found.items():
        what = f"the belief in a value of '{name}'"
        if each.counted == "persons":
            what = f"the belief that a person has a row of a value of '{name}'"
        reached = "" if each.reached is None else f"; in the release it rises by {float(100 * each.reached):.1f} points"
        told.append(f"By its caps {what} may rise by {float(100 * each.rise):.1f} points at most{reached}.")
    return told


def _allowed(attribute: Attribute, codes: NDArray[np.int32], labels: Integers | None) -> AllowedRise:
    if (limits := attribute.person_limits) is not None:
        counts = limits.holders.count(np.flatnonzero(attribute.reference))
        most = most_allowed(limits.over, limits.under, counts[:-1], int(counts[-1]))
        reached = None if labels is None else _reached_in_persons(limits, codes, labels, counts)
        return AllowedRise("persons", *most, reached)
    assert attribute.limits is not None
    over, under = attribute.limits.over, attribute.limits.under
    if attribute.limits.paths is not None:  # a value has no larger share than any node above it
        shares = attribute.limits.shares
        least = [min(shares[node] for node in path if node >= 0) for path in attribute.limits.paths.tolist()]
        over = np.array([share.numerator for share in least])
        under = np.array([share.denominator for share in least])
    most = most_allowed(over, under, attribute.believed, int(attribute.believed.sum()))
    reached = None if labels is None else largest_rise(Tally.of(labels, codes, attribute.domain.size))
    return AllowedRise("rows", *most, reached)


def most_allowed(over: Integers, under: Integers, counts: Integers, n: int) -> tuple[Fraction, Fraction]:
    """The largest difference and the largest quotient of an allowed share, over / under, and that in the table.

    Examples
    --------
    >>> most_allowed(np.array([1, 3]), np.array([2, 4]), np.array([1, 3]), 4)
    (Fraction(1, 4), Fraction(2, 1))
    """
    known = {
        (Fraction(int(over[each]), int(under[each])), Fraction(int(counts[each]), n))
        for each in np.flatnonzero(counts).tolist()
    }
    allowed = [(min(share, Fraction(1)), of_table) for share, of_table in known]
    return max(share - of for share, of in allowed), max(share / of for share, of in allowed)


def _reached_in_persons(limits: PersonLimits, codes: NDArray[np.int32], labels: Integers, counts: Integers) -> Fraction:
    holders: Holders = limits.holders
    best, order = Fraction(0), np.argsort(labels, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        own = holders.count(codes[rows])
        rises = own[:-1] / own[-1] - counts[:-1] / counts[-1]
        for node in np.flatnonzero(rises >= rises.max() - 1e-12).tolist():
            rise = Fraction(int(own[node]), int(own[-1])) - Fraction(int(counts[node]), int(counts[-1]))
            best = max(best, rise)
    return best
