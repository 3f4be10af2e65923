"""The commands of a table that lives: its next release, and what its releases have told."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose.cli.options import (
    AllowSingleClass,
    AskedK,
    AskedT,
    Data,
    EscapeFormulas,
    Json,
    MethodOptions,
    PrivateReport,
    PublicReport,
    RecordFile,
    SchemaOption,
    SeedOption,
    ShowValues,
    TimeLimit,
    check_reports,
    find_method,
    override,
    progress,
    stopped_by_interrupt,
)
from tclose.cli.reading_options import load_schema, takes_reading
from tclose.cli.table_options import locate
from tclose.errors import VerificationError

if TYPE_CHECKING:
    from tclose.history.history_check import HistoryVerdict
    from tclose.history.history_state import HistoryState
    from tclose.history.intersection_attack import Intersected
    from tclose.release.release import Release

REPUBLISH = (
    "[bold]Examples:[/bold]\n\n"
    "tclose anonymize patients.csv -s schema.toml --history history -o release-1.csv\n\n"
    "tclose republish patients.csv -s schema.toml --history history -o release-2.csv --report report-2.html"
)
HISTORY = "[bold]Example:[/bold] tclose history history --original patients.csv"
HistoryOption = Annotated[
    Path, typer.Option(help="The folder of the history; as confidential as the table.", show_default=False)
]


@takes_reading
def republish(
    data: Data,
    schema: SchemaOption,
    history: HistoryOption,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow.")
    ],
    deletions: Annotated[
        str,
        typer.Option(
            help="hold: a deleted row stays until it can leave safely. withdraw: its class leaves at once, for good."
        ),
    ] = "hold",
    least_batch: Annotated[
        float,
        typer.Option(
            min=0.0, help="New persons wait until there are this many for each released before; 0.5: half as many."
        ),
    ] = 0.0,
    method: Annotated[
        str | None, typer.Option(help="How classes of new persons are formed. See `tclose methods`.")
    ] = None,
    option: MethodOptions = None,
    k: AskedK = None,
    t: AskedT = None,
    seed: SeedOption = None,
    time: TimeLimit = None,
    record: RecordFile = None,
    report: PublicReport = None,
    private_report: PrivateReport = None,
    escape_formulas: EscapeFormulas = False,
    allow_single_class: AllowSingleClass = False,
    show_values: ShowValues = False,
    json: Json = False,
) -> None:
    """Write the next release of a table, so that all releases together keep what each of them promises.

    Give the whole new table. By the `unit` of the schema it is found who was added, changed, deleted or returned.
    """
    from tclose.cli.release_targets import ReleaseTarget
    from tclose.cli.write_reports import write_with_reports
    from tclose.history.history_folder import HistoryFolder
    from tclose.history.republication import republish
    from tclose.release.atomic import locked

    algorithm = find_method(method, option or [])
    target = ReleaseTarget.of(output, data, None)
    if deletions not in ("hold", "withdraw"):
        raise typer.BadParameter("--deletions is hold or withdraw.")
    check_reports(report, private_report)
    targets = target.check([*data.files, schema], record, report, private_report)
    escapes_nothing = escape_formulas and not target.location.file_format.has_delimiter
    check_history_target(history, target.path, targets, escapes_nothing)
    settled = override(load_schema(schema), k, t or [])
    HistoryFolder.open(history)  # before temporary files of the target are removed: some may be left to be named
    with locked(targets) as locks, progress() as tell, stopped_by_interrupt() as control:
        release = republish(
            data, settled, history=history, deletions=deletions, least_batch=least_batch,  # type: ignore[arg-type]
            method=algorithm, seed=seed, time=time, allow_single_class=allow_single_class, show_values=show_values,
            progress=tell, control=control,
        )  # fmt: skip
        told = write_with_reports(
            data, release, target, locks, tell, keep_order=False, record=record, escape_formulas=escape_formulas,
            public=report, private=private_report,
        )  # fmt: skip
    told["history"] = release.record.notes["history"]
    if json:
        print(jsonlib.dumps(told, indent=2))
        return
    from tclose.cli.show import show_release
    from tclose.cli.show_history import show_counts

    show_release(release, told)
    show_counts(told["history"])


def check_history_target(
    history: Path, path: Path | None, targets: Iterable[Path], escapes_nothing: bool = False
) -> None:
    """Refuse what a release that continues a history cannot be written as, and files among those of the history."""
    from tclose.history.history_folder import check_outside

    if path is None:
        raise typer.BadParameter(
            "with a history, --output is a file: a database cannot be written in one step with it."
        )
    if escapes_nothing:
        raise typer.BadParameter("--escape-formulas is for .csv and .tsv.")
    check_outside(history, targets)


def first_release(folder: Path) -> Callable[..., Release]:
    """What makes the first release of a table, and begins its history in a folder; it starts from no classes."""
    from tclose.history.republication import republish

    def first(*given: Any, start: None, **named: Any) -> Release:
        return republish(*given, history=folder, first=True, **named)

    return first


def history(
    folder: Annotated[Path, typer.Argument(help="The folder of a history.", show_default=False)],
    original: Annotated[
        list[str] | None,
        typer.Option(
            help="The table of the last release, or 1=table.csv of an earlier one; may be repeated. Checks that "
            "rows are true, and counts who waits.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the releases of a table, check that they keep their promise together, and attack them.

    The check shares no code with what made the releases. The attack intersects and subtracts all releases, and all but
    the last.
    """
    from tclose.history.history_check import check_history
    from tclose.history.history_folder import HistoryFolder
    from tclose.history.intersection_attack import attack_history
    from tclose.history.original_rows import OriginalTable
    from tclose.history.schema_copies import schema_of_text
    from tclose.table.source import read

    found = HistoryFolder.open(folder)
    state = found.state
    tables: dict[int, OriginalTable] = {}
    attacks: list[Intersected] = []
    for given in original or []:
        number, place = _numbered(given, state.number)
        schema = schema_of_text(state.releases[number - 1].schema)
        source = read(locate(place), schema.delimiter, schema.encoding, header=schema.header)
        tables[number] = OriginalTable(source, found.key)
    if state.number:
        schema = schema_of_text(state.releases[-1].schema)
        attacks = [attack_history(state, schema.k, until) for until in (state.number - 1, state.number) if until]
    verdict = check_history(state, tables)
    if json:
        print(jsonlib.dumps(_as_dict(state, verdict, attacks), indent=2))
    else:
        from tclose.cli.show_history import show_history

        show_history(state, verdict, attacks)
    if not verdict.holds:
        raise VerificationError(" ".join(["The history does not keep its promise.", *verdict.problems]))


def _numbered(given: str, last: int) -> tuple[int, str]:
    """The number of a release and its table, from `1=table.csv`, or from `table.csv` for the last one."""
    number, equals, place = given.partition("=")
    if not equals or not number.isdecimal():
        number, place = str(last), given
    if not last:
        raise typer.BadParameter("--original: the history has no release yet.")
    if not 1 <= int(number) <= last:
        raise typer.BadParameter(f"--original {number}=...: the history has releases 1 to {last}.")
    return int(number), place


def _as_dict(state: HistoryState, verdict: HistoryVerdict, attacks: list[Intersected]) -> dict[str, Any]:
    """What `--json` prints."""
    shown = ("number", "method", "loss", "rows", "classes", "counts", "certificate_sha256")
    releases = [
        {name: getattr(each, name) for name in shown}
        | {"file": each.outputs[0][1] if each.outputs else "", "file_is_as_written": each.is_as_written}
        for each in state.releases
    ]
    return {
        "releases": releases,
        "persons": len(state),
        "check": verdict.as_dict(),
        "attack": [each.as_dict() for each in attacks],
    }
