"""Whether a history keeps its promise, by code of its own: atoms are found anew and measured as the verifier measures.

It believes nothing that was worked out when the releases were made: not the atoms, not the references. What it has in
common with the code that chooses is the state as it stands, and schemas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.history.history_state import RELEASED, HistoryState
from tclose.history.original_rows import OriginalTable, untrue_rows, untrue_values
from tclose.history.schema_copies import schema_of_text
from tclose.schema.columns import Diversity, Sensitive
from tclose.schema.schema import Schema
from tclose.verification.belief_rises import RiseSearch
from tclose.verification.cell_meanings import names_of
from tclose.verification.class_diversity import DiversitySearch
from tclose.verification.distinct_values import factorize
from tclose.verification.exact_numbers import read_number
from tclose.verification.farthest_class import Farthest
from tclose.verification.measure_release import exact_and_float, join, work_under
from tclose.verification.released_classes import Grouping, count_values
from tclose.verification.sensitive_domains import PlacedValues, place_values

Integers = NDArray[np.int64]
WITH_POINT = (".", "")  # decimal and thousands signs of numbers that were not text
NONE: Mapping[int, OriginalTable] = MappingProxyType({})


@dataclass(frozen=True)
class HistoryVerdict:
    """What the checker found.

    Attributes
    ----------
    problems
        A sentence for each promise that is broken.
    atoms
        How many atoms there are.
    smallest
        The persons of the smallest atom.
    t
        Of each sensitive attribute and joint, how far the farthest atom is from the release its values appeared in.
    waiting
        With the original of the last release at hand: how many persons of it are not released, and how many are
        released otherwise.
    """

    problems: tuple[str, ...]
    atoms: int
    smallest: int
    t: dict[str, Fraction] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "problems": list(self.problems),
            "atoms": self.atoms,
            "smallest_atom": self.smallest,
            "t": {name: exact_and_float(t) for name, t in self.t.items()},
            **({"waiting": self.waiting} if self.waiting else {}),
        }


def check_history(state: HistoryState, originals: Mapping[int, OriginalTable] = NONE) -> HistoryVerdict:
    """Find the atoms of all releases, and measure each against the release in which its values first appeared.

    Parameters
    ----------
    originals
        The tables that are at hand, by the number of their release: then it is checked that rows which are not held
        are true.
    """
    problems = list(_wrong_structure(state))
    if problems or not state.number:
        return HistoryVerdict(tuple(problems), 0, 0)
    atoms = find_atoms(state.class_of, state.version_of)
    farthest: dict[str, Fraction] = {}
    for entry in state.releases:
        schema = schema_of_text(entry.schema)
        members = np.flatnonzero(state.class_of[:, entry.number - 1] >= 0)
        whole = _WholeRelease.of(state, members, entry.number, schema)
        problems += whole.wrong_reference(state, entry.reference)
        problems += whole.broken(np.ones(len(members), bool), state.class_of[members, entry.number - 1], "class")[0]
        born = state.version_origin[whole.versions] == entry.number
        for labels in (atoms, state.atoms):  # as they are found, and as the next release will go by them
            found, distances = whole.broken(born, labels[members], "atom")
            problems += found
            farthest = {name: max(t, farthest.get(name, t)) for name, t in distances.items()}
    problems += _broken_by_dividing(state)
    waiting: dict[str, int] = {}
    for number, original in sorted(originals.items()):
        schema = schema_of_text(state.releases[number - 1].schema)
        problems += untrue_values(state, number, original, schema)
        if number == state.number:
            untrue, waiting = untrue_rows(state, original, schema)
            problems += untrue
    sizes = np.bincount(atoms)
    once = tuple(dict.fromkeys(problems))
    return HistoryVerdict(once, len(sizes), int(sizes.min()), farthest, waiting)


def _broken_by_dividing(state: HistoryState) -> Iterator[str]:
    """What atoms break that a release under a stricter schema has divided: they keep what that one asks."""
    schemas = [schema_of_text(entry.schema) for entry in state.releases]
    if all(each == schemas[0] for each in schemas):
        return
    before = find_atoms(state.class_of[:, :1], state.version_of[:, :1])
    for number in range(2, state.number + 1):
        atoms = find_atoms(state.class_of[:, :number], state.version_of[:, :number])
        known = (state.class_of[:, : number - 1] >= 0).any(axis=1)
        smaller = (
            np.bincount(atoms[known], minlength=len(atoms))[atoms]
            < np.bincount(before[known], minlength=len(before))[before]
        )
        before = atoms
        if all(each == schemas[number - 1] for each in schemas[: number - 1]) or not (known & smaller).any():
            continue
        for origin in range(1, number):
            members = np.flatnonzero(state.class_of[:, origin - 1] >= 0)
            whole = _WholeRelease.of(state, members, origin, schemas[number - 1])
            born = state.version_origin[whole.versions] == origin
            told = whole.broken(born & (known & smaller)[members], atoms[members], "divided atom")[0]
            yield from (f"Divided by release {number}. {each}" for each in told)


def find_atoms(class_of: Integers, version_of: Integers) -> Integers:
    """The atom of each person: the same classes, and values that changed in the same releases, up to the last one.

    Parameters
    ----------
    class_of
        For each person a row of classes, one a release; -1 for none.
    version_of
        Likewise a row of versions: numbers that change when a person is released with new values.

    Examples
    --------
    >>> classes = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> find_atoms(classes, np.array([[0, 0], [1, 1], [2, 2], [3, 3]])).tolist()
    [0, 0, 1, 2]
    """
    atoms = np.zeros(len(class_of), np.int64)
    last = np.full(len(class_of), -1, np.int64)
    for place in range(class_of.shape[1]):
        here, versions = class_of[:, place], version_of[:, place]
        is_new = (here >= 0) & (versions != last)
        pairs = atoms * 2 * (int(here.max(initial=-1)) + 2) + 2 * (here + 1) + is_new
        atoms = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        last = np.where(here >= 0, versions, last)
    return atoms


def _wrong_structure(state: HistoryState) -> Iterator[str]:
    """What no history can be: persons twice in a release, without values, or released after they were withdrawn."""
    numbers = [entry.number for entry in state.releases]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "The releases of the history are not numbered from 1 on."
        return
    pairs = state.member_person * (state.number + 1) + state.member_release
    if len(np.unique(pairs)) < len(pairs):
        yield "A person is in two classes of one release."
    if state.hashes.n_unique() < len(state.hashes):
        yield "A person is known twice."
    first = np.full(len(state), state.number + 1)
    np.minimum.at(first, state.version_person, state.version_origin)
    if (first[state.member_person] > state.member_release).any():
        yield "A person was released before there were values of the person."
    left = state.left[state.member_person]
    if ((left > 0) & (state.member_release >= left)).any():
        yield "A person is in a release after the one which the person is said to have left."
    inside = np.zeros(len(state), bool)
    inside[state.member_person[state.member_release == state.number]] = True
    if (inside != (state.places == RELEASED)).any():
        yield "The persons that are said to be released are not those of the last release."
    for before, after in zip(state.releases, state.releases[1:], strict=False):
        if after.certificate and after.certificate.get("history", {}).get("before") != before.certificate_sha256:
            yield f"The certificate of release {after.number} does not follow on that of release {before.number}."


@dataclass(frozen=True, eq=False)
class _WholeRelease:
    """The rows of a release, and what is measured of groups of them.

    Attributes
    ----------
    number, schema
        Which release, and what it promises.
    versions
        The version of each of its rows.
    placed
        Its sensitive attributes and joints.
    """

    number: int
    schema: Schema
    versions: Integers
    placed: dict[str, PlacedValues]

    @classmethod
    def of(cls, state: HistoryState, members: Integers, number: int, schema: Schema) -> _WholeRelease:
        versions = state.version_of[members, number - 1]
        columns = {each.column: state.sensitive[each.column].gather(versions) for each in schema.sensitive}
        placed = {each.column: place_values(columns[each.column], each, schema) for each in schema.sensitive}
        placed |= {joint.name: join(joint, placed) for joint in schema.joint}
        return cls(number, schema, versions, placed)

    def wrong_reference(self, state: HistoryState, told: dict[str, list[tuple[str | None, int]]]) -> Iterator[str]:
        """Attributes whose values are not those that were counted when the release was made."""
        for sensitive in self.schema.sensitive:
            found = factorize(state.sensitive[sensitive.column].gather(self.versions))
            names: list[str | None] = [None, *names_of(found.values)]
            counts = list(zip(names, found.counts_with_null.tolist(), strict=True))
            signs = (self.schema.decimal, self.schema.thousands) if found.values.dtype == pl.String else WITH_POINT
            own = _meant(counts, sensitive, signs)
            if own != _meant(told.get(sensitive.column, []), sensitive, WITH_POINT):
                yield f"The values of '{sensitive.column}' in release {self.number} are not those that were released."

    def broken(self, chosen: NDArray[np.bool_], labels: Integers, what: str) -> tuple[list[str], dict[str, Fraction]]:
        """What groups of chosen rows break of the promise, and how far the farthest is from the release."""
        if not chosen.any():
            return [], {}
        dense = np.unique(labels[chosen], return_inverse=True)[1].astype(np.int64)
        groups = Grouping(dense, np.bincount(dense))
        where, schema = f"Release {self.number}: ", self.schema
        problems, distances = [], {}
        if groups.smallest < schema.k:
            told = "1 person" if groups.smallest == 1 else f"{groups.smallest} persons"
            problems.append(f"{where}the smallest {what} has {told}, and k is {schema.k}.")
        asked = {each.column: each.t for each in schema.sensitive} | {each.name: each.t for each in schema.joint}
        for name, t in asked.items():
            distances[name] = self._farthest(name, groups, chosen)
            if t is not None and distances[name] > t:
                problems.append(
                    f"{where}the farthest {what} is at a distance of {distances[name]} in '{name}', and t is {t}."
                )
        for sensitive in schema.sensitive:
            unmet = self._unmet(sensitive.column, groups, chosen)
            problems += [f"{where}some {what} does not keep {kind} of '{sensitive.column}'." for kind in unmet]
        return problems, distances

    def _farthest(self, name: str, groups: Grouping, chosen: NDArray[np.bool_]) -> Fraction:
        placed = self.placed[name]
        search = Farthest(work_under(placed))
        for block in count_values(groups, placed.codes[chosen], placed.ground.size):
            search.look(block)
        return search.result()

    def _unmet(self, name: str, groups: Grouping, chosen: NDArray[np.bool_]) -> list[str]:
        """The diversities and caps that some group does not keep."""
        placed = self.placed[name]
        sensitive = next(each for each in self.schema.sensitive if each.column == name)
        diversity, rises = DiversitySearch(sensitive.l or Diversity()), None
        if sensitive.caps is not None:
            reference = np.bincount(placed.codes, minlength=placed.ground.size).astype(np.int64)
            rises = RiseSearch.of(sensitive.caps, placed.ground, reference)
        for block in count_values(groups, placed.codes[chosen], placed.ground.size):
            diversity.look(block)
            if rises is not None:
                rises.look(block)
        met = {f"l ({kind})": kept for kind, kept in diversity.result().meets.items()}
        met |= {} if rises is None else rises.result().meets
        return [kind for kind, kept in met.items() if not kept]


def _meant(counts: list[tuple[str | None, int]], sensitive: Sensitive, signs: tuple[str, str]) -> Counter[object]:
    """How often each value occurs; numbers, written with these signs, are the same however they are written."""
    found: Counter[object] = Counter()
    for name, count in counts:
        number = read_number(name, *signs) if name is not None else None
        found[number if sensitive.is_measured and number is not None else name] += count
    return +found
