"""What commands share: common options, overriding the schema, progress, and being stopped."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose.errors import SchemaError, TcloseError

if TYPE_CHECKING:
    from tclose.algorithms import Algorithm
    from tclose.algorithms.control import Control
    from tclose.schema.schema import Schema

Data = Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz or .parquet.", show_default=False)]
SchemaOption = Annotated[Path, typer.Option("--schema", "-s", help="What each column is, as TOML.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Let messages quote values of the table.")]


def say(message: str) -> None:
    """Tell it on stderr."""
    print(message, file=sys.stderr)


def check_targets(inputs: list[Path], output: Path, *others: Path | None) -> None:
    """Find out before any work whether a release and what goes with it could not be written."""
    from tclose.release.release import certificate_path
    from tclose.table.source import suffix_of

    targets = [output, certificate_path(output), *(path for path in others if path is not None)]
    check_places(targets)
    if len({os.path.realpath(path) for path in (*targets, *inputs)}) < len(targets) + len(inputs):
        raise typer.BadParameter("table, schema, output, certificate, record and report must be different files.")
    try:
        suffix_of(output)
    except TcloseError as error:
        raise typer.BadParameter(str(error)) from None


def check_page(inputs: list[Path], output: Path | None) -> None:
    """Find out before any work whether a page could not be written."""
    if output is None:
        return
    check_places([output])
    if os.path.realpath(output) in {os.path.realpath(path) for path in inputs}:
        raise typer.BadParameter("the page would overwrite the table or the schema. Give it another name.")
    check_kind(output)


def check_kind(page: Path) -> None:
    """Refuse a page that is neither HTML nor PDF, or PDF where that cannot be made."""
    if page.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise typer.BadParameter(f"'{page.name}': a page is .html or .pdf.")
    if page.suffix.lower() == ".pdf":
        from tclose.pages.pdf import load

        load()


def page_bytes(html: str, output: Path) -> bytes:
    """A page as its file is to hold it: PDF where the name ends so, else HTML."""
    if output.suffix.lower() == ".pdf":
        from tclose.pages.pdf import to_pdf

        return to_pdf(html)
    return html.encode()


def check_places(targets: list[Path]) -> None:
    """Refuse files that cannot be made."""
    for path in targets:
        if not path.absolute().parent.is_dir():
            raise typer.BadParameter(f"there is no folder '{path.parent}'.")
        if path.is_dir():
            raise typer.BadParameter(f"'{path}' is a folder.")
        if path.exists() and not path.is_file():  # a device or a pipe would be replaced by a file
            raise typer.BadParameter(f"'{path}' is not an ordinary file.")


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


def override(schema: Schema, k: int | None, settings: list[str]) -> Schema:
    """The schema with k and t from the command line."""
    from dataclasses import replace

    from tclose.schema.toml import exact

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
