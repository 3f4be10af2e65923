"""Patterns of column names: a role, or the keys of a role, for every column that matches.

A `*` stands for any characters, none included; every other character stands for itself. A column that is named
wins over every pattern, and of the patterns that match a column the one with the most characters beside `*` wins.
Two that have as many must agree, or the column has to be named: nothing depends on the order they are written in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from tclose.errors import SchemaError
from tclose.schema.columns import Quasi, Sensitive

ROLES = ("quasi", "sensitive", "identifier", "keep")
Keyed = TypeVar("Keyed", Quasi, Sensitive)


def is_pattern(name: str) -> bool:
    """Whether it may stand for several columns.

    Examples
    --------
    >>> is_pattern("lab_*"), is_pattern("lab_1")
    (True, False)
    """
    return "*" in name


def matches(pattern: str, name: str) -> bool:
    """Whether a column has a name of this pattern.

    Examples
    --------
    >>> matches("lab_*", "lab_1"), matches("lab_*", "my_lab_1"), matches("*", "anything")
    (True, False, True)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


@dataclass(frozen=True)
class ColumnRules:
    """What a schema says of columns, by name and by pattern.

    Attributes
    ----------
    named
        The role of each column that is named.
    roles
        The role of each pattern of `roles`.
    quasi, sensitive
        The tables of keys, some of them for patterns.
    """

    named: Mapping[str, str]
    roles: tuple[tuple[str, str], ...]
    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]

    @cached_property
    def _by_pattern(self) -> list[tuple[str, str]]:
        tables = [(each.column, "quasi") for each in self.quasi]
        tables += [(each.column, "sensitive") for each in self.sensitive]
        return [(pattern, role) for pattern, role in (*self.roles, *tables) if is_pattern(pattern)]

    def role_of(self, column: str) -> str | None:
        """The role of a column of the table; None if the schema says nothing of it."""
        if column in self.named:
            return self.named[column]
        best = _most_precise([given for given in self._by_pattern if matches(given[0], column)], column)
        if len({role for _, role in best}) > 1:
            raise SchemaError(_conflict(column, [pattern for pattern, _ in best]))
        return best[0][1] if best else None

    def expand(self, columns: Iterable[str], tables: tuple[Keyed, ...], role: str) -> tuple[Keyed, ...]:
        """The tables of a role, those of patterns replaced by the columns they stand for, in the order of `columns`."""
        given = _KeyTables(tables)
        by_table: dict[str, list[str]] = {each.column: [] for each in tables}
        for column in columns:
            if self.role_of(column) == role:
                by_table[given.name_for(column, role)].append(column)
        found: list[Keyed] = []
        for each in tables:
            names = by_table[each.column] if is_pattern(each.column) else [each.column]
            found += [replace(each, column=name) for name in names]
        return tuple(found)

    def table_of(self, column: str, role: str) -> str:
        """The name or pattern of the table that gives the keys of a quasi-identifier or sensitive attribute."""
        return _KeyTables(self.quasi if role == "quasi" else self.sensitive).name_for(column, role)

    def originals(self, columns: Sequence[str]) -> list[str]:
        """The columns of the original that released ones were made of: two bounds become one again.

        `q_1_low` and `q_1_high` are `q_1` where a pattern makes that a quasi-identifier published as bounds.
        """
        present, bases, gone = set(columns), {}, set()
        for name in columns:
            base = name.removesuffix("_low")
            other = f"{base}_high"
            if base != name and other in present and base not in present and self._has_bounds(base):
                bases[name] = base
                gone.add(other)
        return [bases.get(name, name) for name in columns if name not in gone]

    def _has_bounds(self, column: str) -> bool:
        if self.role_of(column) != "quasi":
            return False
        name = self.table_of(column, "quasi")
        return any(each.column == name and each.publish == "bounds" for each in self.quasi)

    def check_used(self, columns: Sequence[str]) -> None:
        """Refuse a pattern of quasi-identifiers or sensitive attributes that stands for no column: a slip of the pen.

        One of identifiers or kept columns may: a release has no identifiers left.
        """
        for pattern, role in self._by_pattern:
            if role in ("quasi", "sensitive") and not any(matches(pattern, column) for column in columns):
                raise SchemaError(
                    f"The pattern '{pattern}' ({role}) matches no column of the table. Fix it, or take it out."
                )


class _KeyTables:
    """The tables of one role: which of them gives the keys of a column."""

    def __init__(self, tables: Sequence[Quasi] | Sequence[Sensitive]) -> None:
        self.names = {each.column for each in tables}
        self.patterns = [(each.column, "") for each in tables if is_pattern(each.column)]

    def name_for(self, column: str, role: str) -> str:
        """The name or pattern of that table."""
        if column in self.names:
            return column
        best = _most_precise([given for given in self.patterns if matches(given[0], column)], column)
        if not best:
            raise SchemaError(
                f"`roles` makes column '{column}' {role}, and nothing gives its keys. Write [{role}.NAME] with its "
                "name, or with a pattern."
            )
        if len(best) > 1:
            raise SchemaError(_conflict(column, [pattern for pattern, _ in best]))
        return best[0][0]


def _most_precise(given: list[tuple[str, str]], column: str) -> list[tuple[str, str]]:
    """Those that are the column's very name, else those with the most characters beside `*`."""
    exact = [each for each in given if each[0] == column]
    most = max((len(pattern.replace("*", "")) for pattern, _ in given), default=0)
    return exact or [each for each in given if len(each[0].replace("*", "")) == most]


def _conflict(column: str, patterns: Sequence[str]) -> str:
    listed = " and ".join(f"'{pattern}'" for pattern in dict.fromkeys(patterns))
    return (
        f"Column '{column}' matches {listed}, and none of them is more exact than the other. Name the column, or make "
        "one pattern longer."
    )
