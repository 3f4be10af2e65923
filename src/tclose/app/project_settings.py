"""What a person has settled so far: a role and keys for each column, and the keys of the whole schema."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomli_w

from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.proposing.table_proposal import TableProposal

ROLES = ("quasi", "sensitive", "identifier", "keep", "unit", "open")
OPEN = "open"


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
        if waiting := self.having(OPEN):
            listed = ", ".join(f"'{name}'" for name in waiting[:5]) + (", ..." if len(waiting) > 5 else "")
            raise SchemaError(f"{len(waiting)} columns have no role yet: {listed}. Give each one under Columns.")
        return Schema.from_dict(self.schema_keys(), base)

    def trouble(self, base: Path | str = ".") -> str:
        """Why there is no schema yet; empty if there is one."""
        try:
            self.schema(base)
        except SchemaError as error:
            return str(error)
        return ""

    def to_text(self) -> str:
        """As TOML, in which every number stands as it was written."""
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
