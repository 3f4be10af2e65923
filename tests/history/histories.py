"""Small random histories, run in memory: by the package, and naively, every table released anew."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

import tclose
from tclose.algorithms import find
from tclose.errors import InfeasibleError
from tclose.history.history_state import HistoryState
from tclose.history.republication import follow
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tests.oracles.history_attackers import Shown, equal_distance, marginal, ordered_distance

KEY = b"k" * 32
METHOD = "mondrian"
LEVELS = ("low", "middle", "high")


@dataclass(frozen=True)
class Asked:
    """What a small history promises: one attribute or two, each with two values or three in order."""

    k: int
    sizes: tuple[int, ...]
    t: tuple[Fraction, ...]
    rise: Fraction | None = None

    @property
    def schema(self) -> Schema:
        sensitive: dict[str, Any] = {}
        for place, (size, t) in enumerate(zip(self.sizes, self.t, strict=True)):
            kind = {"distance": "equal"} if size == 2 else {"distance": "ordered", "order": list(LEVELS)}
            sensitive[f"ill_{place}"] = {**kind, "t": t, **({} if self.rise is None else {"rise": self.rise})}
        return Schema.from_dict(
            {"k": self.k, "unit": "who", "quasi": {"age": {"kind": "numeric"}}, "sensitive": sensitive}
        )

    @property
    def n_values(self) -> int:
        return int(np.prod(self.sizes))

    def parts(self, place: int) -> list[int]:
        """Of each combination of values, that of one attribute."""
        inner = int(np.prod(self.sizes[place + 1 :]))
        return [combination // inner % self.sizes[place] for combination in range(self.n_values)]

    def excess(self, believed: Sequence[Fraction], shares: Sequence[Fraction]) -> Fraction:
        """By how much a belief is beyond what is allowed; not above 0 if it is within."""
        found = []
        for place, t in enumerate(self.t):
            one, other = (marginal(each, self.parts(place)) for each in (believed, shares))
            found.append((equal_distance if self.sizes[place] == 2 else ordered_distance)(one, other) - t)
            if self.rise is not None:
                found += [p - q - self.rise for p, q in zip(one, other, strict=True)]
        return max(found)

    def keeps(self, counts: Sequence[int], shares: Sequence[Fraction]) -> bool:
        """Whether an atom with these counts keeps the promise beside the shares of a release."""
        total = sum(counts)
        return self.excess([Fraction(count, total) for count in counts], shares) <= 0


Table = dict[int, tuple[int, int]]  # person to age and value, a combination


def frame_of(table: Table, asked: Asked) -> pl.DataFrame:
    """A table as `tclose` takes it."""
    persons = sorted(table)
    columns: dict[str, Any] = {"who": persons, "age": [table[person][0] for person in persons]}
    for place, size in enumerate(asked.sizes):
        names = ("a", "b") if size == 2 else LEVELS
        columns[f"ill_{place}"] = [names[asked.parts(place)[table[person][1]]] for person in persons]
    return pl.DataFrame(columns)


def random_history(seed: int) -> tuple[Asked, list[Table]]:
    """A promise, and tables one after the other: rows are added, changed, deleted, return, and drift."""
    rng = np.random.default_rng(seed)
    sizes = [(2,), (3,), (2, 2)][int(rng.integers(3))]
    t = tuple(Fraction(int(rng.integers(4, 11)), 20) for _ in sizes)
    asked = Asked(2, sizes, t, Fraction(2, 5) if rng.random() < 0.3 else None)
    shares = rng.dirichlet(np.full(asked.n_values, 3.0))

    def drawn() -> tuple[int, int]:
        return int(rng.integers(0, 10)), int(rng.choice(asked.n_values, p=shares))

    table = {person: drawn() for person in range(int(rng.integers(5, 8)))}
    tables, gone, next_person = [dict(table)], set[int](), len(table)
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.3:
            shares = rng.dirichlet(np.full(asked.n_values, 1.0))
        # Now and then many of those near to each other leave or change together, as else hardly anybody could.
        low, together = int(rng.integers(0, 8)), rng.random() < 0.6
        fate = rng.random()
        for person in list(table):
            chance = rng.random()
            if together:
                chance = (fate if low <= table[person][0] <= low + 4 else 1.0) if chance < 0.9 else 1.0
                chance = 0.1 if chance < 0.5 else 0.3 if chance < 1.0 else 1.0
            if chance < 0.2:
                del table[person]
                gone.add(person)
            elif chance < 0.45:
                table[person] = drawn()
        come = rng.random() < 0.5
        for person in [each for each in sorted(gone) if come and rng.random() < 0.8]:
            table[person] = drawn()
            gone.discard(person)
        for _ in range(int(rng.integers(0, 4))):
            table[next_person] = drawn()
            next_person += 1
        if table:
            tables.append(dict(table))
    return asked, tables


@dataclass
class Ran:
    """What came of a history: what attackers see, and what was done."""

    shown: Shown
    counts: list[dict[str, int]] = field(default_factory=list)
    released: list[int] = field(default_factory=list)  # which tables gave a release
    partitions: list[frozenset[frozenset[int]]] = field(default_factory=list)


def run_history(asked: Asked, tables: Sequence[Table], deletions: Any = "hold") -> Ran:
    """Republish each table; one that cannot be released, or has nobody of the history, is passed by."""
    state, counts, released = HistoryState.empty(), [], []
    persons: list[int] = []
    for place, table in enumerate(tables):
        if persons and not set(persons) & set(table):
            continue  # it is refused: nobody is recognized
        source = Source.of(frame_of(table, asked))
        try:
            release, after = follow(
                state, KEY, source, asked.schema, find(METHOD), deletions, seed=0, allow_single_class=True
            )
        except InfeasibleError:
            continue
        known = set(state.hashes.to_list())
        hashes = _hashes(sorted(table))
        persons += [
            person for person in sorted(table) if hashes[person] not in known and hashes[person] in set(after.hashes)
        ]
        state = after
        counts.append(release.record.notes["history"])
        released.append(place)
    return Ran(_shown(state, persons, asked), counts, released, _partitions(state, persons))


def _hashes(persons: Sequence[int]) -> dict[int, str]:
    from tclose.release.known_persons import hash_units

    return dict(zip(persons, hash_units(pl.Series("who", list(persons), dtype=pl.Int64), (), KEY), strict=True))


def _shown(state: HistoryState, persons: list[int], asked: Asked) -> Shown:
    """What the releases of a state show; the order of new persons in a state is that of their rows."""
    classes: list[dict[int, Any]] = []
    versions: list[dict[int, int]] = []
    for release in range(state.number):
        inside = np.flatnonzero(state.class_of[:, release] >= 0).tolist()
        classes.append({persons[each]: int(state.class_of[each, release]) for each in inside})
        versions.append({persons[each]: int(state.version_of[each, release]) for each in inside})
    truth = [_combination(row, asked) for row in state.sensitive.iter_rows()]
    return Shown(classes, versions, truth, asked.n_values)


def _combination(row: Sequence[str], asked: Asked) -> int:
    found = 0
    for size, value in zip(asked.sizes, row, strict=True):
        found = found * size + (("a", "b") if size == 2 else LEVELS).index(value)
    return found


def _partitions(state: HistoryState, persons: list[int]) -> list[frozenset[frozenset[int]]]:
    """For each release, who shared a class with whom."""
    found = []
    for release in range(state.number):
        labels = state.class_of[:, release]
        groups = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels[labels >= 0])]
        found.append(frozenset(frozenset(persons[each] for each in group) for group in groups))
    return found


def run_naively(asked: Asked, tables: Sequence[Table]) -> Ran:
    """Release each table anew; a person whose value did not change has the same version."""
    classes: list[dict[int, Hashable]] = []
    versions, truth, released = [], list[int](), []
    last: dict[int, int] = {}
    for place, table in enumerate(tables):
        try:
            release = tclose.anonymize(
                frame_of(table, asked), asked.schema, method=METHOD, seed=0, allow_single_class=True
            )
        except InfeasibleError:
            continue
        persons = sorted(table)
        for person in persons:
            if person not in last or truth[last[person]] != table[person][1]:
                last[person] = len(truth)
                truth.append(table[person][1])
        classes.append({person: int(label) for person, label in zip(persons, release.classes, strict=True)})
        versions.append({person: last[person] for person in persons})
        released.append(place)
    partitions = [
        frozenset(frozenset(p for p in each if each[p] == label) for label in set(each.values())) for each in classes
    ]
    return Ran(Shown(classes, versions, truth, asked.n_values), [], released, partitions)
