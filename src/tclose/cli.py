"""The command line: a thin shell over the library. Messages go to stderr, results to stdout."""

from __future__ import annotations

import io
import json as jsonlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose import cli_stream as wishes
from tclose.errors import HighLossWarning, InfeasibleError, SchemaError, TcloseError, VerificationError

if TYPE_CHECKING:
    from tclose.algorithms import Algorithm
    from tclose.partition import Control
    from tclose.schema import Schema

app = typer.Typer(
    name="tclose",
    help="Make tables about people t-close, and prove it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

Data = Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz or .parquet.", show_default=False)]
SchemaOption = Annotated[Path, typer.Option("--schema", "-s", help="What each column is, as TOML.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Let messages quote values of the table.")]


@app.command(epilog="[bold]Example:[/bold] tclose init patients.csv > schema.toml")
def init(data: Data, delimiter: Annotated[str, typer.Option(help="Of a CSV file.")] = ",") -> None:
    """Write a first schema for a table, with open choices for you to settle.

    Kinds and steps are guessed, columns that look like identifiers are flagged, and the
    combinations of columns that single out most rows are ranked.
    """
    from tclose.frames import read
    from tclose.init import first_schema

    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise typer.BadParameter("the delimiter must be one plain character.")
    print(first_schema(read(data, delimiter), data.name, delimiter), end="")


@app.command(epilog="[bold]Example:[/bold] tclose assess patients.csv -s schema.toml --json")
def assess(
    data: Data,
    schema: SchemaOption,
    measures: Annotated[bool, typer.Option("--measures", help="Also Euclidean, Hamming and Jensen-Shannon.")] = False,
    json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Tell k, l and t of a table as it stands, raw or already generalized."""
    from tclose.pipeline import assess
    from tclose.schema import Schema

    report = assess(data, Schema.load(schema), show_values=show_values)
    if json:
        print(jsonlib.dumps(report.as_dict(), indent=2))
        return
    from tclose.show import show_report

    show_report(report, measures)


@app.command(
    epilog="[bold]Examples:[/bold]\n\n"
    "tclose anonymize patients.csv -s schema.toml -o release.csv\n\n"
    "tclose anonymize patients.parquet -s schema.toml -o release.parquet --k 10 --t diagnosis=0.15 --json\n\n"
    "tclose anonymize patients.csv -s schema.toml -o release.csv --method sabre-knn --option search_budget=true"
)
def anonymize(
    data: Data,
    schema: SchemaOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write: .csv, .csv.gz or .parquet.")],
    method: Annotated[str | None, typer.Option(help="See `tclose methods`.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Of the method, as name=value; may be repeated.", show_default=False)
    ] = None,
    k: Annotated[int | None, typer.Option(help="Instead of the schema's k.")] = None,
    t: Annotated[
        list[str] | None, typer.Option(help="column=0.2 or joint=0.2, instead of the schema's t; may be repeated.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For the method; random if not given.")] = None,
    time: Annotated[float | None, typer.Option(min=0, help="Seconds after which to take the best so far.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Where to write seed, digest, timings and more (not for release).")
    ] = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Keep the input's order of rows.")] = False,
    allow_single_class: Annotated[bool, typer.Option("--allow-single-class", help="Accept one class.")] = False,
    show_values: ShowValues = False,
    json: Json = False,
) -> None:
    """Write a verified release of a table, with its certificate beside it."""
    from tclose.pipeline import anonymize
    from tclose.release import certificate_path
    from tclose.schema import Schema

    algorithm = _method(method, option or [])
    _check_targets([data, schema], output, record)
    settled = _override(Schema.load(schema), k, t or [])
    with _progress() as tell, _stopped_by_interrupt() as control:
        release = anonymize(
            data, settled, method=algorithm, seed=seed, time=time, allow_single_class=allow_single_class,
            show_values=show_values, progress=tell, control=control,
        )  # fmt: skip
        tell("write", None, None)
        release.write(output, keep_order=keep_order, record=record)
    told = {
        **release.measured.as_dict(), "loss": release.loss, "method": algorithm.name, "seed": release.record.seed,
        "seconds": release.record.as_dict()["seconds"], "output": str(output),
        "certificate": str(certificate_path(output)),
    }  # fmt: skip
    if json:
        print(jsonlib.dumps(told, indent=2))
        return
    from tclose.show import show_release

    show_release(release, told)


@app.command(epilog="[bold]Example:[/bold] tclose verify release.csv -s schema.toml")
def verify(data: Data, schema: SchemaOption, json: Json = False, show_values: ShowValues = False) -> None:
    """Check that a released file keeps the promise of its schema, and fits its certificate if that lies beside it."""
    from tclose.frames import read
    from tclose.release import check_certificate
    from tclose.schema import Schema
    from tclose.verify import verify

    promised = Schema.load(schema)
    measured = verify(read(data, promised.delimiter), promised, show_values)
    certified = check_certificate(data, measured)
    if json:
        print(jsonlib.dumps({**measured.as_dict(), "certificate": certified}, indent=2))
        return
    from tclose.show import show_verified

    show_verified(measured, promised, certified)


@app.command(epilog="[bold]Example:[/bold] tclose methods --json")
def methods(json: Json = False) -> None:
    """List the methods, what they need and guarantee, and the papers they come from."""
    from tclose.algorithms import methods

    if json:
        print(jsonlib.dumps(methods(), indent=2))
        return
    from tclose.show import show_methods

    show_methods(methods())


@app.command(epilog="[bold]Example:[/bold] tclose demo --rows 5000 --folder /tmp/demo")
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the hospital table.")] = 20_000,
    folder: Annotated[Path, typer.Option(help="Where its files go.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Make a hospital table, anonymize it, and show it before and after."""
    from tclose.demo import run

    with _progress() as tell:
        run(rows, folder, seed, tell)


@app.command(
    epilog="[bold]Examples:[/bold]\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 < in.jsonl > out.jsonl\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 --input incoming/ --follow --output out.jsonl "
    "--checkpoint state --rejected rejected.jsonl\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 --redis redis://localhost:6379 --from visits "
    "--to released --follow"
)
def stream(
    schema: SchemaOption,
    window: wishes.Window,
    step: wishes.Step,
    input: wishes.Input = None,
    output: wishes.Output = None,
    format: wishes.Format = None,
    redis: wishes.Redis = None,
    source: wishes.Source = None,
    to: wishes.To = None,
    group: wishes.Group = "tclose",
    consumer: wishes.Consumer = None,
    json_field: wishes.JsonField = None,
    max_pending: wishes.MaxPending = None,
    checkpoint: wishes.Checkpoint = None,
    rejected: wishes.Rejected = None,
    rejected_with_rows: wishes.RejectedWithRows = False,
    certificates: wishes.Certificates = None,
    ledger: wishes.Ledger = None,
    class_field: wishes.ClassField = "class",
    follow: wishes.Follow = False,
    idle: wishes.Idle = None,
    pause: wishes.Pause = False,
    continues: wishes.Continues = False,
    method: wishes.Method = None,
    option: wishes.Option = None,
    k: wishes.K = None,
    t: wishes.T = None,
    seed: wishes.Seed = None,
    quiet: wishes.Quiet = False,
) -> None:
    """Anonymize a stream over a sliding window, and go on after any crash from a checkpoint.

    Every row is released in a class that is close to its window, or rejected, or withheld: exactly
    once for files and Redis, at least once on standard output. Ctrl-C stops with a checkpoint; the
    same command goes on.
    """
    from tclose.schema import Schema
    from tclose.stream.engine import DEFAULT
    from tclose.stream.feeds.command import Wishes, carry_out
    from tclose.stream.feeds.loop import Settings

    settled = _override(Schema.load(schema), k, t or [])
    settings = Settings(window, step, _method(method or DEFAULT, option or []), seed)
    wanted = Wishes(
        input=input, output=output, format=format, redis=redis, source=source, to=to, group=group, consumer=consumer,
        json_field=json_field, max_pending=max_pending, checkpoint=checkpoint, rejected=rejected,
        rejected_with_rows=rejected_with_rows, certificates=certificates, ledger=ledger, class_field=class_field,
        follow=follow, idle=idle, pause=pause, continues=continues, quiet=quiet, schema=schema,
    )  # fmt: skip
    try:
        carry_out(wanted, settled, settings, _say)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command(
    "stream-check",
    epilog="[bold]Example:[/bold] tclose stream-check -s schema.toml --window 20000 --input in.jsonl "
    "--output out.jsonl --certificates certificates.jsonl --ledger ledger.jsonl --rejected rejected.jsonl",
)
def stream_check(
    schema: SchemaOption,
    window: wishes.Window,
    input: wishes.CheckedInput,
    output: wishes.CheckedOutput,
    certificates: wishes.CheckedCertificates,
    ledger: wishes.CheckedLedger,
    rejected: wishes.CheckedRejected = None,
    format: wishes.Format = None,
    class_field: wishes.ClassField = "class",
    k: wishes.K = None,
    t: wishes.T = None,
    json: Json = False,
) -> None:
    """Replay a stream from its files: every row came out once, truly, and in a class that keeps the promise.

    Exit 0 if so, 5 if not. The ledger is what --ledger of `tclose stream` wrote.
    """
    from tclose.schema import Schema
    from tclose.stream.feeds.command import format_of
    from tclose.stream.feeds.replay import replay_files

    settled = _override(Schema.load(schema), k, t or [])
    beside = {"certificates": certificates, "ledger": ledger, "rejected": rejected}
    try:
        settled_format = format_of(format, input, output)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    counts = replay_files(settled, window, input, output, beside, settled_format, class_field)
    if json:
        print(jsonlib.dumps(counts, indent=2))
    else:
        _say(f"The stream keeps its promise: {', '.join(f'{number:,} {name}' for name, number in counts.items())}.")


def main() -> None:
    """Run the command line; every failure is a message and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not stop anything
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", HighLossWarning)
            warnings.showwarning = lambda message, *_args, **_kwargs: _say(f"Note: {message}")
            app()
    except TcloseError as error:
        _say(f"Error: {error}")
        sys.exit(4 if isinstance(error, InfeasibleError) else 5 if isinstance(error, VerificationError) else 3)
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of stdout went away
            os._exit(1)
        where = f": {Path(error.filename).name}" if error.filename else ""
        _say(f"Error: {error.strerror or type(error).__name__}{where}.")
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TCLOSE_DEBUG"):
            raise
        # The message of an unforeseen error may quote a cell, so only its type is told.
        _say(f"Error: something unforeseen went wrong ({type(error).__name__}). Set TCLOSE_DEBUG=1 to see where.")
        sys.exit(1)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def _check_targets(inputs: list[Path], output: Path, record: Path | None) -> None:
    """Find out before any work what could not be written."""
    from tclose.frames import suffix_of
    from tclose.release import certificate_path

    targets = [output, certificate_path(output), *([record] if record else [])]
    for path in targets:
        if not path.absolute().parent.is_dir():
            raise typer.BadParameter(f"there is no folder '{path.parent}'.")
        if path.is_dir():
            raise typer.BadParameter(f"'{path}' is a folder.")
    if len({os.path.realpath(path) for path in (*targets, *inputs)}) < len(targets) + len(inputs):
        raise typer.BadParameter("table, schema, output, certificate and record must be different files.")
    try:
        suffix_of(output)
    except TcloseError as error:
        raise typer.BadParameter(str(error)) from None


def _method(name: str | None, settings: list[str]) -> Algorithm:
    """The method with options from the command line."""
    from tclose.algorithms import DEFAULT, find

    options = dict(setting.partition("=")[::2] for setting in settings)
    if not all("=" in setting for setting in settings) or len(options) < len(settings):
        raise typer.BadParameter("--option: give each once, as name=value.")
    try:
        return find(name or DEFAULT, options)
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None


def _override(schema: Schema, k: int | None, settings: list[str]) -> Schema:
    """The schema with k and t from the command line."""
    from dataclasses import replace

    from tclose.schema_toml import exact

    changed: dict[str, Any] = {}
    known = {*(sensitive.column for sensitive in schema.sensitive), *(joint.name for joint in schema.joint)}
    for setting in settings:
        column, equals, value = setting.rpartition("=")
        if not equals or column not in known:
            raise typer.BadParameter(
                f"--t {setting}: give it as column=0.2, with a sensitive column or a joint of the schema."
            )
        changed[column] = value
    try:
        sensitive = tuple(
            replace(each, t=exact(changed[each.column], "--t", each.column)) if each.column in changed else each
            for each in schema.sensitive
        )
        joint = tuple(
            replace(each, t=exact(changed[each.name], "--t", each.name)) if each.name in changed else each
            for each in schema.joint
        )
        return replace(schema, sensitive=sensitive, joint=joint, k=schema.k if k is None else k)
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None


@contextmanager
def _stopped_by_interrupt() -> Iterator[Control]:
    """The first Ctrl-C asks the method to come back with the best it has; the next one ends the program."""
    from tclose.partition import Control

    control = Control()

    def on_interrupt(*_signal: Any) -> None:
        signal.signal(signal.SIGINT, before)
        control.end()
        _say("Stopping: the best found so far is checked and released. Press Ctrl-C again to give up.")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield control
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on stderr that shows the stage, how much of it is done, and the loss so far."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("start", total=None)

        def tell(stage: str, loss: float | None, done: float | None) -> None:
            text = stage if loss is None else f"{stage} (loss {loss:.3f})"
            bar.update(task, description=text, total=1.0 if done is not None else None, completed=done or 0.0)

        yield tell
