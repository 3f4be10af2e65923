"""Attackers on several releases who try every assignment of values: slow, obvious, sharing nothing with the package.

A history is given as plain lists: for each release, the class of each person (or None), and which version of the
person's values was released. A version is a variable; a world gives every variable a value. All attackers know the
classes, the versions and what was published of every class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Worlds = NDArray[np.int8]
MOST_WORLDS = 300_000


class TooManyWorlds(Exception):  # noqa: N818 - it names the finding
    """More than can be tried."""


@dataclass(frozen=True)
class Shown:
    """What all attackers know, and the truth.

    Attributes
    ----------
    classes
        For each release, person to class.
    versions
        For each release, person to variable.
    truth
        The value of each variable.
    values
        How many values there are.
    """

    classes: list[dict[int, Hashable]]
    versions: list[dict[int, int]]
    truth: list[int]
    values: int

    def origin(self, variable: int) -> int:
        """The release in which a variable was first released."""
        return next(place for place, used in enumerate(self.versions) if variable in used.values())

    def shares(self, release: int) -> list[Fraction]:
        """The shares of all values in a release."""
        counts = Counter(self.truth[variable] for variable in self.versions[release].values())
        total = sum(counts.values())
        return [Fraction(counts[value], total) for value in range(self.values)]

    def entered(self) -> list[frozenset[int]]:
        """For each release, the persons whose values were new in it."""
        found, last = [], dict[int, int]()
        for versions in self.versions:
            found.append(frozenset(person for person, variable in versions.items() if last.get(person) != variable))
            last |= versions
        return found

    def past(self, person: int) -> tuple[object, ...]:
        """In which class a person was in each release, and in which of them the values were new."""
        told: list[object] = []
        last = None
        for classes, versions in zip(self.classes, self.versions, strict=True):
            if person not in classes:
                told.append(None)
                continue
            told.append((classes[person], versions[person] != last))
            last = versions[person]
        return tuple(told)

    def atoms(self) -> list[list[int]]:
        """Persons with the same past."""
        found: dict[object, list[int]] = {}
        for person in sorted({each for classes in self.classes for each in classes}):
            found.setdefault(self.past(person), []).append(person)
        return list(found.values())

    def groups(self) -> list[tuple[int, list[int]]]:
        """The variables of each atom, by the release in which they were new."""
        found = []
        for atom in self.atoms():
            owned: dict[int, set[int]] = {}
            for person in atom:
                for versions in self.versions:
                    if person in versions:
                        owned.setdefault(self.origin(versions[person]), set()).add(versions[person])
            found += [(origin, sorted(variables)) for origin, variables in owned.items()]
        return found


def worlds_of(shown: Shown) -> Worlds:
    """Every assignment under which each class of each release has the values that were published."""
    truth = np.array(shown.truth)
    sums: list[list[int]] = []
    for classes, versions in zip(shown.classes, shown.versions, strict=True):
        labels = set(classes.values())
        sums += [[versions[person] for person in classes if classes[person] == label] for label in labels]
    worlds = np.zeros((1, 0), np.int8)
    for variable in range(len(truth)):
        values = np.repeat(np.arange(shown.values, dtype=np.int8), len(worlds))
        worlds = np.concatenate([np.tile(worlds, (shown.values, 1)), values[:, None]], axis=1)
        for inside in (each for each in sums if variable in each):
            given = [each for each in inside if each <= variable]
            for value in range(shown.values):
                wanted = int((truth[inside] == value).sum())
                found = (worlds[:, given] == value).sum(axis=1)
                worlds = worlds[(found <= wanted) & (found + len(inside) - len(given) >= wanted)]
        if len(worlds) > MOST_WORLDS:
            raise TooManyWorlds
    return worlds


def believing(
    shown: Shown, worlds: Worlds, k: int, keeps: Callable[[Sequence[int], Sequence[Fraction]], bool]
) -> Worlds:
    """The worlds in which every atom has k persons and keeps the promise by every version.

    Parameters
    ----------
    keeps
        Whether counts of values keep the promise beside the shares of a release.
    """
    if any(len(variables) < k for _, variables in shown.groups()):
        return worlds[:0]
    for origin, variables in shown.groups():
        counts = np.stack([(worlds[:, variables] == value).sum(axis=1) for value in range(shown.values)], axis=1)
        distinct, which = np.unique(counts, axis=0, return_inverse=True)
        kept = np.array([keeps(each, shown.shares(origin)) for each in distinct.tolist()], bool)
        worlds = worlds[kept[which.ravel()]] if len(worlds) else worlds
    return worlds


def beliefs(shown: Shown, worlds: Worlds) -> list[list[Fraction]]:
    """For each variable the share of worlds with each value."""
    return [
        [Fraction(int((worlds[:, variable] == value).sum()), len(worlds)) for value in range(shown.values)]
        for variable in range(len(shown.truth))
    ]


def marginal(shares: Sequence[Fraction], parts: Sequence[int]) -> list[Fraction]:
    """The shares of the values of one attribute, where `parts` says which of them each combination has."""
    found = [Fraction(0)] * (max(parts) + 1)
    for share, part in zip(shares, parts, strict=True):
        found[part] += share
    return found


def equal_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """All that is too much in one has to move."""
    return sum((max(p - q, Fraction(0)) for p, q in zip(one, other, strict=True)), Fraction(0))


def ordered_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """What is too much to the left of a gap has to cross it."""
    total, running = Fraction(0), Fraction(0)
    for p, q in zip(one, other, strict=True):
        running += p - q
        total += abs(running)
    return total / max(len(one) - 1, 1)
