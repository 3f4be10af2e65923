"""Whether releases of a living table keep the promise, from its tables and published rows: slow and obvious.

It is told which persons are in which class of which release, and when someone was released with new values. What is
published of them it takes from the files, whom the table has from the table, and all else it works out itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.fuzz.grounds import Keys, attribute, exact, joined
from tests.fuzz.oracle import _broken_caps, _counts, capped_sides, groups, is_diverse
from tests.fuzz.truth import lies, same
from tests.oracles.belief import is_enhanced, largest_beta, largest_rise

Row = dict[str, Any]


class Member(NamedTuple):
    """A person in a release: the class, which values of the person, and the quasi-identifiers that count."""

    number: int
    version: int
    quasi: Row


Members = dict[str, Member]  # by person


def broken_by(rows: Sequence[Row], members: Sequence[int], schema: Keys) -> Iterator[str]:
    """What a group of some rows breaks of the promise, beside all rows."""
    if len(members) < schema["k"]:
        yield f"{len(members)} persons"
    asked = schema["sensitive"]
    attributes = {name: attribute([row[name] for row in rows], keys, schema) for name, keys in asked.items()}
    for name, keys in asked.items():
        if "t" in keys and attributes[name].emd(members) > exact(keys["t"]):
            yield f"t of {name}"
        wanted = {"distinct": keys["l"]} if isinstance(keys.get("l"), int) else keys.get("l") or {}
        if not is_diverse(_counts(attributes[name], members), wanted):
            yield f"l of {name}"
        if "rise" in keys or "beta" in keys:
            values = capped_sides([row[name] for row in rows], attributes[name], keys, schema)[0]
            own = [[values[each] for each in members]]
            reached = largest_rise(values, own), largest_beta(values, own)
            yield from _broken_caps(name, keys, reached, is_enhanced(values, own))
    for name, keys in schema.get("joint", {}).items():
        if joined([attributes[column] for column in keys["columns"]]).emd(members) > exact(keys["t"]):
            yield f"t of {name}"


@dataclass(frozen=True)
class Seen:
    """A release, and the table it was made of.

    Attributes
    ----------
    table
        Person to row, of those whose rows are not left out.
    schema, published
        What was promised, and the rows of the file.
    members, withdrawn
        Who is in it, and who is said to be withdrawn by now.
    counts
        What the record says.
    withdraws
        Whether deleted persons who cannot leave are withdrawn.
    """

    table: dict[str, Row]
    schema: Keys
    published: list[Row]
    members: Members
    withdrawn: set[str]
    counts: dict[str, int]
    withdraws: bool


@dataclass
class Watched:
    """All that was seen of a history.

    Attributes
    ----------
    schemas, wholes, members
        For each release: the schema, the released rows by person, and who was in which class with which version.
    formed
        For each atom, the release after which it was first one.
    withdrawn, away
        Persons who are not released any more: for good, or until they return.
    problems
        What was wrong, a sentence each.
    """

    schemas: list[Keys] = field(default_factory=list)
    wholes: list[dict[str, Row]] = field(default_factory=list)
    members: list[Members] = field(default_factory=list)
    formed: dict[frozenset[str], int] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def look(self, seen: Seen) -> None:
        """Look at one more release."""
        members, table, schema, counts = seen.members, seen.table, seen.schema, seen.counts
        ever = {person for each in self.members for person in each}
        self._new(seen, ever)
        whole = {person: self._row(person, seen) for person in members}
        self._leave(seen, ever)
        held = [person for person in members if person not in table]
        kept = [person for person in members if person in table]
        changed = [each for each in kept if _values(table[each], schema) != _values(whole[each], schema)]
        self._say(len(held) == counts["deletions_held"], "deletions_held is wrong")
        self._say(len(changed) == counts["changes_held"], "changes_held is wrong")
        self._say(not (seen.withdraws and held), "a deletion is held, though classes are withdrawn")
        self.schemas.append(schema)
        self.wholes.append(whole)
        self.members.append(members)
        self._published(seen.published, schema)
        self._atoms()

    def _say(self, kept: bool, problem: str) -> None:
        if not kept:
            self.problems.append(f"release {len(self.members)}: {problem}")

    def _new(self, seen: Seen, ever: set[str]) -> None:
        """New persons come all together or not at all."""
        new, counts = set(seen.table) - ever, seen.counts
        came = new & set(seen.members)
        self._say(came in (set(), new), f"{len(came)} of {len(new)} new persons came")
        told = counts["added"], counts["new_waiting"]
        self._say(told == (len(came), len(new - came)), "new persons are miscounted")
        self._say(not set(seen.members) - ever - new, "somebody is released who is nowhere")

    def _row(self, person: str, seen: Seen) -> Row:
        """What a person must be released with: the row of the table, or the last one while that is held."""
        before = next((each for each in reversed(self.members) if person in each), None)
        own, table = seen.members[person], seen.table
        if before is None or person in self.away or before[person].version != own.version:
            self._say(person in table, "somebody enters without a row")
            return table[person]
        last = next(each[person] for each in reversed(self.wholes) if person in each)
        if person not in table or _values(table[person], seen.schema) != _values(last, seen.schema):
            return last
        is_limited = any("coarsest" in keys for keys in seen.schema["quasi"].values())
        stays = is_limited and all(_is_one(own.quasi[name], last[name]) for name in own.quasi)
        return last if stays else table[person]

    def _leave(self, seen: Seen, ever: set[str]) -> None:
        """Whoever is gone was deleted, or is withdrawn for good."""
        members, withdrawn = set(seen.members), seen.withdrawn
        self._say(not self.withdrawn & members, "a withdrawn person is back")
        left = ever - members - self.away - self.withdrawn
        self._say(len(left & withdrawn) == seen.counts["withdrawn"], "withdrawn is wrong")
        self._say(not (left - withdrawn) & set(seen.table), "somebody who is in the table is gone")
        self.away = (self.away | left) - withdrawn - members
        self.withdrawn |= left & withdrawn

    def _published(self, published: list[Row], schema: Keys) -> None:
        """The file has the classes and their values, covers every row, and keeps k, t, l and caps."""
        whole, found = self.wholes[-1], groups(published, list(schema["quasi"]))
        classes: dict[int, list[str]] = {}
        for person, member in self.members[-1].items():
            classes.setdefault(member.number, []).append(person)
        persons = list(whole)
        self._say(len(published) == len(persons) and len(found) == len(classes), "the file has other rows or classes")
        for own in classes.values():
            rows = [whole[person] for person in own]
            fits = any(_fits(rows, [published[place] for place in each], schema) for each in found)
            self._say(fits, "a class is not published as it is")
            places = [persons.index(person) for person in own]
            broken = [*broken_by([whole[each] for each in persons], places, schema)]
            self._say(not broken, f"a class breaks {broken}")

    def _atoms(self) -> None:
        """Every atom keeps what was asked when it was formed, by all its values, beside the releases they came in."""
        pasts: dict[tuple[Any, ...], set[str]] = {}
        for person in {each for members in self.members for each in members}:
            pasts.setdefault(self._past(person), set()).add(person)
        for atom in map(frozenset, pasts.values()):
            made = self.formed.setdefault(atom, len(self.members) - 1)
            for release in self._origins(next(iter(atom))):
                persons = list(self.wholes[release])
                rows = [self.wholes[release][each] for each in persons]
                broken = [*broken_by(rows, [persons.index(each) for each in atom], self.schemas[made])]
                self._say(not broken, f"an atom breaks {broken} beside release {release + 1}")

    def _past(self, person: str) -> tuple[Any, ...]:
        new = set(self._origins(person))
        return tuple(
            (each[person].number, place in new) if person in each else None for place, each in enumerate(self.members)
        )

    def _origins(self, person: str) -> list[int]:
        """The releases in which the values of a person were new."""
        found, last = [], None
        for place, each in enumerate(self.members):
            if person in each and each[person].version != last:
                found.append(place)
                last = each[person].version
        return found


def _fits(rows: list[Row], published: list[Row], schema: Keys) -> bool:
    """Whether published rows are these: the same values, and they cover the quasi-identifiers."""
    own, shown = (sorted(each, key=lambda row: repr(_values(row, schema))) for each in (rows, published))
    if [_values(row, schema) for row in own] != [_values(row, schema) for row in shown]:
        return False
    return not lies(own, shown, schema)


def _is_one(told: Any, cell: Any) -> bool:
    """Whether two cells are one value, in whatever form."""
    return told == cell if None in (told, cell) else same(cell, told)


def _values(row: Row, schema: Keys) -> tuple[Any, ...]:
    return tuple(_plain(row[name], keys["distance"]) for name, keys in schema["sensitive"].items())


def _plain(cell: Any, distance: str) -> Any:
    return None if cell in (None, "") else float(cell) if distance == "numeric" else str(cell)
