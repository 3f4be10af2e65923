"""A proposal: guesses for every column of a table, and the schema that comes of what a person chooses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import SchemaError
from tclose.schema.name_patterns import ColumnRules, is_pattern, matches
from tclose.table.coded import CodedColumn
from tclose.table.date_formats import fits
from tclose.table.proposing.column_evidence import Evidence, order_of
from tclose.table.proposing.guesses import ColumnGuess, guess
from tclose.table.proposing.missing_spellings import Spellings, find_spellings
from tclose.table.proposing.singling_out import singled_out
from tclose.table.reading import Reader, is_flat
from tclose.table.source import Source

MANY = 12  # identifiers from which on a pattern is written instead of their names


@dataclass(frozen=True)
class RoleChoices:
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
    unit_rows
        What becomes of the rows of a person, one or all; None leaves that open.
    formats
        How dates are written, of columns of which someone said so.
    """

    roles: Mapping[str, str]
    k: int = 5
    ordered: Mapping[str, bool] = field(default_factory=dict)
    missing: str | None = None
    missing_values: tuple[str, ...] | None = None
    drops_rest: bool = False
    hierarchies: str | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    unit_rows: str | None = None


@dataclass(frozen=True, eq=False)
class TableProposal:
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
    guesses: dict[str, ColumnGuess] = field(repr=False)
    spellings: Spellings
    reading: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        source: Source,
        name: str,
        reading: Mapping[str, Any] | None = None,
        *,
        missing_values: Sequence[str] | None = None,
        formats: Sequence[str] = (),
    ) -> TableProposal:
        """Look at every column of a table; `formats` are those that someone said its dates have.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"age": ["31", "44", "?"], "ill": ["flu", "cold", "flu"]})
        >>> found = TableProposal.of(Source.of(table), "people")
        >>> found.guesses["age"].quasi, found.spellings.sure
        ({'kind': 'numeric'}, ('?',))
        """
        reading = reading or {}
        coded = source.each(source.names, lambda column: CodedColumn.of(column) if is_flat(column) else None)
        spellings = find_spellings(column for column in coded.values() if column is not None)
        spelled = spellings.sure if missing_values is None else tuple(missing_values)
        signs = {"decimal": reading.get("decimal", "."), "thousands": reading.get("thousands", "")}
        reader = Reader(source, np.arange(source.n_rows), **signs)
        evidence = [
            Evidence.of(source, source.column(each), spelled)
            if column is None
            else Evidence.of_coded(reader, column, spelled, formats)
            for each, column in coded.items()
        ]
        guesses = {each.column: guess(each) for each in _in_one_order(evidence)}
        return cls(name, source.n_rows, guesses, spellings, reading)

    @cached_property
    def ranking(self) -> list[tuple[float, tuple[str, ...]]]:
        """Which columns single rows out, those aside that are never released anyway."""
        columns = [each.evidence.coded for each in self.guesses.values() if each.role not in ("identifier", "unit")]
        return singled_out([column for column in columns if column is not None])

    def guessed(self, choices: RoleChoices) -> dict[str, ColumnGuess]:
        """The guesses, with what someone said about order and formats."""
        dated = {name: self.guesses[name].with_format(form) for name, form in choices.formats.items()}
        return {
            name: each.with_order(choices.ordered[name]) if name in choices.ordered else each
            for name, each in {**self.guesses, **dated}.items()
        }

    def has_missing(self, columns: Sequence[str]) -> bool:
        """Whether one of these has a missing value."""
        return any(self.guesses[name].evidence.n_missing for name in columns)

    def named(self, given: str) -> list[str]:
        """The columns and patterns that a text names: one, or several with commas between.

        A column that has just this name comes first, so that its name may hold commas and stars. Spaces around a name
        need not be given.

        Raises
        ------
        SchemaError
            There is no such column; the message names the one that may be meant.
        """
        if given in self.guesses:
            return [given]
        parts = [part.strip() for part in given.split(",") if part.strip()] if "," in given else [given]
        parts = [part if part in self.guesses else self._spaced(part) for part in parts]
        for part in parts:
            found = part in self.guesses or (is_pattern(part) and any(matches(part, name) for name in self.guesses))
            if not found:
                raise SchemaError(self.unknown(part))
        return parts

    def _spaced(self, part: str) -> str:
        """The one column that has this name but for spaces around it, as files with a space behind each comma do."""
        found = [name for name in self.guesses if name.strip() == part.strip()]
        return found[0] if len(found) == 1 else part

    def roles(self, named: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The role of each column that texts name, by the rules of a schema: a name wins, then the longest pattern.

        Raises
        ------
        SchemaError
            There is no such column, or one has two roles.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"age": [1], "lab_1": [2], "name": ["x"]})
        >>> found = TableProposal.of(Source.of(table), "labs")
        >>> found.roles({"quasi": ["age"], "sensitive": ["lab_*"], "identifier": ["*"]})
        {'age': 'quasi', 'lab_1': 'sensitive', 'name': 'identifier'}
        """
        names: dict[str, str] = {}
        patterns: list[tuple[str, str]] = []
        for role, texts in named.items():
            for part in [part for text in texts for part in self.named(text)]:
                if part not in self.guesses:
                    patterns.append((part, role))
                elif names.setdefault(part, role) != role:
                    raise SchemaError(f"Column '{part}' is named as {names[part]} and as {role}. Give it one role.")
        rules = ColumnRules(names, tuple(patterns), (), ())
        found = {name: rules.role_of(name) for name in self.guesses}
        return {name: role for name, role in found.items() if role is not None}

    def unknown(self, given: str) -> str:
        """That there is no such column, and which one may be meant."""
        folded = {name.casefold(): name for name in self.guesses}
        near = difflib.get_close_matches(given.casefold(), list(folded), 1, 0.5)
        hint = f" Did you mean '{folded[near[0]]}'?" if near else f" It has {len(folded):,} columns."
        if len(folded) == 1:
            hint = " It has one column. If it is text that a character divides, say which: --delimiter '^'."
        return f"The table has no column '{given}'.{hint}"


def _in_one_order(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What is known of all columns, days before months everywhere if they are so in some column, or the other way."""
    told = [each for each in evidence if len(each.formats) == 1 and "." not in each.formats[0]]
    orders = {order_of(each.formats[0]): each.column for each in reversed(told) if order_of(each.formats[0]) in "dm"}
    if len(orders) != 1:
        return list(evidence)
    [(order, column)] = orders.items()
    return [each.in_order(order, column) if len(each.formats) > 1 else each for each in evidence]


def check_formats(proposal: TableProposal, formats: Sequence[str]) -> None:
    """Refuse a format of dates in which no column has all of its values: what someone said would not be heard.

    Raises
    ------
    SchemaError
        The message names the format.
    """
    columns = [each.evidence.coded for each in proposal.guesses.values()]
    texts = [column.values for column in columns if column is not None and column.values.dtype == pl.String]
    for form in formats:
        if not any(values.null_count() < len(values) and fits(values, form) for values in texts):
            raise SchemaError(
                f"No column has all of its values in the format '{form}'. Known are %Y %y %m %d %b %B %H %I %p %M %S "
                "%f %z and what stands between them, as in '%d.%m.%Y %H:%M'. It must say year, month and day."
            )


def why_not(guess: ColumnGuess) -> str:
    """Why a column has no kind or distance that reads it."""
    return guess.evidence.problem or "some of its numbers are infinite, or have no common unit"


def check_roles(proposal: TableProposal, choices: RoleChoices) -> None:
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
                f"Column '{name}' cannot be {role}: {why_not(guesses[name])}. Change its values or their type first, "
                "or leave it out (--identifiers)."
            )
        if role in ("quasi", "sensitive") and len(guesses[name].evidence.formats) > 1:
            formats = " or ".join(f"--date-format '{form}'" for form in guesses[name].evidence.formats)
            raise SchemaError(f"The dates of column '{name}' can be read in several ways. Say which: {formats}.")
    units = [name for name, role in choices.roles.items() if role == "unit"]
    if len(units) > 1:
        listed = " and ".join(f"'{name}'" for name in units)
        raise SchemaError(f"{listed} are both named as the unit. A schema has one.")
