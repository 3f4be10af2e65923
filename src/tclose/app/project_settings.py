"""What a person has settled so far: a role and keys for each column, and the keys of the whole schema."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from tclose.app.texts import said
from tclose.errors import SchemaError
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.proposing.table_proposal import TableProposal

ROLES = ("quasi", "sensitive", "identifier", "keep", "unit", "open")
OPEN = "open"
READING = ("delimiter", "encoding", "decimal", "thousands", "header")  # keys of how a file is read
OF_COLUMNS = ("quasi", "sensitive", "identifiers", "keep", "unit", "roles")  # keys that roles say already


@dataclass(frozen=True)
class ColumnSettings:
    """What was settled about one column; the keys of a role that it does not have now are kept for when it has.

    Attributes
    ----------
    role
        One of `ROLES`; open where nobody chose.
    quasi, sensitive
        The keys it has in a schema under either role.
    """

    role: str
    quasi: Mapping[str, Any] = field(default_factory=dict)
    sensitive: Mapping[str, Any] = field(default_factory=dict)

    def tree(self, role: str, name: str) -> Hierarchy | None:
        """The tree of its values under a role, made once; None without one, or where it is built."""
        held = getattr(self, role).get("hierarchy")
        if not isinstance(held, Mapping) or isinstance(held.get("build"), str) or not held:
            return None
        if role not in self._trees:
            self._trees[role] = Hierarchy.from_nested(held, name=name)
        return self._trees[role]

    @cached_property
    def _trees(self) -> dict[str, Hierarchy]:
        return {}


@dataclass(frozen=True)
class ProjectSettings:
    """All that was settled.

    Attributes
    ----------
    columns
        By name, in the order of the table.
    keys
        Of the schema as a whole: k, missing, how the file is read.

    Examples
    --------
    >>> settings = ProjectSettings({"age": ColumnSettings("quasi", {"kind": "numeric"})}, {"k": 5})
    >>> settings.schema().k, ProjectSettings.from_text(settings.to_text()) == settings
    (5, True)
    """

    columns: Mapping[str, ColumnSettings]
    keys: Mapping[str, Any]

    @classmethod
    def of_proposal(cls, proposal: TableProposal, k: int = 5) -> ProjectSettings:
        """What `tclose init` guesses; roles other than identifiers wait for a person."""
        columns, has_unit = {}, False
        for name, guess in proposal.guesses.items():
            role = guess.role if guess.role in ("identifier", "unit") else OPEN
            if role == "unit" and has_unit:
                role = "identifier"
            has_unit = has_unit or role == "unit"
            columns[name] = ColumnSettings(role, dict(guess.quasi or {}), dict(guess.sensitive or {}))
        keys: dict[str, Any] = {"k": k, **proposal.reading}
        if proposal.spellings.sure:
            keys["missing_values"] = list(proposal.spellings.sure)
        if proposal.spellings.n_columns:
            keys["missing"] = "category"
        return cls(columns, keys)

    def with_known(self, schema: Schema | None) -> ProjectSettings:
        """The same with the keys that a schema has for some columns, whatever their roles are."""
        if schema is None:
            return self
        keys = schema.as_dict()
        columns = {
            name: replace(
                column,
                quasi=keys["quasi"].get(name, column.quasi),
                sensitive=keys["sensitive"].get(name, column.sensitive),
            )
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def with_guesses(self, before: TableProposal, after: TableProposal) -> ProjectSettings:
        """The same where columns whose keys are still those of an earlier guess get those of a later one."""
        columns = {}
        for name, column in self.columns.items():
            old, new = before.guesses[name], after.guesses[name]
            quasi = dict(new.quasi or {}) if column.quasi == dict(old.quasi or {}) else column.quasi
            told = dict(new.sensitive or {}) if column.sensitive == dict(old.sensitive or {}) else column.sensitive
            columns[name] = replace(column, quasi=quasi, sensitive=told)
        return replace(self, columns=columns)

    def with_schema(self, roles: Mapping[str, str], keys: Mapping[str, Any]) -> ProjectSettings:
        """The same where columns have the roles and keys of a schema; one that it does not name is open.

        How the file is read stays as it was found.
        """
        columns = {}
        for name, column in self.columns.items():
            quasi, told = keys["quasi"].get(name, column.quasi), keys["sensitive"].get(name, column.sensitive)
            role = roles.get(name, column.role if column.role == "identifier" else OPEN)
            columns[name] = ColumnSettings(role, quasi, told)
        reading = {key: value for key, value in self.keys.items() if key in READING}
        rest = {key: value for key, value in keys.items() if key not in (*OF_COLUMNS, *READING)}
        return ProjectSettings(columns, {**rest, **reading})

    def having(self, role: str) -> list[str]:
        """The columns with this role."""
        return [name for name, column in self.columns.items() if column.role == role]

    def with_column(self, name: str, **changes: Any) -> ProjectSettings:
        """The same with something else settled about a column; there is one unit at most."""
        columns = dict(self.columns)
        columns[name] = replace(columns[name], **changes)
        if changes.get("role") == "unit":
            for other in self.having("unit"):
                if other != name:
                    columns[other] = replace(columns[other], role="identifier")
        return replace(self, columns=columns)._without_idle_units()

    def with_roles(self, names: Iterable[str], role: str) -> ProjectSettings:
        """The same with a role for several columns."""
        settings = self
        for name in names:
            settings = settings.with_column(name, role=role)
        return settings

    def with_keys(self, **keys: Any) -> ProjectSettings:
        """The same with other keys; None takes one out."""
        changed = {**self.keys, **keys}
        return replace(self, keys={key: value for key, value in changed.items() if value is not None})

    def _without_idle_units(self) -> ProjectSettings:
        """Keys about persons go with the unit: a schema refuses them without one."""
        if self.having("unit"):
            return self
        return self.with_keys(unit_rows=None, unit_pick=None, unit_order=None)

    def schema_keys(self) -> dict[str, Any]:
        """The keys of the schema that comes of it."""
        keys = dict(self.keys)
        for key, role in (("identifiers", "identifier"), ("keep", "keep")):
            if named := self.having(role):
                keys[key] = named
        if units := self.having("unit"):
            keys["unit"] = units[0]
        keys["quasi"] = {name: dict(self.columns[name].quasi) for name in self.having("quasi")}
        keys["sensitive"] = {name: dict(self.columns[name].sensitive) for name in self.having("sensitive")}
        return keys

    def schema(self, base: Path | str = ".") -> Schema:
        """The schema that comes of it.

        Raises
        ------
        SchemaError
            Columns are open, or what was settled cannot be promised.
        """
        found = self._made.get(str(base))
        if found is None:
            found = self._made[str(base)] = self._make(base)
        if isinstance(found, SchemaError):
            raise SchemaError(*found.args)
        return found

    @cached_property
    def _made(self) -> dict[str, Schema | SchemaError]:
        """Schemas by their folder, or why there is none: every page asks, and a tree of many values takes its time."""
        return {}

    def _make(self, base: Path | str) -> Schema | SchemaError:
        if waiting := self.having(OPEN):
            listed = ", ".join(f"'{name}'" for name in waiting[:5]) + (", ..." if len(waiting) > 5 else "")
            return SchemaError(said("no_roles", n=len(waiting), names=listed))
        try:
            return Schema.from_dict(self.schema_keys(), base)
        except SchemaError as error:
            return error.with_traceback(None)

    def trouble(self, base: Path | str = ".") -> str:
        """Why there is no schema yet; empty if there is one."""
        try:
            self.schema(base)
        except SchemaError as error:
            return str(error)
        return ""

    def to_text(self) -> str:
        """As TOML, in which every number stands as it was written."""
        return self._text

    @cached_property
    def _text(self) -> str:
        columns = [
            {"name": name, "role": column.role, "quasi": dict(column.quasi), "sensitive": dict(column.sensitive)}
            for name, column in self.columns.items()
        ]
        return tomli_w.dumps({"keys": dict(self.keys), "columns": columns})

    @classmethod
    def from_text(cls, text: str) -> ProjectSettings:
        """The inverse of `to_text`."""
        held = tomllib.loads(text, parse_float=Decimal)
        columns = {
            each["name"]: ColumnSettings(each["role"], each["quasi"], each["sensitive"]) for each in held["columns"]
        }
        return cls(columns, held["keys"])
