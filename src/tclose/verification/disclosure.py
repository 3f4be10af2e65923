"""What classes tell of single values, by the measures of the literature: reported of any table, raw or released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.belief_caps import BeliefCaps
from tclose.verification.belief_rises import CountedShares, RiseSearch, distinct_rows
from tclose.verification.measure_release import exact_and_float
from tclose.verification.released_classes import ClassCounts

NEAR = 2.0**-44  # quotients of counts that differ by less are compared as fractions


@dataclass(frozen=True)
class Disclosure:
    """The largest of each measure over all classes, p being the share of a value in the table and q in the class.

    Attributes
    ----------
    alpha
        q: with k, that is (alpha, k)-anonymity.
    rise
        q - p.
    beta
        q / p - 1: basic beta-likeness.
    enhanced_beta
        The least beta of which the enhanced form holds, which is `beta` if no q is above (1 - ln p) p; else there is
        none.
    log_ratio
        |ln(q / p)| of the values that a class has.
    ratio
        The q / p whose logarithm that is.
    delta
        |ln(q / p)| of all values, delta-disclosure; None, as it is infinite, if a class lacks a value of the table.
    """

    alpha: Fraction
    rise: Fraction
    beta: Fraction
    enhanced_beta: Fraction | None
    log_ratio: float
    ratio: Fraction
    delta: float | None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: what is rational exactly and as a float."""
        enhanced = None if self.enhanced_beta is None else exact_and_float(self.enhanced_beta)
        return {
            **{name: exact_and_float(getattr(self, name)) for name in ("alpha", "rise", "beta")},
            "enhanced_beta": enhanced,
            "delta": self.delta,
            "log_ratio": {"of": str(self.ratio), "value": self.log_ratio},
        }


def disclosure(reference: NDArray[np.int64], blocks: Iterable[ClassCounts]) -> Disclosure:
    """All measures over all classes, which are in one block at least.

    Parameters
    ----------
    reference
        How often each value occurs in the table.
    blocks
        The same of each class, some classes at a time.

    Examples
    --------
    >>> from tclose.verification.released_classes import Grouping, count_values
    >>> groups = Grouping(np.array([0, 0, 1, 1]), np.array([2, 2]))
    >>> found = disclosure(np.array([3, 1]), count_values(groups, np.array([0, 0, 0, 1], np.int32), 2))
    >>> found.alpha, found.rise, found.beta, found.ratio, found.delta
    (Fraction(1, 1), Fraction(1, 4), Fraction(1, 1), Fraction(2, 1), None)
    """
    counted = CountedShares(reference, int(reference.sum()), None)
    rises = RiseSearch(BeliefCaps(enhanced=True), counted)
    alpha, least = Fraction(0), Fraction(1)
    n_classes, seen_in = 0, np.zeros(len(reference), np.int64)
    for block in blocks:
        rises.look(block)
        count, size, whole = counted.entries(block)
        shares, ratios = count / size, count / size / whole
        for c, s, _ in distinct_rows(shares >= shares.max() * (1 - NEAR), count, size, whole):
            alpha = max(alpha, Fraction(c, s))
        for c, s, of in distinct_rows(ratios <= ratios.min() * (1 + NEAR), count, size, whole):
            least = min(least, Fraction(c * counted.n, s * of))
        n_classes += len(block.sizes)
        seen_in += np.bincount(block.codes, minlength=len(reference))
    found = rises.result()
    ratio = max(found.beta + 1, least, key=lambda each: max(each, 1 / each))
    lacking = bool(((seen_in < n_classes) & (reference > 0)).any())
    size_of_log = log(max(ratio, 1 / ratio))
    return Disclosure(
        alpha,
        found.rise,
        found.beta,
        found.beta if found.meets["enhanced"] else None,
        size_of_log,
        ratio,
        None if lacking else size_of_log,
    )
