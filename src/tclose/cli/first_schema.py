"""`tclose init`: from a table to a schema, by flags, by questions, or left open for a person to settle."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli.options import Data, check_files, say
from tclose.cli.reading_options import chosen_reading, takes_reading
from tclose.errors import SchemaError, TableError

if TYPE_CHECKING:
    from tclose.table.proposing.column_evidence import Evidence
    from tclose.table.proposing.guesses import ColumnGuess
    from tclose.table.proposing.proposal_text import WrittenProposal
    from tclose.table.proposing.table_proposal import RoleChoices, TableProposal
    from tclose.table.table_location import TableLocation

INIT = (
    "[bold]Examples:[/bold]\n\n"
    "tclose init patients.csv -o schema.toml\n\n"
    "tclose init patients.csv --quasi age,sex,zip --sensitive diagnosis --rest drop -o schema.toml\n\n"
    "tclose init labs.csv --quasi age --sensitive 'lab_*' --unit patient --rest drop -o schema.toml"
)
NAMES = "Separated by commas, or a pattern with *; may be repeated."


class RestOfColumns(StrEnum):
    """What becomes of columns that no option names."""

    drop = "drop"
    identifiers = "identifiers"
    keep = "keep"
    quasi = "quasi"
    sensitive = "sensitive"
    ask = "ask"
    open = "open"


class UnitRows(StrEnum):
    """What becomes of the rows of a person."""

    one = "one"
    all = "all"


class MissingChoice(StrEnum):
    """What a missing value is."""

    category = "category"
    drop = "drop"
    error = "error"


@takes_reading
def init(
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the schema; stdout if not given.")
    ] = None,
    quasi: Annotated[list[str] | None, typer.Option(help=f"Columns that others may know. {NAMES}")] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help=f"Columns that nobody may learn. {NAMES}")] = None,
    identifiers: Annotated[list[str] | None, typer.Option(help=f"Columns that are never released. {NAMES}")] = None,
    keep: Annotated[list[str] | None, typer.Option(help=f"Columns that are released as they are. {NAMES}")] = None,
    unit: Annotated[str | None, typer.Option(help="The column that says whose row it is.")] = None,
    unit_rows: Annotated[
        UnitRows | None,
        typer.Option(help="If persons have several rows: keep `one` row each, or `all` with k persons a class."),
    ] = None,
    rest: Annotated[
        RestOfColumns | None,
        typer.Option(
            help="What becomes of other columns: `drop` (or `identifiers`) never releases them, `open` leaves it open."
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="The least number of rows in a class; 5 if not given.")] = None,
    missing: Annotated[MissingChoice | None, typer.Option(help="What a missing value is.")] = None,
    missing_values: Annotated[
        list[str] | None,
        typer.Option(help="More spellings of missing than those that are found, as in --missing-values=-9,999."),
    ] = None,
    hierarchies: Annotated[
        Path | None, typer.Option(help="A folder for hierarchies that you can edit. They hold values of the table.")
    ] = None,
    ask: Annotated[
        bool | None,
        typer.Option(
            "--ask/--no-ask", help="Whether to ask questions; by default on a terminal, if no column is named."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    date_format: Annotated[
        list[str] | None,
        typer.Option(help="How dates are written, as in %d/%m/%Y; may be repeated. Found if not given."),
    ] = None,
) -> None:
    """Write a first schema for a table.

    If you name the columns and say what becomes of the rest, the schema needs no editing. Otherwise
    it asks on a terminal; what is not answered is left open in the schema, for you to settle. Kinds,
    steps, distances and t are guessed, each with its reason. Columns that look like identifiers are
    never released.
    """
    from tclose.table.proposing.found_reading import read_and_find
    from tclose.table.proposing.proposal_text import write_proposal
    from tclose.table.proposing.table_proposal import TableProposal, check_formats

    if data.is_standard_input and (ask or rest is RestOfColumns.ask):
        raise typer.BadParameter("standard input holds the table, so nobody can answer there. Name a file to be asked.")
    _check_output(data, output, overwrite)
    found = read_and_find(data, chosen_reading())
    if found.told:
        say(found.told)
    if not found.source.n_rows:
        raise TableError("The table has no rows, so nothing can be told of its columns.")
    proposal = TableProposal.of(found.source, data.name, found.reading, formats=date_format or ())
    spelled = [each.strip() for text in missing_values or () for each in text.split(",")]
    if spelled:
        spelled = list(dict.fromkeys([*proposal.spellings.sure, *spelled]))
        proposal = TableProposal.of(
            found.source, data.name, found.reading, missing_values=spelled, formats=date_format or ()
        )
    check_formats(proposal, date_format or ())
    named = {"quasi": quasi, "sensitive": sensitive, "identifier": identifiers, "keep": keep}
    given = _roles(proposal, named, unit)
    unnamed = [name for name in proposal.guesses if name not in given]
    if _asks(ask, rest, bool(given), unnamed):
        choices, files = _asked(proposal, given, k, output is not None and hierarchies is None)
        if files and output is not None:
            hierarchies = output.with_suffix(".hierarchies")
    else:
        choices = _by_flags(proposal, given, rest, k)
    if not {"quasi", "open"} & set(choices.roles.values()):
        raise SchemaError("There is no quasi-identifier. Name at least one column that others may know: --quasi age.")
    choices = _settled(proposal, choices, missing, hierarchies, output)
    choices = _with_said(choices, spelled, unit_rows)
    written = write_proposal(proposal, choices)
    _write(written, output, hierarchies, overwrite)
    _tell(proposal, choices, written, data, output)


def _check_output(data: TableLocation, output: Path | None, overwrite: bool) -> None:
    if output is None:
        return
    check_files([output], data.files)
    if output.exists() and not overwrite:
        raise typer.BadParameter(f"'{output}' is there already. Give another name, or --overwrite.")


def _roles(proposal: TableProposal, named: Mapping[str, list[str] | None], unit: str | None) -> dict[str, str]:
    """The role of each column that an option names."""
    given = {role: texts or [] for role, texts in named.items()} | {"unit": [] if unit is None else [unit]}
    try:
        return proposal.roles(given)
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None


def _asks(ask: bool | None, rest: RestOfColumns | None, has_names: bool, unnamed: Sequence[str]) -> bool:
    """Whether to ask: where someone can answer, and something is open."""
    if rest is not None and rest is not RestOfColumns.ask:
        if ask:
            raise typer.BadParameter("--ask and --rest say different things of the columns that are not named.")
        return False
    if not unnamed and has_names and not ask:
        return False
    if ask is None:
        return rest is RestOfColumns.ask or (sys.stdin.isatty() and sys.stderr.isatty())
    return ask


def _asked(
    proposal: TableProposal, given: Mapping[str, str], k: int | None, offers_files: bool
) -> tuple[RoleChoices, bool]:
    from tclose.cli.schema_questions import Interview

    return Interview(proposal, given, k, offers_files).run()


def _by_flags(
    proposal: TableProposal, given: Mapping[str, str], rest: RestOfColumns | None, k: int | None
) -> RoleChoices:
    from tclose.table.proposing.table_proposal import RoleChoices

    wanted = (
        {RestOfColumns.drop: "identifier", RestOfColumns.identifiers: "identifier"}.get(rest, "open")
        if rest
        else "open"
    )
    wanted = rest.value if rest in (RestOfColumns.keep, RestOfColumns.quasi, RestOfColumns.sensitive) else wanted
    has_unit = "unit" in given.values()
    roles = {}
    for name, guess in proposal.guesses.items():
        guessed = "identifier" if guess.role == "unit" and (has_unit or wanted == "identifier") else guess.role
        has_unit = has_unit or (name not in given and guessed == "unit")
        # What seems to point at a person is never released unless it is named.
        roles[name] = given.get(name, guessed if guessed in ("identifier", "unit") else wanted)
    return RoleChoices(roles, 5 if k is None else k, drops_rest=wanted == "identifier")


def _settled(
    proposal: TableProposal,
    choices: RoleChoices,
    missing: MissingChoice | None,
    hierarchies: Path | None,
    output: Path | None,
) -> RoleChoices:
    """The choices with what follows from them: missing values, and where hierarchies lie."""
    import os
    from dataclasses import replace

    released = [name for name, role in choices.roles.items() if role in ("quasi", "sensitive")]
    if missing is not None:
        choices = replace(choices, missing=missing.value)
    elif choices.missing is None and released and "open" not in choices.roles.values():
        choices = replace(choices, missing="category" if proposal.has_missing(released) else None)
    if hierarchies is None:
        return choices
    base = Path() if output is None else output.parent
    return replace(choices, hierarchies=Path(os.path.relpath(hierarchies, base)).as_posix())


def _with_said(choices: RoleChoices, spelled: Sequence[str], unit_rows: UnitRows | None) -> RoleChoices:
    """The choices with what options say of missing values and of persons."""
    from dataclasses import replace

    if unit_rows is not None and "unit" not in choices.roles.values():
        raise typer.BadParameter("--unit-rows needs the column that says whose row it is: --unit patient_id.")
    if spelled:
        choices = replace(choices, missing_values=(*dict.fromkeys([*spelled, *(choices.missing_values or ())]),))
    return choices if unit_rows is None else replace(choices, unit_rows=unit_rows.value)


def _write(written: WrittenProposal, output: Path | None, hierarchies: Path | None, overwrite: bool) -> None:
    from tclose.release.atomic import PRIVATE, write_whole

    if hierarchies is not None and written.files:
        there = [name for name in written.files if (hierarchies / name).exists()]
        if there and not overwrite:
            raise typer.BadParameter(
                f"'{hierarchies / there[0]}' is there already. Give another folder, or --overwrite."
            )
        hierarchies.mkdir(parents=True, exist_ok=True)
        for name, text in written.files.items():
            write_whole(hierarchies / name, text.encode(), PRIVATE)
    if output is None:
        print(written.text, end="")
    else:
        write_whole(output, written.text.encode())


def _tell(
    proposal: TableProposal, choices: RoleChoices, written: WrittenProposal, data: TableLocation, output: Path | None
) -> None:
    """Say on stderr what a person should look at, and what comes next."""
    from tclose.table.proposing.proposal_text import counted

    for name, role in choices.roles.items():
        guess = proposal.guesses[name]
        if role in ("quasi", "sensitive"):
            _tell_reading(guess.evidence)
            _tell_missing(guess.evidence)
        if role == "sensitive" and not proposal.guessed(choices)[name].is_ordered:
            _tell_values(guess.with_order(False))
        if role in ("quasi", "sensitive", "keep") and guess.role == "identifier":
            laws = f" ({'; '.join(guess.laws)})" if guess.laws else ""
            say(f"Note: column '{name}' is released as {role}, and looks like an identifier: {guess.reason}{laws}.")
        if role in ("identifier", "unit") and guess.role == "unit":
            way = "Run again with --unit-rows one or all." if role == "unit" else f"Consider --unit '{name}'."
            if choices.unit_rows is None:
                say(f"Note: column '{name}': {guess.reason}. {way}")
    if output is None:
        return
    if written.undecided:
        open_ones = counted(len(written.undecided), "column is open", "columns are open")
        say(f"Wrote {output}. {open_ones}: settle them there, or run again with --rest drop --overwrite.")
        return
    roles = list(choices.roles.values())
    quasi = counted(roles.count("quasi"), "quasi-identifier", "quasi-identifiers")
    counts = f"{quasi}, {roles.count('sensitive'):,} sensitive"
    say(f"Wrote {output}: {counts}, {roles.count('identifier') + roles.count('unit'):,} never released.")
    say(f"Next: tclose anonymize {shlex.join([str(data), *data.options])} -s {output} -o release.csv")


def _tell_values(guess: ColumnGuess) -> None:
    """Say on stderr that a sensitive attribute has too many values for a t."""
    evidence = guess.evidence
    if guess.is_beyond_t:
        say(
            f"Note: column '{evidence.column}' has {evidence.n_distinct:,} distinct values in {evidence.n_rows:,} "
            f"rows, so that no class within t = 0.2 has fewer than {guess.least_rows:,}. So rise = 0.2 is asked in "
            "place of t; with a hierarchy of its values t could be."
        )


def _tell_reading(evidence: Evidence) -> None:
    """Say on stderr how a column is read where it may be meant otherwise."""
    if evidence.order_of:
        say(
            f"Note: days and months of column '{evidence.column}' cannot be told apart, and are read as "
            f"{evidence.format}, as in column '{evidence.order_of}'. --date-format says otherwise."
        )
    if evidence.has_signs:
        say(
            f"Note: column '{evidence.column}' holds numbers that are read as text, without an order: with signs of "
            "money or percent, or written in several ways. Write them alike, with digits and one decimal sign."
        )
    elif evidence.has_mixed_dates:
        say(
            f"Note: column '{evidence.column}' holds what look like dates, and is read as text: they are not all "
            "written in one way, or some day does not exist. Write them alike."
        )
    elif len(evidence.odd_rows):
        rows = evidence.reader.source.name_rows(evidence.odd_rows)
        say(
            f"Note: column '{evidence.column}' holds numbers, but for {rows}, and is read as text, without an order. "
            "Correct or delete what stands there, or name it in --missing-values if it means missing."
        )


def _tell_missing(evidence: Evidence) -> None:
    """Say on stderr that a number may mean that there is none."""
    from tclose.table.proposing.missing_spellings import missing_codes

    for code, n_rows in (missing_codes(evidence.coded) if evidence.coded is not None else {}).items():
        say(
            f"Note: column '{evidence.column}' has {code} in {n_rows:,} rows, far from its other numbers. If that "
            f"means missing, run again with --missing-values={code}."
        )
