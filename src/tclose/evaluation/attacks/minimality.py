"""Minimality: knowing the method, run it on every table it might have been (Wong et al., 2007).

A method that generalizes only where it must tells by its classes where it had to. The attacker has
everyone's quasi-identifiers, knows who is in which class, and the method with its parameters. The sensitive
values of a class are published, but not whose is whose: every way to deal them out within the
classes is a candidate. The attacker runs the method on candidates and keeps those that give the
release that was made. The belief in a value of a row is how often the row has it in those kept.

The gain is the mean rise of the belief in a row's true value, against all candidates tried. So it is 0 where
every candidate is kept, as for a method that does not look at sensitive values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import Algorithm
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError
from tclose.evaluation.attacks.shown_boxes import shown_classes
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Made = Callable[[Sequence[NDArray[np.int32]], int], Integers | None]  # of codes and a seed
CANDIDATES = 200


@dataclass(frozen=True)
class Minimality:
    """What running the method again tells.

    Attributes
    ----------
    gain
        By sensitive attribute, the mean rise of the belief in a row's true value; rows of which no candidate was
        kept count as 0.
    worst
        By sensitive attribute, the largest rise of the belief in any value of any row; None unless all candidates
        were tried, for the largest of estimates is too large.
    candidates, kept
        How many were tried, and how many gave the same release, for some seed.
    told
        The share of rows of which some candidate was kept. Where it is 0 the search was too small to tell anything.
    exhaustive
        Whether all candidates there are were tried.
    seeds
        How many seeds each was tried with; 0 if the attacker knows the seed.
    """

    gain: dict[str, float]
    worst: dict[str, float | None]
    candidates: int
    kept: int
    told: float
    exhaustive: bool
    seeds: int

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "gain": dict(self.gain), "worst": dict(self.worst)}


def minimality(
    table: EncodedTable,
    requirement: Requirement,
    method: Algorithm,
    *,
    seed: int = 0,
    candidates: int = CANDIDATES,
    seeds: int = 0,
    one_class: bool = False,
) -> Minimality:
    """Attack the release that a method makes of a small table.

    Parameters
    ----------
    table, requirement, method
        What the release is made of, and by which method.
    seed
        Of the release; candidates are drawn by it too.
    candidates
        The most to be tried: all there are if these are no more, else so many by chance.
    seeds
        0 if the attacker knows the seed. Else so many others are tried, and a candidate is trusted
        by how many of them give the release.
    one_class
        The attacker knows the values of everyone outside the class looked at: each class is attacked by itself,
        with so many candidates. Otherwise all classes are dealt out at once, and few candidates fit.

    Cost
    ----
    A run of the method for each candidate and seed.
    """
    made = _runs(table, requirement, method)
    released = made(table.codes, seed)
    if released is None:
        raise InfeasibleError(f"'{method.name}' makes no release of this table, so there is none to attack.")
    rng = np.random.default_rng([seed, 1])
    tries = np.random.default_rng([seed, 2]).integers(0, 2**62, seeds).tolist() if seeds else [seed]
    rises = [np.zeros((len(table), domain.size)) for domain in table.domains]
    classes = np.split(np.argsort(released, kind="stable"), np.cumsum(np.bincount(released))[:-1])
    tried, kept, told, exhaustive = 0, 0, 0, True
    for attacked in [[rows] for rows in classes] if one_class else [classes]:
        deals, complete = _deals(table, attacked, candidates, rng)
        weights = np.array(
            [_likelihood(made, [codes[deal] for codes in table.codes], tries, released) for deal in deals]
        )
        rows = np.concatenate(attacked)
        for rise, domain, codes in zip(rises, table.domains, table.codes, strict=True):
            rise[rows] = _rises(codes[deals[:, rows]], domain.size, weights)
        fitting = int(np.count_nonzero(weights))
        tried, kept, exhaustive = tried + len(deals), kept + fitting, exhaustive and complete
        told += len(rows) if fitting else 0
    names, everyone = [domain.column for domain in table.domains], np.arange(len(table))
    gains = [float(rise[everyone, codes].mean()) for rise, codes in zip(rises, table.codes, strict=True)]
    worst = [float(rise.max()) if exhaustive else None for rise in rises]
    return Minimality(
        dict(zip(names, gains, strict=True)), dict(zip(names, worst, strict=True)),
        tried, kept, told / len(table), exhaustive, seeds,
    )  # fmt: skip


def _runs(table: EncodedTable, requirement: Requirement, method: Algorithm) -> Made:
    """Runs the method on the table with other sensitive values; gives its classes as a release shows them."""

    def made(codes: Sequence[NDArray[np.int32]], seed: int) -> Integers | None:
        candidate = replace(table, codes=tuple(codes))
        try:
            found = method.partition(candidate, requirement, rng=np.random.default_rng(seed), control=Control())
        except InfeasibleError:
            return None
        return shown_classes(table, found.labels)

    return made


def _likelihood(made: Made, codes: list[NDArray[np.int32]], tries: Sequence[int], released: Integers) -> float:
    """The share of seeds under which a candidate gives the release."""
    found = [made(codes, number) for number in tries]
    return sum(each is not None and np.array_equal(each, released) for each in found) / len(tries)


def _rises(values: NDArray[np.int32], size: int, weights: Floats) -> Floats:
    """For each row and value, its share among the candidates kept less that among all; a line a candidate."""
    if not weights.any():
        return np.zeros((values.shape[1], size))
    cells = (np.arange(values.shape[1]) * size + values).ravel()
    kept = np.bincount(cells, np.repeat(weights, values.shape[1]), values.shape[1] * size) / weights.sum()
    every = np.bincount(cells, minlength=values.shape[1] * size) / len(values)
    return np.where(weights.min() == weights.max(), 0.0, kept - every).reshape(-1, size)


def _deals(
    table: EncodedTable, classes: Sequence[Integers], candidates: int, rng: np.random.Generator
) -> tuple[Integers, bool]:
    """Ways to deal the values of these classes out anew, and whether they are all.

    A line a candidate: for each row, the row whose values it gets.
    """
    kinds = np.zeros(len(table), np.int64)
    for codes, domain in zip(table.codes, table.domains, strict=True):
        kinds = np.unique(kinds * domain.size + codes, return_inverse=True)[1].ravel()
    counts = [np.bincount(kinds[rows]).tolist() for rows in classes]
    ways = prod(factorial(sum(count)) // prod(map(factorial, count)) for count in counts)
    deals = np.tile(np.arange(len(table)), (min(ways, candidates), 1))
    if ways > candidates:
        for deal in deals:
            for rows in classes:
                deal[rows] = rng.permutation(rows)
        return deals, False
    for deal, chosen in zip(deals, product(*map(_arrangements, counts)), strict=True):
        for rows, arrangement in zip(classes, chosen, strict=True):
            deal[rows[np.argsort(arrangement, kind="stable")]] = rows[np.argsort(kinds[rows], kind="stable")]
    return deals, True


def _arrangements(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order of so many of each kind, once.

    Examples
    --------
    >>> list(_arrangements([1, 2]))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    if not any(counts):
        yield ()
    for kind, count in enumerate(counts):
        if count:
            for rest in _arrangements([*counts[:kind], count - 1, *counts[kind + 1 :]]):
                yield (kind, *rest)
