"""The command line: a thin shell over the library. Messages go to stderr, results to stdout."""

from __future__ import annotations

import io
import json as jsonlib
import os
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from tclose import __version__
from tclose.cli import choosing, first_schema, republishing, streaming, web_app
from tclose.cli.exit_codes import exit_code_of, exit_codes_text
from tclose.cli.options import (
    AllowSingleClass,
    AskedK,
    AskedT,
    Data,
    EngineOption,
    EscapeFormulas,
    Jobs,
    Json,
    Master,
    MethodOptions,
    PrivateReport,
    PublicReport,
    RecordFile,
    SchemaOption,
    SeedOption,
    ShardRows,
    ShowValues,
    TimeLimit,
    check_reports,
    find_method,
    load_start,
    override,
    progress,
    say,
    stopped_by_interrupt,
)
from tclose.cli.reading_options import load_schema, takes_reading
from tclose.cli.signals import ended_by_signals
from tclose.cli.table_options import reads_table
from tclose.errors import (
    EarlierReleaseWarning,
    FormulaWarning,
    HighLossWarning,
    RepeatedIdentifierWarning,
    TcloseError,
    VerificationError,
    printable,
)

app = typer.Typer(
    name="tclose",
    help="Make tables about people t-close, and prove it.",
    epilog=exit_codes_text(),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"tclose {__version__}")
        raise typer.Exit


@app.callback()
def before(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Report each stage on standard error.")] = False,
) -> None:
    """Take what all commands have in common; the text for people is that of `app`."""
    if verbose:
        import logging

        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        own = logging.getLogger("tclose")  # and no other: what libraries log may quote cells
        own.handlers = [handler]
        own.setLevel(logging.INFO)


app.command(epilog=first_schema.INIT)(reads_table(first_schema.init))


@app.command(epilog="[bold]Example:[/bold] tclose assess patients.csv -s schema.toml --json")
@reads_table
@takes_reading
def assess(
    data: Data,
    schema: SchemaOption,
    measures: Annotated[
        bool, typer.Option("--measures", help="Also report Euclidean, Hamming and Jensen-Shannon distances.")
    ] = False,
    json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Report k, l and t of a table as it stands, raw or generalized, and what its classes tell about single values.

    k counts persons where the schema names a unit and the table has it, else rows.
    """
    from tclose.pipeline import assess

    report = assess(data, load_schema(schema), show_values=show_values)
    if json:
        print(jsonlib.dumps(report.as_dict(), indent=2))
        return
    from tclose.cli.show import show_report

    show_report(report, measures)


@app.command(
    epilog="[bold]Examples:[/bold]\n\n"
    "tclose anonymize patients.csv -s schema.toml -o release.csv\n\n"
    "tclose anonymize patients.parquet -s schema.toml -o release.parquet --k 10 --t diagnosis=0.15 --json\n\n"
    "tclose anonymize patients.csv -s schema.toml -o release.csv --method sabre-knn --option search_budget=true\n\n"
    "tclose anonymize patients.csv -s schema.toml -o release.csv --report report.html --private-report mine.html\n\n"
    "tclose anonymize patients/ -s schema.toml -o release/ --engine local"
)
@reads_table
@takes_reading
def anonymize(
    data: Data,
    schema: SchemaOption,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow, or the URL of a database."
        ),
    ],
    method: Annotated[
        str | None, typer.Option(help="How classes are formed; `tight` if not given. See `tclose methods`.")
    ] = None,
    option: MethodOptions = None,
    k: AskedK = None,
    t: AskedT = None,
    seed: SeedOption = None,
    time: TimeLimit = None,
    record: RecordFile = None,
    report: PublicReport = None,
    private_report: PrivateReport = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            help="A record of an earlier release, a folder of records, or a history: warns if it is about this table."
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="A new folder, to begin a history: then `republish` can release the table again."),
    ] = None,
    partition: Annotated[
        Path | None,
        typer.Option(help="Where to write the classes, so that a later run can start from them (not for release)."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Classes of an earlier run to improve on; with --time 0 they are released as they are."),
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of the rows; otherwise they are shuffled.")
    ] = False,
    escape_formulas: EscapeFormulas = False,
    allow_single_class: AllowSingleClass = False,
    output_table: Annotated[
        str | None, typer.Option(help="The table to write, if the output is a database; --table if the input is none.")
    ] = None,
    certificate_table: Annotated[
        str | None, typer.Option(help="Database table for the certificate; <table>_certificate if not given.")
    ] = None,
    replace_table: Annotated[
        bool, typer.Option("--replace-table", help="Replace existing tables of the database.")
    ] = False,
    what_binds: Annotated[
        bool,
        typer.Option(
            "--what-binds", help="Measure on a sample how much less is lost if one requirement is loosened or dropped."
        ),
    ] = False,
    engine: EngineOption = None,
    jobs: Jobs = None,
    shard_rows: ShardRows = None,
    master: Master = None,
    show_values: ShowValues = False,
    json: Json = False,
) -> None:
    """Write a verified release of a table, with its certificate beside it."""
    from tclose.cli.release_targets import ReleaseTarget
    from tclose.cli.write_reports import write_with_reports
    from tclose.pipeline import anonymize
    from tclose.release.atomic import locked
    from tclose.release.earlier import holds_record

    if engine is not None:
        from tclose.cli.engines import EngineChoice, anonymize_by_engine

        others: dict[str, Any] = {"time": time, "report": report, "private_report": private_report}
        others |= {"keep_order": keep_order, "escape_formulas": escape_formulas, "what_binds": what_binds}
        others |= {"output_table": output_table, "certificate_table": certificate_table, "replace_table": replace_table}
        others |= {"history": history, "partition": partition, "start": start}
        choice = EngineChoice(engine, jobs, master, shard_rows)
        choice.check(others)
        anonymize_by_engine(
            choice, data, override(load_schema(schema), k, t or []), output,
            None if method is None and not option else find_method(method, option or []),
            schema_file=schema, seed=seed, record=record, earlier=earlier, allow_single_class=allow_single_class,
            show_values=show_values, json=json,
        )  # fmt: skip
        return
    if jobs is not None or shard_rows is not None or master is not None:
        raise typer.BadParameter("--jobs, --shard-rows and --master are for --engine.")
    if history is not None and (start is not None or partition is not None):
        raise typer.BadParameter("--start and --partition cannot be said with --history, which keeps classes itself.")
    algorithm = find_method(method, option or [])
    target = ReleaseTarget.of(output, data, output_table, certificate_table, replace_table)
    inputs = [*data.files, schema, *([] if start is None else [start])]
    targets = target.check(inputs, record, report, private_report, partition)
    if escape_formulas and (target.path is None or not target.location.file_format.has_delimiter):
        raise typer.BadParameter("--escape-formulas is for .csv and .tsv.")
    check_reports(report, private_report)
    if history is not None:
        republishing.check_history_target(history, target.path, targets)
    settled = override(load_schema(schema), k, t or [])
    before = [*(earlier or []), *([record] if record is not None and holds_record(record) else [])]
    with locked(targets) as locks, progress() as tell, stopped_by_interrupt() as control:
        make = anonymize if history is None else republishing.first_release(history)
        release = make(
            data, settled, method=algorithm, seed=seed, time=time, allow_single_class=allow_single_class,
            show_values=show_values, progress=tell, control=control, earlier=before,
            start=None if start is None else load_start(start),
        )  # fmt: skip
        if what_binds:
            from tclose.evaluation.choosing.what_binds import what_binds as measure_gains

            release = release.with_binding(measure_gains(data, release, progress=tell, control=control))
        if partition is not None:
            release.write_partition(partition, locks=locks)
        told = write_with_reports(
            data, release, target, locks, tell, keep_order=keep_order, record=record, escape_formulas=escape_formulas,
            public=report, private=private_report,
        )  # fmt: skip
    if json:
        print(jsonlib.dumps(told, indent=2))
        return
    from tclose.cli.show import show_release

    show_release(release, told)


@app.command(epilog="[bold]Example:[/bold] tclose verify release.csv -s schema.toml")
@reads_table
@takes_reading
def verify(
    data: Data,
    schema: SchemaOption,
    original: Annotated[
        str | None,
        typer.Option(help="The original table, rows in any order: also check that released values are true."),
    ] = None,
    certificate_table: Annotated[
        str | None, typer.Option(help="Database table of the certificate; <table>_certificate if not given.")
    ] = None,
    escaped_formulas: Annotated[
        bool,
        typer.Option(
            "--escaped-formulas", help="The file has escaped formulas; not needed with a certificate, which says so."
        ),
    ] = False,
    in_order: Annotated[
        bool,
        typer.Option("--in-order", help="The rows are in the order of the original; not needed with a certificate."),
    ] = False,
    json: Json = False,
) -> None:
    """Check that a release keeps the promise of its schema, and that its certificate, if there is one, is right."""
    from tclose.pipeline import verify

    certificate = None
    if certificate_table is not None:
        from tclose.release.database_certificates import read_database_certificate

        if data.database is None:
            raise typer.BadParameter("--certificate-table is for a release in a database.")
        certificate = read_database_certificate(data, certificate_table)
    verdict = verify(
        data,
        load_schema(schema),
        original=original,
        certificate=certificate,
        escaped_formulas=escaped_formulas or None,
        in_order=in_order or None,
    )
    if json:
        print(jsonlib.dumps(verdict.as_dict(), indent=2))
    if not verdict.holds:
        raise VerificationError(" ".join(["The table does not keep its promise.", *verdict.problems]))
    if not json:
        from tclose.cli.show import show_verified

        show_verified(verdict)


app.command(epilog=choosing.COMPARE)(reads_table(choosing.compare))
app.command(epilog=choosing.SUGGEST)(reads_table(choosing.suggest))
app.command(epilog=choosing.UTILITY)(reads_table(choosing.utility))
app.command(epilog=republishing.REPUBLISH)(reads_table(republishing.republish))
app.command(epilog=republishing.HISTORY)(republishing.history)
app.command(epilog=web_app.APP)(web_app.app)
app.command(epilog=streaming.STREAM)(streaming.stream)
app.command("stream-check", epilog=streaming.STREAM_CHECK)(streaming.stream_check)


@app.command(
    epilog="[bold]Examples:[/bold]\n\n"
    "tclose gap sample.csv -s schema.toml\n\n"
    "tclose gap sample.csv -s schema.toml --method tight --method mondrian --time 120 --json"
)
@reads_table
@takes_reading
def gap(
    data: Data,
    schema: SchemaOption,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method to measure; may be repeated. All that fit the schema if not given."),
    ] = None,
    k: AskedK = None,
    t: Annotated[list[str] | None, typer.Option(help="column=0.2, instead of the schema's t; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the methods.")] = 0,
    time: Annotated[float, typer.Option(min=0, help="Seconds for each method, and for the bound.")] = 60.0,
    json: Json = False,
) -> None:
    """Show how far methods are from the least loss possible.

    The optimum of a small table is proven by `exact` (some 20 rows, more where rows repeat), `milp`
    (suppression, few distinct rows) or `two-diversity`. For any other table a bound is computed that no
    release falls below. It is proven, or estimated from a sample of rows if time is short. Ctrl-C ends
    what is running, and the rest is done with the results so far.
    """
    from tclose.evaluation.choosing.gap import gap

    settled = override(load_schema(schema), k, t or [])
    chosen = [find_method(name, []) for name in method] if method else None
    with progress() as tell, stopped_by_interrupt("what was found so far is compared") as control:
        found = gap(data, settled, methods=chosen, seed=seed, time=time, progress=tell, control=control)
    if json:
        print(jsonlib.dumps(found.as_dict(), indent=2))
        return
    from tclose.cli.show import show_gap

    show_gap(found)


@app.command(epilog="[bold]Example:[/bold] tclose methods --json")
def methods(json: Json = False) -> None:
    """List the methods, what they need and guarantee, and the papers they come from."""
    from tclose.algorithms import methods

    if json:
        print(jsonlib.dumps(methods(), indent=2))
        return
    from tclose.cli.show import show_methods

    show_methods(methods())


@app.command(epilog="[bold]Example:[/bold] tclose warmup --method tight")
def warmup(
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method to compile; may be repeated. All if not given.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at once; if not given, as many as processors, at most 4.")
    ] = None,
) -> None:
    """Compile the loops of the methods now, so that no later run has to wait; they are kept on disk."""
    from tclose.algorithms import REGISTRY
    from tclose.cli.warmup import warm

    methods = [find_method(name, []) for name in method or REGISTRY]
    if "tight" in (method or REGISTRY):
        methods.append(find_method("tight", ["effort=best"]))  # whose loops no other effort needs
    with progress() as tell:
        warm(methods, tell, jobs or min(os.cpu_count() or 1, 4))


@app.command(epilog="[bold]Example:[/bold] tclose demo --rows 1000 --folder /tmp/demo")
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the hospital table.")] = 20_000,
    folder: Annotated[Path, typer.Option(help="Where to write the files.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of table and method.")] = 1,
) -> None:
    """Make a hospital table, anonymize it, and show it before and after."""
    from tclose.cli.demo import run

    with progress() as tell:
        run(rows, folder, seed, tell)


def _note_once(message: str, notes: set[str]) -> None:
    if message not in notes:
        notes.add(message)
        say(f"Note: {message}")


def _tell_usage(error: Any) -> int:
    """What is wrong with the options, as typer shows it, but that a name in it is not obeyed; returns the exit code."""
    from typer import rich_utils

    error.message = "\n".join(map(printable, str(error.message).split("\n")))
    rich_utils.rich_format_error(error)
    return int(error.exit_code)


@cache
def _commands() -> Any:
    """All commands with their options, made once: a process that runs many would make them anew for each."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; every failure is a message and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not stop anything
            stream.reconfigure(errors="backslashreplace")
    try:
        with ended_by_signals(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notes: set[str] = set()
            for shown in (EarlierReleaseWarning, FormulaWarning, HighLossWarning, RepeatedIdentifierWarning):
                warnings.simplefilter("always", shown)
            warnings.showwarning = lambda message, *_args, **_kwargs: _note_once(str(message), notes)
            code = _commands()(standalone_mode=False)  # what is wrong with the options is raised, and not printed
        sys.exit(code if isinstance(code, int) else 0)
    except TcloseError as error:
        say(f"Error: {error}")
        sys.exit(exit_code_of(type(error)))
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of stdout went away
            os._exit(1)
        where = f": {printable(os.fsdecode(Path(error.filename).name))}" if error.filename else ""
        say(f"Error: {error.strerror or type(error).__name__}{where}.")
        sys.exit(1)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        if hasattr(error, "format_message"):
            sys.exit(_tell_usage(error))
        if os.environ.get("TCLOSE_DEBUG"):
            raise
        # The message of an unforeseen error may quote a cell, so only its type is told.
        say(f"Error: something unforeseen went wrong ({type(error).__name__}). Set TCLOSE_DEBUG=1 to see where.")
        sys.exit(1)
