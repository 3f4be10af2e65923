"""What commands share: common options, overriding the schema, progress, and being stopped."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose.errors import SchemaError, TcloseError, printable

if TYPE_CHECKING:
    from tclose.algorithms import Algorithm
    from tclose.algorithms.control import Control
    from tclose.schema.schema import Schema
    from tclose.table.partition import Partition
    from tclose.table.table_location import TableLocation

    Data = TableLocation
else:  # what a command is given is made of this, and of the options in table_options.py
    Data = Annotated[
        str,
        typer.Argument(
            help="A table: a file (CSV, TSV, JSON, Parquet, Arrow, Excel, SPSS, Stata, SAS, SQLite), - for standard "
            "input, or the URL of a database.",
            show_default=False,
        ),
    ]

SchemaOption = Annotated[
    Path, typer.Option("--schema", "-s", help="The schema: what each column is, as TOML.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
MethodOptions = Annotated[
    list[str] | None, typer.Option(help="An option of the method, as name=value; may be repeated.", show_default=False)
]
AskedK = Annotated[int | None, typer.Option(help="k, instead of the schema's.")]
AskedT = Annotated[
    list[str] | None, typer.Option(help="column=0.2 or joint=0.2, instead of the schema's t; may be repeated.")
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of the method; random if not given.")]
TimeLimit = Annotated[
    float | None, typer.Option(min=0, help="Stop the search after this many seconds, with the best found so far.")
]
RecordFile = Annotated[
    Path | None, typer.Option(help="Where to write seed, digest, timings and more (not for release).")
]
PublicReport = Annotated[
    Path | None, typer.Option(help="Where to write a page that may be given away with the release: .html or .pdf.")
]
PrivateReport = Annotated[
    Path | None, typer.Option(help="Where to write a page that also compares with the original (not for release).")
]
EscapeFormulas = Annotated[
    bool, typer.Option("--escape-formulas", help="In CSV, mark text that a spreadsheet would run as a formula.")
]
AllowSingleClass = Annotated[
    bool, typer.Option("--allow-single-class", help="Accept a release that is a single class.")
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        help="For a folder of Parquet files of any size: `local` (through the disk) or `spark`.", show_default=False
    ),
]
Jobs = Annotated[int | None, typer.Option(min=0, help="With --engine local: processes at once.", show_default=False)]
Master = Annotated[
    str | None,
    typer.Option(
        help="With --engine spark: the cluster; all processors of this machine if not given.", show_default=False
    ),
]
ShardRows = Annotated[
    int | None,
    typer.Option(min=1000, help="With --engine: the most rows of a shard; 500,000 if not given.", show_default=False),
]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Let messages quote values of the table.")]

COMPILING = (
    "Compiling loops for this machine. That happens once: later runs find them on disk. `tclose warmup` does it ahead."
)


def say(message: str) -> None:
    """Tell it on stderr, line by line; what a terminal would obey is shown as an escape."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)


def check_files(targets: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Find out before any work whether files could not be written, or would overwrite one another."""
    from tclose.release.atomic import check_targets

    try:
        check_targets(targets, inputs)
    except OSError as error:
        raise typer.BadParameter(f"'{error.filename}': {(error.strerror or '').lower()}.") from None


def check_release(inputs: list[Path], output: Path, *others: Path | None) -> list[Path]:
    """Find out before any work whether a release and what goes with it could not be written; all these files."""
    from tclose.release.certificate import certificate_path
    from tclose.table.formats.file_formats import suffix_of

    targets = [output, certificate_path(output), *(path for path in others if path is not None)]
    check_files(targets, inputs)
    try:
        suffix_of(output)
    except TcloseError as error:
        raise typer.BadParameter(str(error)) from None
    return targets


def check_page(inputs: list[Path], output: Path | None) -> list[Path]:
    """Find out before any work whether a page could not be written; the page, if there is to be one."""
    if output is None:
        return []
    check_files([output], inputs)
    check_kind(output)
    return [output]


def check_kind(page: Path) -> None:
    """Refuse a page that is neither HTML nor PDF, or PDF where that cannot be made."""
    if page.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise typer.BadParameter(f"'{page.name}': a page is .html or .pdf.")
    if page.suffix.lower() == ".pdf":
        from tclose.pages.pdf import load

        load()


def check_reports(*pages: Path | None) -> None:
    """The same for each report that is asked for."""
    for page in pages:
        if page is not None:
            check_kind(page)


def page_bytes(html: str, output: Path) -> bytes:
    """A page as its file is to hold it: PDF where the name ends so, else HTML."""
    if output.suffix.lower() == ".pdf":
        from tclose.pages.pdf import to_pdf

        return to_pdf(html)
    return html.encode()


def find_method(name: str | None, settings: list[str]) -> Algorithm:
    """The method with options from the command line."""
    from tclose.algorithms import DEFAULT, find

    options = dict(setting.partition("=")[::2] for setting in settings)
    if not all("=" in setting for setting in settings) or len(options) < len(settings):
        raise typer.BadParameter("--option: give each once, as name=value.")
    try:
        return find(name or DEFAULT, options)
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None


def load_start(path: Path) -> Partition:
    """The classes that a run starts from."""
    from tclose.table.partition import Partition

    return Partition.load(path)


def override(schema: Schema, k: int | None, settings: list[str]) -> Schema:
    """The schema with k and t from the command line."""
    from tclose.schema.changes import with_k, with_t

    try:
        for setting in settings:
            column, equals, value = setting.rpartition("=")
            if not equals:
                raise typer.BadParameter(f"--t {setting}: give it as column=0.2.")
            schema = with_t(schema, value, column)
        return schema if k is None else with_k(schema, k)
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None


@contextmanager
def stopped_by_interrupt(then: str = "the best found so far is checked and released") -> Iterator[Control]:
    """The first Ctrl-C asks methods to come back with the best they have; the next one ends the program."""
    from tclose.algorithms.control import Control

    control = Control()

    def on_interrupt(*_signal: Any) -> None:
        signal.signal(signal.SIGINT, before)
        control.end()
        say(f"Stopping: {then}. Press Ctrl-C again to give up.")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield control
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress() -> Iterator[Any]:
    """A bar on stderr that shows the stage, how much of it is done, and the loss so far.

    Where loops have to be compiled, that is said once in a line that stays, and the bar counts them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from tclose.kernels.compile import compiling_timed

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("start", total=None)
        stage_text, said = "start", False

        def tell(stage: str, loss: float | None, done: float | None) -> None:
            nonlocal stage_text
            stage_text = stage if loss is None else f"{stage} (loss {loss:.3f})"
            bar.update(task, description=stage_text, total=1.0 if done is not None else None, completed=done or 0.0)

        def tell_compiling(compiling: bool, n_loops: int) -> None:
            nonlocal said
            if not said:
                console.print(COMPILING, highlight=False, soft_wrap=True)
                said = True
            counted = f"compiling loops, {n_loops} done" if compiling else stage_text
            bar.update(task, description=counted)

        with compiling_timed(tell_compiling):
            yield tell
