"""The end of a stream: what becomes of the rows that no window will release any more.

Beside the classes kept back there are rows that came after these were formed. They must be close to
the last window by themselves, or together with classes kept back, which then are not released as
they are. What cannot be made close is withheld. The paper has no end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.stream.windows import NOWHERE, Flags, WindowSplitter

Integers = NDArray[np.int64]
PARTS = 64  # of the rows left, in which it is looked for the most that can be released


@dataclass(frozen=True, eq=False)
class Settlement:
    """What happens to the rows of the last window that are not out.

    Attributes
    ----------
    formed
        The class of each row in a class formed for the last window, else -1.
    kept
        The class of each row of those kept back that are released as they are, else -1.
    withheld
        Rows that are never released.
    """

    formed: Integers
    kept: Integers
    withheld: Flags


def end(out: Flags, kept: Integers, splitter: WindowSplitter, rng: np.random.Generator) -> Settlement:
    """Release as many rows as can be; whole classes kept back join the others only where that helps.

    Parameters
    ----------
    out, kept
        As for `advance`, of the last window.
    splitter
        How classes close to it are formed.
    rng
        For the method, and to choose among equal rows.
    """
    nobody = np.zeros(len(out), bool)
    everyone = np.flatnonzero(~out)
    if not len(everyone):
        return Settlement(np.full(len(out), NOWHERE), np.full(len(out), NOWHERE), nobody)
    if (labels := splitter.form(everyone, rng)) is not None:
        return Settlement(_put(len(out), everyone, labels), np.full(len(out), NOWHERE), nobody)
    late = np.flatnonzero(~out & (kept == NOWHERE))
    if not len(late):
        return Settlement(np.full(len(out), NOWHERE), kept, nobody)
    requirement = Requirement.of(splitter.schema, splitter.table)
    for chosen in _candidates(late, kept, requirement, splitter, rng):
        labels = splitter.form(chosen, rng)
        if labels is not None:
            formed = _put(len(out), chosen, labels)
            left = np.where(formed == NOWHERE, kept, NOWHERE)
            return Settlement(formed, left, ~out & (formed == NOWHERE) & (left == NOWHERE))
    return Settlement(np.full(len(out), NOWHERE), kept, ~out & (kept == NOWHERE))


def _put(n_rows: int, rows: Integers, labels: Integers) -> Integers:
    result = np.full(n_rows, NOWHERE)
    result[rows] = labels
    return result


def _candidates(
    late: Integers, kept: Integers, requirement: Requirement, splitter: WindowSplitter, rng: np.random.Generator
) -> list[Integers]:
    """Which rows to release together, the best first: late ones, as many as can be, and whole classes kept back."""
    candidates = [late]
    classes = [np.flatnonzero(kept == each) for each in np.unique(kept[kept != NOWHERE])]
    helpful = sorted(classes, key=lambda rows: farthest(requirement, splitter, np.append(late, rows)))
    joined = late
    for rows in helpful:
        joined = np.append(joined, rows)
        if farthest(requirement, splitter, joined) <= 1:
            candidates.append(np.sort(joined))
            break
    thinned = [_thin(late, base, requirement, splitter, rng) for base in (late[:0], np.flatnonzero(kept != NOWHERE))]
    candidates += sorted((rows for rows in thinned if len(rows)), key=len, reverse=True)
    return candidates


def farthest(requirement: Requirement, splitter: WindowSplitter, rows: Integers) -> Fraction:
    """The largest distance of these rows together from the window, in units of its t; 0 of 0 is 0.

    A cap that they break is as if they were twice as far as allowed.
    """
    shares = [Fraction(0)]
    for attribute, codes in zip(requirement.attributes, splitter.table.codes, strict=True):
        counts = np.bincount(codes[rows], minlength=attribute.domain.size).astype(np.int64)
        shares.append(Fraction(0 if attribute.keeps_caps(counts) else 2))
        if attribute.t is not None:
            distance = Fraction(attribute.distance(counts))
            shares.append(distance / attribute.t if attribute.t else Fraction(2 * (distance > 0)))
    return max(shares)


def _thin(
    late: Integers, base: Integers, requirement: Requirement, splitter: WindowSplitter, rng: np.random.Generator
) -> Integers:
    """`base` and as many late rows as found: of each combination of sensitive values no more than its share.

    With shares as in the window, times a factor, what is taken comes the nearer to the window the
    smaller the factor is; factors are tried from above.
    """
    combinations = np.zeros(len(splitter.table), np.int64)
    for codes in splitter.table.codes:
        combinations = np.unique(combinations * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    share = np.bincount(combinations)
    mixed = rng.permutation(late)
    order = mixed[np.argsort(combinations[mixed], kind="stable")]
    own = combinations[order]
    rank = np.arange(len(order)) - np.searchsorted(own, own)  # among the rows of the same combination
    already = np.bincount(combinations[base], minlength=len(share))
    for part in range(PARTS, 0, -1):
        most = np.ceil(share * part / PARTS) - already
        chosen = order[rank < most[own]]
        rows = np.sort(np.append(base, chosen))
        if len(chosen) and len(rows) >= requirement.k and farthest(requirement, splitter, rows) <= 1:
            return rows
    return late[:0]
