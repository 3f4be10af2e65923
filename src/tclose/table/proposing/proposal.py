"""A proposal: guesses for every column of a table, and the schema that comes of what a person chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tclose.errors import SchemaError
from tclose.schema.patterns import is_pattern, matches
from tclose.table.coded import CodedColumn
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.proposing.guesses import Guess, guess
from tclose.table.proposing.missing_spellings import Spellings, find_spellings
from tclose.table.proposing.singling_out import singled_out
from tclose.table.reading import Reader, is_flat
from tclose.table.source import Source

MANY = 12  # identifiers from which on a pattern is written instead of their names


@dataclass(frozen=True)
class Choices:
    """What a person chose.

    Attributes
    ----------
    roles
        For each column quasi, sensitive, identifier, keep or unit; open if nobody chose.
    k
        The least number of rows in a class.
    ordered
        Columns of which someone said whether larger values mean more.
    missing
        What a missing value is; None leaves that open.
    missing_values
        Spellings of missing; None for those that are sure.
    drops_rest
        Whatever else a table may have is never released, so that a pattern can say so.
    hierarchies
        The folder that hierarchies are written to, as the schema names it; None if there are none to be.
    """

    roles: Mapping[str, str]
    k: int = 5
    ordered: Mapping[str, bool] = field(default_factory=dict)
    missing: str | None = None
    missing_values: tuple[str, ...] | None = None
    drops_rest: bool = False
    hierarchies: str | None = None


@dataclass(frozen=True, eq=False)
class Proposal:
    """What the columns of a table seem to be.

    Attributes
    ----------
    name
        Of the table.
    n_rows
        Its rows.
    guesses
        One a column, in the order of the table.
    spellings
        What may mean missing.
    reading
        Keys of a schema that reading the table found: `delimiter` and the like.
    """

    name: str
    n_rows: int
    guesses: dict[str, Guess] = field(repr=False)
    spellings: Spellings
    reading: Mapping[str, str]

    @classmethod
    def of(
        cls,
        source: Source,
        name: str,
        reading: Mapping[str, str] | None = None,
        *,
        missing_values: Sequence[str] | None = None,
    ) -> Proposal:
        """Look at every column of a table.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"age": ["31", "44", "?"], "ill": ["flu", "cold", "flu"]})
        >>> found = Proposal.of(Source.of(table), "people")
        >>> found.guesses["age"].quasi, found.spellings.sure
        ({'kind': 'numeric'}, ('?',))
        """
        reading = reading or {}
        coded = source.each(source.names, lambda column: CodedColumn.of(column) if is_flat(column) else None)
        spellings = find_spellings(column for column in coded.values() if column is not None)
        spelled = spellings.sure if missing_values is None else tuple(missing_values)
        reader = Reader(source, np.arange(source.n_rows), reading.get("decimal", "."))
        guesses = {}
        for each, column in coded.items():
            evidence = (
                Evidence.of(source, source.column(each), spelled)
                if column is None
                else Evidence.of_coded(reader, column, spelled)
            )
            guesses[each] = guess(evidence)
        return cls(name, source.n_rows, guesses, spellings, reading)

    @cached_property
    def ranking(self) -> list[tuple[float, tuple[str, ...]]]:
        """Which columns single rows out, those aside that are never released anyway."""
        columns = [each.evidence.coded for each in self.guesses.values() if each.role not in ("identifier", "unit")]
        return singled_out([column for column in columns if column is not None])

    def guessed(self, choices: Choices) -> dict[str, Guess]:
        """The guesses, with what someone said about order."""
        return {
            name: each.with_order(choices.ordered[name]) if name in choices.ordered else each
            for name, each in self.guesses.items()
        }

    def has_missing(self, columns: Sequence[str]) -> bool:
        """Whether one of these has a missing value."""
        return any(self.guesses[name].evidence.n_missing for name in columns)

    def named(self, given: str, refuse: Callable[[str], Exception]) -> list[str]:
        """The columns that a text names: one, several with commas between, or all that a pattern matches.

        A column that has just this name comes first, so that its name may hold commas and stars.
        """
        if given in self.guesses:
            return [given]
        parts = [given] if "," not in given else [part.strip() for part in given.split(",") if part.strip()]
        found: list[str] = []
        for part in parts:
            columns = [part] if part in self.guesses else []
            if not columns and is_pattern(part):
                columns = [name for name in self.guesses if matches(part, name)]
            if not columns:
                raise refuse(self.unknown(part))
            found += columns
        return found

    def unknown(self, given: str) -> str:
        """That there is no such column, and which one may be meant."""
        import difflib

        folded = {name.casefold(): name for name in self.guesses}
        near = difflib.get_close_matches(given.casefold(), list(folded), 1, 0.5)
        hint = f" Did you mean '{folded[near[0]]}'?" if near else f" It has {len(folded):,} columns."
        return f"The table has no column '{given}'.{hint}"


def why_not(guess: Guess) -> str:
    """Why a column has no kind or distance that reads it."""
    return guess.evidence.problem or "some of its numbers are infinite, or have no common unit"


def check_roles(proposal: Proposal, choices: Choices) -> None:
    """Refuse choices that no schema could keep: a column in a role that its values do not allow.

    Raises
    ------
    SchemaError
        The message names the column, why it does not go, and what would.
    """
    guesses = proposal.guessed(choices)
    for name, role in choices.roles.items():
        found: Any = {"quasi": lambda each: each.quasi, "sensitive": lambda each: each.sensitive}.get(role)
        if found is not None and found(guesses[name]) is None:
            raise SchemaError(
                f"Column '{name}' cannot be {role}: {why_not(guesses[name])}. Change its values or their type first, or "
                "leave it out (--identifiers)."
            )
    units = [name for name, role in choices.roles.items() if role == "unit"]
    if len(units) > 1:
        listed = " and ".join(f"'{name}'" for name in units)
        raise SchemaError(f"{listed} are both named as the unit. A schema has one.")
