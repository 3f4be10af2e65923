"""The attack that intersects and subtracts releases: what someone who holds them all knows for certain.

The attacker knows who was in which class of every release, and who was released with new values when. Persons with the
same past are an atom. How often each value v occurs in an atom A is a whole number x(A, v) from 0 to |A|, and every
published class says what some of these numbers add up to. The attacker narrows their bounds: the number of one atom is
the sum of its class less what the other atoms of the class can have at most, or have at least. Where bounds
meet, values are known. That covers intersecting (a value that one class lacks is in no atom of it) and subtracting (a
class less those who left it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.history.history_check import find_atoms
from tclose.history.history_state import HistoryState
from tclose.verification.distinct_values import factorize

Integers = NDArray[np.int64]
MOST_ROUNDS = 100
MOST_NUMBERS = 30_000_000  # atoms times values, above which an attribute is not attacked


@dataclass(frozen=True)
class Intersected:
    """What the attacker found.

    Attributes
    ----------
    releases, persons, atoms
        What was put together.
    alone
        Persons who share all their classes with nobody.
    below_k
        Persons whose atom has fewer than k persons.
    certain
        Persons of whom a sensitive value is known for certain.
    known_share
        The largest share of one value in an atom that is known for certain.
    known_rise
        The largest such share less that of the value in the release where it first appeared.
    not_attacked
        Attributes with too many values.
    """

    releases: int
    persons: int
    atoms: int
    alone: int
    below_k: int
    certain: int
    known_share: float
    known_rise: float
    not_attacked: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "not_attacked": list(self.not_attacked)}


def attack_history(state: HistoryState, k: int, until: int | None = None) -> Intersected:
    """Attack the releases of a history, or those up to one of them."""
    until = state.number if until is None else until
    classes, versions = state.class_of[:, :until], state.version_of[:, :until]
    seen = (classes >= 0).any(axis=1)
    values = {name: factorize(state.sensitive[name]).codes.astype(np.int64) + 1 for name in state.sensitive.columns}
    return intersect(classes[seen], versions[seen], values, k)


def intersect(classes: Integers, versions: Integers, values: dict[str, Integers], k: int) -> Intersected:
    """Attack releases.

    Parameters
    ----------
    classes
        For each person a row of classes, one a release; -1 for none.
    versions
        Likewise a row of versions: which of `values` the person was released with.
    values
        By attribute, the value of each version: whole numbers from 0 up.
    k
        What counts as small.

    Examples
    --------
    Two releases of four persons, two classes each: all but one have the same value, and the classes cross.

    >>> classes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> versions = np.arange(4)[:, None] * [1, 1]
    >>> found = intersect(classes, versions, {"ill": np.array([1, 0, 0, 0])}, 2)
    >>> found.alone, found.certain, found.known_share
    (4, 4, 1.0)
    """
    atoms = find_atoms(classes, versions)
    sizes = np.bincount(atoms)
    certain, share, rise = np.zeros(len(atoms), bool), 0.0, 0.0
    not_attacked = []
    for name, codes in values.items():
        task = _CountTask.of(classes, versions, codes, atoms)
        if len(task.sizes) * task.n_values > MOST_NUMBERS:
            not_attacked.append(name)
            continue
        least = task.narrowed()[0]
        shares = least / task.sizes[:, None]
        share, rise = max(share, float(shares.max())), max(rise, float((shares - task.before).max()))
        known = np.zeros(len(sizes), bool)
        np.logical_or.at(known, task.atoms, (shares == 1).any(axis=1))
        certain |= known[atoms]
    alone, small = int((sizes == 1).sum()), int(sizes[sizes < k].sum())
    return Intersected(
        classes.shape[1], len(atoms), len(sizes), alone, small, int(certain.sum()), share, rise, tuple(not_attacked)
    )


@dataclass(frozen=True, eq=False)
class _CountTask:
    """The numbers to be found: one for each value of each version of an atom.

    Attributes
    ----------
    atoms, sizes
        The atom of each version, and its persons.
    before
        The shares of all values in the release in which the version first appeared.
    sums
        For each release, which versions are in it, their classes, and how often each value occurs in these.
    """

    atoms: Integers
    sizes: Integers
    before: NDArray[np.float64]
    sums: list[tuple[Integers, Integers, Integers]]
    n_values: int

    @classmethod
    def of(cls, classes: Integers, versions: Integers, codes: Integers, atoms: Integers) -> _CountTask:
        n_values, n_releases = int(codes.max()) + 1, classes.shape[1]
        firsts = np.unique(atoms, return_index=True)[1]  # persons of an atom have changed in the same releases
        number = np.full((len(firsts), n_releases), -1, np.int64)  # of a version of an atom, by release
        found: list[tuple[int, int]] = []  # atom, origin
        for atom, person in enumerate(firsts.tolist()):
            last = -1
            for place in range(n_releases):
                version = int(versions[person, place])
                if classes[person, place] >= 0:
                    if version != last:
                        found.append((atom, place))
                    number[atom, place], last = len(found) - 1, version
        sizes = np.bincount(atoms)[[atom for atom, _ in found]]
        sums, shares = [], []
        for place in range(n_releases):
            inside = np.flatnonzero(classes[:, place] >= 0)
            own = np.unique(classes[inside, place], return_inverse=True)[1]
            pairs = own * n_values + codes[versions[inside, place]]
            n_classes = int(own.max()) + 1
            counts = np.bincount(pairs, minlength=n_classes * n_values).reshape(n_classes, n_values)
            shares.append(counts.sum(axis=0) / len(inside))
            class_of_atom = np.full(len(firsts), -1, np.int64)
            class_of_atom[atoms[inside]] = own
            present = np.flatnonzero(class_of_atom >= 0)
            sums.append((number[present, place], class_of_atom[present], counts))
        before = np.stack([shares[origin] for _, origin in found])
        return cls(np.array([atom for atom, _ in found], np.int64), sizes, before, sums, n_values)

    def narrowed(self) -> tuple[Integers, Integers]:
        """Bounds of all numbers, narrowed until nothing changes."""
        least = np.zeros((len(self.sizes), self.n_values), np.int64)
        most = np.broadcast_to(self.sizes[:, None], least.shape).copy()
        for _ in range(MOST_ROUNDS):
            before = int((most - least).sum())
            for parts, of_class, counts in self.sums:
                low, high = np.zeros_like(counts), np.zeros_like(counts)
                np.add.at(low, of_class, least[parts])
                np.add.at(high, of_class, most[parts])
                left = counts[of_class]
                others_low, others_high = low[of_class] - least[parts], high[of_class] - most[parts]
                least[parts] = np.maximum(least[parts], left - others_high)
                most[parts] = np.minimum(most[parts], left - others_low)
            size = self.sizes[:, None]
            low, high = least.sum(axis=1, keepdims=True), most.sum(axis=1, keepdims=True)
            least, most = np.maximum(least, size - (high - most)), np.minimum(most, size - (low - least))
            if int((most - least).sum()) == before:
                break
        return least, most
