"""Schema: what each column of a table is, and what is promised about its release.

All checks that need no row happen here, so that a wrong schema never costs a pass over the data.
Its columns are in `columns.py`; reading and writing the TOML form is in `toml.py`.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union

import tomli_w

from tclose.errors import SchemaError
from tclose.schema.builders import Dates, Intervals
from tclose.schema.columns import Joint, Quasi, Sensitive, is_whole
from tclose.schema.name_patterns import ROLES, ColumnRules, is_pattern
from tclose.schema.objectives import wrong_objective
from tclose.schema.toml import as_number, column_as_dict, parse, read_toml, relative_path
from tclose.schema.written_forms import THOUSANDS, DateForm, NumberForm

SchemaLike: TypeAlias = Union["Schema", Mapping[str, Any], str, Path]
RECODINGS = ("generalize", "suppress")
POLICIES = ("category", "drop", "error")
UNIT_ROWS = ("one", "all")
UNIT_PICKS = ("random", "first", "last")


@dataclass(frozen=True)
class Schema:
    """Roles, kinds and promises for the columns of a table.

    Make one with `load` or `from_dict`.

    Attributes
    ----------
    k
        The least number of rows in a class.
    quasi
        The quasi-identifiers: a table of keys for each column.
    sensitive
        The sensitive attributes: a table of keys for each column.
    joint
        Sensitive attributes that are bound together: a table of keys for each joint.
    recode
        How the values of a class become one. `generalize` replaces them by a broader value that covers them all;
        `suppress` keeps a value where the whole class agrees, and replaces it by `*` elsewhere.
    objective
        What is optimized among the releases that keep the promise: `loss`, `queries` or `classify`.
    workload
        A file of COUNT queries that a release is to answer well; random ones if there is none.
    target
        The column that classes are to tell, under `objective = "classify"`.
    suppress_rows
        The share of rows that may be left out, if together they keep the promise of a class.
    missing
        What a missing value is: `category`, a value of its own; `drop`, a reason to leave the row out; `error`, a
        reason to refuse the table. It must be given once some values are missing.
    missing_values
        Spellings that mean missing, beside empty, null and NaN.
    identifiers
        Columns that are never released.
    keep
        Columns that are released as they are. With the released quasi-identifiers they must still leave groups of k.
    keep_unchecked
        Release the kept columns even where they single people out; the certificate says so first.
    unit
        The column that says whom a row is about. It is never released.
    unit_rows
        What becomes of several rows of one person: `one` keeps one of them, `all` releases all and counts k in persons.
    unit_pick
        Which row `unit_rows = "one"` keeps: `random`, or the `first` or `last` by `unit_order`.
    unit_order
        The column that orders the rows of a person.
    roles
        Roles for columns by pattern: `quasi`, `sensitive`, `identifier` or `keep`. A column that is named wins.
    delimiter
        What divides the columns of a text file.
    encoding
        The encoding of the input; a release is always UTF-8.
    decimal
        The decimal sign of numbers in text files.
    thousands
        The sign between groups of three digits in text files; empty for none.
    header
        Whether the first line of a text file names the columns.

    Examples
    --------
    >>> schema = Schema.from_dict({
    ...     "k": 5,
    ...     "quasi": {"age": {"kind": "numeric", "step": 5}, "zip": {"kind": "text"}},
    ...     "sensitive": {"disease": {"distance": "equal", "t": 0.2}},
    ... })
    >>> schema.sensitive[0].t
    Fraction(1, 5)
    """

    k: int
    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...] = ()
    joint: tuple[Joint, ...] = ()
    recode: Literal["generalize", "suppress"] = "generalize"
    suppress_rows: Fraction | None = None
    missing: Literal["category", "drop", "error"] | None = None
    missing_values: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    keep_unchecked: bool = False
    unit: str | None = None
    unit_rows: Literal["one", "all"] | None = None
    unit_pick: Literal["random", "first", "last"] | None = None
    unit_order: str | None = None
    objective: Literal["loss", "queries", "classify"] = "loss"
    workload: str | None = None
    target: str | None = None
    roles: tuple[tuple[str, str], ...] = ()
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    header: bool = True

    def __post_init__(self) -> None:
        problems = [*self._wrong_keys(), *self._wrong_units(), *self._wrong_roles(), *self._wrong_joints()]
        problems += self._wrong_left_out()
        known = None if self.has_patterns else self.columns
        problems += wrong_objective(self.objective, self.workload, self.target, known)
        problems += self._wrong_beside_objective()
        if problems:
            raise SchemaError(*problems)

    def _wrong_keys(self) -> Iterator[str]:
        if not is_whole(self.k) or self.k < 1:
            yield "k must be a whole number from 1 up."
        if not self.quasi:
            yield "There is no quasi-identifier. Name at least one: [quasi.age]."
        if self.recode not in RECODINGS:
            yield f"recode must be one of {', '.join(RECODINGS)}."
        if self.missing not in (None, *POLICIES):
            yield f"missing must be one of {', '.join(POLICIES)}."
        if len(self.delimiter) != 1 or ord(self.delimiter) > 127 or self.delimiter in '"\r\n':
            yield "delimiter must be one plain character, such as ',' or ';'."
        if self.decimal not in (".", ","):
            yield "decimal must be '.' or ','."
        if self.thousands and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            yield "thousands must be ',', '.', a space or an apostrophe, and not the decimal sign."
        for quasi in self.quasi if not self.thousands else ():
            if quasi.grouped:
                yield f"[quasi.{quasi.column}]: 'grouped' writes the thousands sign, and `thousands` names none."
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            yield "encoding is not known to Python. Use utf-8, latin-1, cp1252 or another."
        for name, role in self.roles:
            if role not in ROLES:
                yield f"roles: the role of '{name}' must be one of {', '.join(ROLES)}."
        for quasi in self.quasi if self.recode == "suppress" else ():
            if quasi.coarsest is not None or quasi.finest is not None:
                yield (
                    f'[quasi.{quasi.column}]: recode = "suppress" keeps a value or hides it; it takes no coarsest or '
                    "finest."
                )
            if quasi.publish != "interval" or any(limit is not None for limit in (quasi.step, quasi.bottom, quasi.top)):
                yield (
                    f'[quasi.{quasi.column}]: recode = "suppress" keeps a value or hides it; '
                    "it takes no publish, step, bottom or top."
                )

    def _wrong_units(self) -> Iterator[str]:
        if self.unit_rows not in (None, *UNIT_ROWS):
            yield f"unit_rows must be one of {', '.join(UNIT_ROWS)}."
        if self.unit_pick not in (None, *UNIT_PICKS):
            yield f"unit_pick must be one of {', '.join(UNIT_PICKS)}."
        if self.unit_rows is not None and self.unit is None:
            yield "unit_rows is about persons with several rows, and `unit` names no column that says whose a row is."
        if self.unit_rows != "one" and (self.unit_pick is not None or self.unit_order is not None):
            yield 'unit_pick and unit_order choose the row that is kept, and only unit_rows = "one" keeps a single one.'
        if self.unit_pick in ("first", "last") and self.unit_order is None:
            yield f'unit_pick = "{self.unit_pick}" needs a column to go by: unit_order = "COLUMN".'
        if self.unit_pick not in ("first", "last") and self.unit_order is not None and self.unit_rows == "one":
            yield 'unit_order is for unit_pick = "first" or "last".'
        if self.unit_order is not None and self.unit_order == self.unit:
            yield "unit_order must be another column than `unit`, whose value all rows of a person share."

    def _wrong_beside_objective(self) -> Iterator[str]:
        if self.objective == "loss":
            return
        if self.suppress_rows:
            yield "suppress_rows leaves rows out by the loss, so it is not together with an objective. Take one out."
        for quasi in self.quasi:
            if quasi.coarsest is not None:
                yield (
                    f"[quasi.{quasi.column}]: 'coarsest' has parts of the table searched one by one, so it is not "
                    "together with another objective than loss. Take one out."
                )

    def _wrong_left_out(self) -> Iterator[str]:
        if self.suppress_rows is None:
            return
        if not 0 <= self.suppress_rows < 1:
            yield "suppress_rows must be from 0 to below 1: the share of rows that may be left out."
        if self.unit_rows is not None:
            yield (
                "suppress_rows is not together with unit_rows: which row of a person was left out could not be "
                "checked. Keep one row of each person before, or leave one of the keys out."
            )
        for sensitive in self.sensitive:
            if sensitive.bins is not None:
                yield (
                    f"[sensitive.{sensitive.column}]: `bins` depend on which rows are released, and which rows "
                    "suppress_rows leaves out depends on the bins. Give `edges` instead."
                )

    def _wrong_roles(self) -> Iterator[str]:
        roles: dict[str, str] = {}
        named = [(column, "identifiers") for column in self.identifiers]
        named += [(column, "keep") for column in self.keep]
        named += [(self.unit, "unit")] if self.unit is not None else []
        named += [(quasi.column, "quasi") for quasi in self.quasi]
        named += [(sensitive.column, "sensitive") for sensitive in self.sensitive]
        for column, role in named:
            if column in roles:
                yield f"Column '{column}' is named under both {roles[column]} and {role}. Give it one role."
            roles[column] = role
        for column, role in self.roles:
            if column in roles and roles[column].removesuffix("s") != role and not is_pattern(column):
                yield f"Column '{column}' is named under both {roles[column]} and roles. Give it one role."
        made = Counter(name for quasi in self.quasi for name in quasi.released if name != quasi.column)
        for name, times in made.items():
            if name in roles or times > 1:
                yield f"publish = \"bounds\" would make a second column '{name}'. Rename one."

    def _wrong_joints(self) -> Iterator[str]:
        if self.has_patterns:  # only the table says which columns are sensitive
            return
        sensitive = {each.column for each in self.sensitive}
        taken = {*self.columns, *self.released_quasi}
        for joint in self.joint:
            where = f"[joint.{joint.name}]"
            if joint.name in taken:
                yield f"{where}: a column or another joint has this name too. Rename it."
            taken.add(joint.name)
            for column in joint.columns:
                if column not in sensitive:
                    yield f"{where}: '{column}' is not a sensitive attribute. Name it as [sensitive.{column}] first."

    @classmethod
    def of(cls, given: SchemaLike) -> Schema:
        """A schema as it may be given: itself, a mapping with its keys, or a path to TOML.

        Examples
        --------
        >>> Schema.of({"k": 5, "quasi": {"age": {"kind": "numeric"}}}).k
        5
        """
        if isinstance(given, Schema):
            return given
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if isinstance(given, str | Path):
            return cls.load(given)
        raise SchemaError(
            f"A schema is a Schema, a dict with its keys, or a path to TOML, and this is a {type(given).__name__}. "
            "The table comes first, then the schema."
        )

    @classmethod
    def load(cls, path: Path | str) -> Schema:
        """Read a schema from TOML; paths in it are relative to it."""
        if not isinstance(path, str | os.PathLike):
            raise SchemaError(f"A schema is loaded from a path to TOML, and this is a {type(path).__name__}.")
        return cls.from_dict(read_toml(Path(path)), Path(path).parent)

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any], base: Path | str = ".") -> Schema:
        """Build from the keys a TOML schema has; paths are relative to `base`."""
        if not isinstance(keys, Mapping):
            raise SchemaError(f"The keys of a schema are a dict, and this is a {type(keys).__name__}.")
        arguments, problems = parse(keys, Path(base), [field.name for field in fields(cls)])
        try:
            schema = cls(**arguments)
        except SchemaError as error:
            problems += map(str, error.args)
        if len(problems) == 1:
            raise SchemaError(f"Schema: {problems[0]}")
        if problems:
            raise SchemaError("The schema has several problems:", *(f"- {problem}" for problem in problems))
        return schema

    def as_dict(self, base: Path | str = ".") -> dict[str, Any]:
        """The keys of its TOML form, without those at their default; paths are made relative to `base`."""
        keys: dict[str, Any] = {"k": self.k}
        for field in fields(self)[4:]:
            given = getattr(self, field.name)
            if given != field.default:
                listed = dict if field.name == "roles" else list
                given = as_number(given) if isinstance(given, Fraction) else given
                keys[field.name] = listed(given) if isinstance(given, tuple) else given
        if self.workload is not None:
            keys["workload"] = relative_path(self.workload, Path(base))
        keys["quasi"] = {quasi.column: column_as_dict(quasi, Path(base)) for quasi in self.quasi}
        keys["sensitive"] = {each.column: column_as_dict(each, Path(base)) for each in self.sensitive}
        if self.joint:
            keys["joint"] = {each.name: column_as_dict(each, Path(base)) for each in self.joint}
        return keys

    def to_toml(self, base: Path | str = ".") -> str:
        """Its TOML form as text."""
        return tomli_w.dumps(self.as_dict(base))

    def save(self, path: Path | str) -> None:
        """Write its TOML form, as a whole or not at all; hierarchies read from files stay where they are."""
        path = Path(path)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            temporary.write_text(self.to_toml(path.parent), encoding="utf-8")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    @property
    def columns(self) -> dict[str, str]:
        """The role of each column of the table; `unit_order` is an identifier unless it has another role."""
        roles = {self.unit_order: "identifier"} if self.unit_order is not None else {}
        roles |= dict.fromkeys(self.identifiers, "identifier") | dict.fromkeys(self.keep, "keep")
        roles |= {self.unit: "unit"} if self.unit is not None else {}
        roles |= {quasi.column: "quasi" for quasi in self.quasi}
        return roles | {sensitive.column: "sensitive" for sensitive in self.sensitive}

    @property
    def has_patterns(self) -> bool:
        """Whether some of its columns are known only once there is a table: see `resolve`."""
        names = (*(each.column for each in self.quasi), *(each.column for each in self.sensitive))
        return bool(self.roles) or any(map(is_pattern, names))

    @property
    def rules(self) -> ColumnRules:
        """What it says of columns, by name and by pattern."""
        named = dict.fromkeys(self.identifiers, "identifier") | dict.fromkeys(self.keep, "keep")
        named |= {self.unit: "unit"} if self.unit is not None else {}
        named |= {each.column: "quasi" for each in self.quasi if not is_pattern(each.column)}
        named |= {each.column: "sensitive" for each in self.sensitive if not is_pattern(each.column)}
        named |= {name: role for name, role in self.roles if not is_pattern(name)}
        return ColumnRules(named, self.roles, self.quasi, self.sensitive)

    def resolve(self, columns: Sequence[str], *, released: bool = False) -> Schema:
        """The schema of one table: every pattern replaced by the columns it stands for.

        Parameters
        ----------
        columns
            Those of the table.
        released
            It is a release: identifiers are gone, and bounds may stand in the place of a quasi-identifier.

        Raises
        ------
        SchemaError
            A column matches patterns that say different things, or a pattern of quasi-identifiers or sensitive
            attributes matches none.

        Examples
        --------
        >>> schema = Schema.from_dict({
        ...     "k": 5, "roles": {"*": "identifier"}, "quasi": {"age": {"kind": "numeric"}},
        ...     "sensitive": {"lab_*": {"distance": "equal", "t": 0.2}},
        ... })
        >>> schema.resolve(["name", "age", "lab_1", "lab_2"]).columns
        {'name': 'identifier', 'age': 'quasi', 'lab_1': 'sensitive', 'lab_2': 'sensitive'}
        """
        if not self.has_patterns:
            return self
        rules = self.rules
        names = rules.originals(columns) if released else list(columns)
        rules.check_used(names)
        present = set(names)
        names += [name for name, _ in self.roles if not is_pattern(name) and name not in present]
        by_role: dict[str | None, list[str]] = {"identifier": list(self.identifiers), "keep": list(self.keep)}
        listed = {*self.identifiers, *self.keep}
        for name in names:
            role = rules.role_of(name)
            if role in by_role and name not in listed:
                by_role[role].append(name)
        return replace(
            self,
            quasi=rules.expand(names, self.quasi, "quasi"),
            sensitive=rules.expand(names, self.sensitive, "sensitive"),
            identifiers=tuple(by_role["identifier"]),
            keep=tuple(by_role["keep"]),
            roles=(),
        )

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The sensitive attributes of which nothing is asked, alone or in a joint."""
        joined = {column for joint in self.joint for column in joint.columns}
        return tuple(each.column for each in self.sensitive if not each.is_protected and each.column not in joined)

    @property
    def without_levels(self) -> tuple[str, ...]:
        """The quasi-identifiers that a method which climbs hierarchies cannot take; a hidden cell needs none."""
        return tuple(q.column for q in self.quasi if not q.has_levels and self.recode != "suppress")

    @property
    def shares(self) -> dict[str, Fraction]:
        """What each quasi-identifier counts in the loss: its weight over the sum of all weights.

        Examples
        --------
        >>> quasi = {"age": {"kind": "numeric", "weight": 3}, "sex": {"kind": "categorical"}}
        >>> Schema.from_dict({"k": 5, "quasi": quasi}).shares
        {'age': Fraction(3, 4), 'sex': Fraction(1, 4)}
        """
        total = sum((quasi.weight for quasi in self.quasi), Fraction(0))
        return {quasi.column: quasi.weight / total for quasi in self.quasi}

    def number_form(self, quasi: Quasi | None = None) -> NumberForm:
        """How numbers are released in text: those of a quasi-identifier, or any others."""
        return NumberForm(self.decimal, self.thousands if quasi is not None and quasi.grouped else "")

    def written_form(self, quasi: Quasi) -> NumberForm | DateForm | None:
        """How the values of a quasi-identifier are released in text, if it is one of numbers or days."""
        if quasi.kind == "date" or isinstance(quasi.hierarchy, Dates):
            return DateForm(quasi.format)
        if quasi.kind == "numeric" or isinstance(quasi.hierarchy, Intervals):
            return self.number_form(quasi)
        return None

    @property
    def may_leave_rows_out(self) -> bool:
        """Whether rows of the table may be missing from a release."""
        return self.missing == "drop" or self.unit_rows == "one" or bool(self.suppress_rows)

    @property
    def counts_persons(self) -> bool:
        """Whether k, rise and beta are promised in persons, who may have several rows each."""
        return self.unit_rows == "all"

    @property
    def released_quasi(self) -> tuple[str, ...]:
        """The columns its quasi-identifiers become in a release."""
        return tuple(name for quasi in self.quasi for name in quasi.released)
