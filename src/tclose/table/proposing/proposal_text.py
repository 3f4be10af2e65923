"""The text of a schema: what was chosen, the reason of each guess as a comment, and what is open under [undecided]."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tomli_w

from tclose.errors import SchemaError, printable
from tclose.schema.name_patterns import is_pattern, matches
from tclose.schema.schema import Schema
from tclose.table.proposing.first_hierarchies import built, file_name, grouped
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.proposing.name_groups import group_names
from tclose.table.proposing.singling_out import SAMPLE
from tclose.table.proposing.table_proposal import MANY, RoleChoices, TableProposal, check_roles, why_not

WORTH_SAYING = 0.0005
WIDEST = 100  # characters of a list on one line
FIFTHS = {5: "fifth", 4: "quarter", 3: "third", 2: "half"}


@dataclass(frozen=True)
class WrittenProposal:
    """A schema as text.

    Attributes
    ----------
    text
        TOML.
    files
        Hierarchies that go with it: the name of each and what it holds.
    undecided
        Columns that are still open.
    """

    text: str
    files: dict[str, str] = field(repr=False)
    undecided: tuple[str, ...]


def write_proposal(proposal: TableProposal, choices: RoleChoices) -> WrittenProposal:
    """The schema that comes of a proposal and what was chosen.

    Raises
    ------
    SchemaError
        A column was given a role that it cannot have.
    """
    check_roles(proposal, choices)
    for with_patterns in (True, False):
        made = _Writer(proposal, choices, with_patterns).written()
        # Outside of comments, what is not printable stands in quotes, where TOML reads the escape.
        written = replace(made, text="\n".join(map(printable, made.text.split("\n"))))
        if _says_what_was_chosen(written, proposal, choices):
            return written
    raise SchemaError("The columns' names cannot be written as a schema. Rename those with a * in them.")


def _says_what_was_chosen(written: WrittenProposal, proposal: TableProposal, choices: RoleChoices) -> bool:
    """Read the text as `anonymize` will, and compare the role of each column."""
    keys = tomllib.loads(written.text)
    if written.undecided or "quasi" not in keys:
        return True
    for table in keys["quasi"].values():  # their files are not written yet
        if isinstance(table.get("hierarchy"), str):
            del table["hierarchy"]
    found = Schema.from_dict(keys).resolve(list(proposal.guesses)).columns
    return found == dict(choices.roles)


@dataclass(eq=False)
class _Writer:
    """The text in the making."""

    proposal: TableProposal
    choices: RoleChoices
    with_patterns: bool
    files: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.guesses = self.proposal.guessed(self.choices)
        self.groups = {role: self._grouped(role) for role in ("quasi", "sensitive", "open")}

    def _grouped(self, role: str) -> list[tuple[str, list[str]]]:
        """The columns of a role under names and patterns."""
        columns = self._in(role)
        if not self.with_patterns:
            return [(name, [name]) for name in columns]
        return group_names({name: str(self._settings(role, name)) for name in columns}, list(self.guesses))

    def written(self) -> WrittenProposal:
        """All of it."""
        undecided = self._in("open")
        parts = [self._head(), self._missing(), self._identifiers(), self._unit(), self._kept()]
        if undecided:
            parts += [self._ranking(), UNDECIDED]
        parts += [*self._tables()]
        text = "\n\n".join("\n".join(lines) for lines in parts if lines)
        return WrittenProposal(f"{text}\n", self.files, tuple(undecided))

    def _in(self, role: str) -> list[str]:
        return [name for name, given in self.choices.roles.items() if given == role]

    def _head(self) -> list[str]:
        proposal = self.proposal
        columns = counted(len(proposal.guesses), "column", "columns")
        told = f"{counted(proposal.n_rows, 'row', 'rows')}, {columns}"
        lines = [f"# A first schema for {comment(proposal.name)}: {told}."]
        lines += ["", f"k = {self.choices.k}  # the least number of rows in a class"]
        return lines + [toml(key, value) for key, value in proposal.reading.items()]

    def _missing(self) -> list[str]:
        found, choices = self.proposal.spellings, self.choices
        spelled = found.sure if choices.missing_values is None else choices.missing_values
        lines = []
        n_columns = sum(each.evidence.n_missing > 0 for each in self.guesses.values())
        if n_columns:
            lines.append(f"# {counted(n_columns, 'column has', 'columns have')} missing values.")
        if choices.missing is not None:
            why = {"category": "a value of its own", "drop": "its row is left out", "error": "there must be none"}
            lines.append(f'missing = "{choices.missing}"  # {why[choices.missing]}')
        elif n_columns:
            lines.append("# What shall a missing value be?")
            lines.append('# missing = "category"  # a value of its own; or "drop" its row; or "error"')
        if spelled:
            lines.append("# Found, and taken to mean missing:")
            lines.append(toml("missing_values", list(spelled)))
        doubtful = [each for each in found.doubtful if each not in spelled]
        if doubtful:
            lines.append(
                f"# These may mean missing too, or be values of their own: {', '.join(map(toml_value, doubtful))}."
            )
        return lines

    def _identifiers(self) -> list[str]:
        columns = self._in("identifier")
        if not columns:
            return []
        lines = ["# Never released:"]
        telling = [name for name in columns if self.guesses[name].role in ("identifier", "unit")]
        lines += [f"#   {comment(name)}: {self._why(name)}" for name in telling[:MANY]]
        if len(columns) > MANY and self.choices.drops_rest and self.with_patterns:
            patterns = [label for groups in self.groups.values() for label, _ in groups if is_pattern(label)]
            named = [name for name in columns if any(matches(pattern, name) for pattern in patterns)]
            lines += [toml("identifiers", named)] if named else []
            return [*lines, f"{toml('roles', {'*': 'identifier'})}  # every column that is not named"]
        return [*lines, toml("identifiers", columns)]

    def _unit(self) -> list[str]:
        lines = []
        for name in self._in("unit"):
            evidence = self.guesses[name].evidence
            lines.append(f"# Whose row it is: {evidence.n_distinct:,} in {evidence.n_filled:,} rows. Never released.")
            if self.choices.unit_rows is not None:
                lines.append(toml("unit_rows", self.choices.unit_rows))
            elif evidence.n_distinct < evidence.n_filled:
                lines.append("# They repeat, so k rows may be fewer persons: choose what becomes of the rows of one.")
                lines.append('# unit_rows = "one"  # a row of each person is kept; or "all": every class has k persons')
            lines.append(toml("unit", name))
        return lines

    def _kept(self) -> list[str]:
        columns = self._in("keep")
        return ["# Released untouched:", toml("keep", columns)] if columns else []

    def _ranking(self) -> list[str]:
        ranked = self.proposal.ranking
        of = f"the first {SAMPLE:,}" if self.proposal.n_rows > SAMPLE else "all"
        lines = [f"# Which columns single rows out: the share of {of} rows that are alone in their combination."]
        for size in (1, 2, 3):
            for share, names in [entry for entry in ranked if len(entry[1]) == size][:5]:
                if share >= WORTH_SAYING:
                    lines.append(f"#   {share:6.1%}  {' + '.join(map(comment, names))}")
        return lines if len(lines) > 1 else []

    def _tables(self) -> Iterator[list[str]]:
        """The tables of quasi-identifiers, then sensitive attributes, then what is open."""
        for role, write in (("quasi", self._quasi), ("sensitive", self._sensitive), ("open", self._open)):
            for label, names in self.groups[role]:
                yield write(label, names)

    def _settings(self, role: str, name: str) -> tuple[Any, ...]:
        """What the table of a column says, but for the numbers that many columns can have in common."""
        each = self.guesses[name]
        quasi = {key: value for key, value in (each.quasi or {}).items() if key != "step" or isinstance(value, str)}
        sensitive = {key: value for key, value in (each.sensitive or {}).items() if key != "t"}
        by_role = {"quasi": (quasi,), "sensitive": (sensitive,), "open": (quasi, sensitive, each.role)}
        return by_role[role]

    def _quasi_keys(self, names: Sequence[str]) -> dict[str, Any]:
        """The keys of some columns, with the widest step of theirs."""
        found = [self.guesses[name].quasi or {} for name in names]
        steps = [keys["step"] for keys in found if "step" in keys]
        return {**found[0], **({"step": steps[0] if isinstance(steps[0], str) else max(steps)} if steps else {})}

    def _quasi(self, label: str, names: list[str]) -> list[str]:
        each = self.guesses[names[0]]
        keys = self._quasi_keys(names)
        lines = self._about(label, names)
        hierarchy = self._hierarchy(each, keys) if len(names) == 1 else built(each.evidence, keys)
        if self.choices.hierarchies is not None and hierarchy is not None:
            keys["hierarchy"] = hierarchy
        return [*lines, *table("quasi", label, keys)]

    def _hierarchy(self, each: ColumnGuess, keys: Mapping[str, Any]) -> Any:
        if self.choices.hierarchies is None:
            return None
        if keys["kind"] != "categorical":
            return built(each.evidence, keys)
        text = grouped(each.evidence)
        if text is None:
            return None
        name = file_name(each.column, self.names)
        self.files[name] = text
        return f"{self.choices.hierarchies}/{name}"

    def _sensitive(self, label: str, names: list[str]) -> list[str]:
        keys, told = self._sensitive_keys(names)
        return [*self._about(label, names), told, *table("sensitive", label, keys)]

    def _sensitive_keys(self, names: Sequence[str]) -> tuple[dict[str, Any], str]:
        """The keys of some columns, with the least t of theirs, and what it means."""
        found = [self.guesses[name] for name in names]
        if "rise" in (asked := found[0].sensitive or {}):
            rise = asked["rise"]
            told = f"# With so many values no small class is within t = {rise}, and rise promises that no value is"
            return asked, f"{told}\n# more than {100 * float(rise):g} points commoner in a class than in the table."
        t = min(each.sensitive["t"] for each in found if each.sensitive)
        points = max(each.points(t) for each in found)
        keys = {**(found[0].sensitive or {}), "t": t}
        what = f"{FIFTHS.get(keys['bins'], 'bin')} of the values" if "bins" in keys else "value"
        told = f"# At t = {t} no {what} is more than {float(points):.3g} points commoner in a class than in the table"
        return keys, f"{told} (rise = {float(points / 100):.3g} would promise that at any t)."

    def _open(self, label: str, names: list[str]) -> list[str]:
        each = self.guesses[names[0]]
        about = each.evidence.about if len(names) == 1 else f"{len(names):,} columns; the first: {each.evidence.about}"
        lines = [*self._reasons(names), *table("undecided", label, {"about": about})]
        if len(each.evidence.formats) > 1:
            lines.append(
                f"# Its dates can be read as {' or '.join(each.evidence.formats)}: say which, by --date-format."
            )
        if each.quasi is not None:
            lines += [f"# {line}" for line in table("quasi", label, self._quasi_keys(names))]
        else:
            lines.append(f"# It cannot be a quasi-identifier: {why_not(each)}.")
        if each.sensitive is not None:
            keys, told = self._sensitive_keys(names)
            lines += [f"# {line}" for line in table("sensitive", label, keys)] + [told]
        return lines

    def _about(self, label: str, names: list[str]) -> list[str]:
        if len(names) > 1:
            return [f"# {len(names):,} columns.", *self._reasons(names)]
        return [f"# {self.guesses[names[0]].evidence.about}; {self._why(names[0])}."]

    def _reasons(self, names: list[str]) -> list[str]:
        each = self.guesses[names[0]]
        role = {"quasi": "could be known", "sensitive": "should not be learned", "unit": "tells whose row it is"}
        guessed = f"Seems to be what {role[each.role]}: " if each.role in role else ""
        told = f"{guessed}{self._why(names[0])}."
        return [f"# {told[0].upper()}{told[1:]}"]

    def _why(self, name: str) -> str:
        each = self.guesses[name]
        return each.reason + (f" ({'; '.join(each.laws)})" if each.laws else "")


UNDECIDED = [
    "# Settle each column below: take the line [undecided.NAME] and its `about` out, and take the # off either",
    "# [quasi.NAME] (could be known about a person) or [sensitive.NAME] (must not be learned); or name the column",
    "# in identifiers (never released) or keep (released as they are).",
]


def counted(number: int, one: str, several: str) -> str:
    """A number and what it counts."""
    return f"{number:,} {one if number == 1 else several}"


def table(role: str, label: str, keys: Mapping[str, Any]) -> list[str]:
    """The table of a column, a key a line."""
    header = tomli_w.dumps({role: {label: {}}}).strip()
    return [header, *(toml(key, value) for key, value in keys.items())]


def toml(key: str, value: Any) -> str:
    """A key with its value, on as few lines as are readable."""
    if isinstance(value, list) and len(toml_value(value)) > WIDEST:
        lines = [toml_value(each) for each in value]
        return f"{key} = [\n" + "".join(f"    {line},\n" for line in lines) + "]"
    return f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value as TOML has it, on one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return tomli_w.dumps({"x": value}).strip().removeprefix("x = ")


def _key(name: str) -> str:
    """The name of a key, in quotes where it needs them."""
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def comment(text: str) -> str:
    """A name within a comment: it must not end the line."""
    return repr(text)[1:-1]
