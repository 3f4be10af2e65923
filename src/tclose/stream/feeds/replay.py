"""Replay: input and output of a stream, as they lie in files, through the independent checker."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import TableError, VerificationError
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.stream.check import Checker
from tclose.stream.feeds.feed import Batch
from tclose.stream.feeds.folder_feed import FolderInput, files_read
from tclose.stream.feeds.lines import Format, GrowingFile, LineInput, open_file, refuse_device
from tclose.stream.feeds.parse import BrokenError
from tclose.stream.items import Claimed, Outcome, Rejected, Released, Window, Withheld, claimed

Told = Mapping[str, Any]
Row = Mapping[str, Any]
HeadCheck = Callable[[Told], str]


@dataclass(frozen=True)
class WrittenStream:
    """What a stream has written, each in its order.

    Attributes
    ----------
    output
        Released rows, every value as text, with the number of their class.
    certificates, ledger, letters
        That of the stream and one for each class, one for each class, and one for each row rejected or withheld.
    field
        What the class of a row is called.
    """

    output: Iterable[Row]
    certificates: Iterable[Told]
    ledger: Iterable[Told]
    letters: Iterable[Told]
    field: str = "class"


def replay(
    schema: Schema, window: int, batches: Iterable[Sequence[Row]], written: WrittenStream, check_head: HeadCheck
) -> dict[str, int]:
    """Check that every input row came out once, truly, and in a class that keeps the promise.

    Parameters
    ----------
    schema, window
        What was promised.
    batches
        The input from its beginning; an empty mapping where a row could not be read.
    written
        What came out.
    check_head
        Raises VerificationError where the certificate of the stream is wrong; else gives its method.

    Returns
    -------
    :
        How many rows became what.

    Raises
    ------
    VerificationError
        It is not so.
    """
    checker, rows = Checker(schema, window), _InputRows(batches)
    letters = sorted(map(_letter, written.letters), key=lambda letter: letter[0])
    rejected = deque(number for number, what in letters if what == "rejected")
    withheld = deque(number for number, what in letters if what == "withheld")
    told = iter(written.certificates)
    method = check_head(next(told, {}))
    for released, certificates in _released(written, told, method):
        _take_in(checker, rows.up_to(released.window.last + 1))
        left_behind = _withheld(withheld, released.window.first - 1)
        checker.check(Outcome(rejected=_rejections(rejected, released.window.last), withheld=left_behind))
        checker.check_released(released, certificates)
    _take_in(checker, rows.up_to(None))
    checker.check(Outcome(rejected=_rejections(rejected, None), withheld=_withheld(withheld, None)))
    return checker.finish()


def _take_in(checker: Checker, rows: list[Row]) -> None:
    if rows:
        checker.take_in(rows)


class _InputRows:
    """The input, as much of it as is asked for."""

    def __init__(self, batches: Iterable[Sequence[Row]]) -> None:
        self._rows = (row for batch in batches for row in batch)
        self._n = 0

    def up_to(self, stop: int | None) -> list[Row]:
        rows = list(islice(self._rows, None if stop is None else max(stop - self._n, 0)))
        self._n += len(rows)
        return rows


def _letter(told: Told) -> tuple[int, str]:
    """The row that a dead letter is about, and what became of it."""
    number, what = told.get("row"), told.get("what")
    if type(number) is not int or not 0 <= number < 2**63 or what not in ("rejected", "withheld"):
        raise TableError("The dead letters have a line that is none.")
    return number, what


def _due(numbers: deque[int], last: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    due = []
    while numbers and (last is None or numbers[0] <= last):
        due.append(numbers.popleft())
    return np.array(due, np.int64)


def _rejections(numbers: deque[int], last: int | None) -> tuple[Rejected, ...]:
    return (Rejected(_due(numbers, last), None, ""),)


def _withheld(numbers: deque[int], last: int | None) -> tuple[Withheld, ...]:
    return (Withheld(_due(numbers, last), ""),)


def _released(
    written: WrittenStream, certificates: Iterator[Told], method: str
) -> Iterator[tuple[Released, list[Told]]]:
    """Classes that were released together, those that the ledger has in the same window, and their certificates."""
    output = iter(written.output)
    ledger = map(_entry, written.ledger)
    for (window, case), group in groupby(ledger, key=lambda each: (each["window"], each["case"])):
        entries = list(group)
        told = list(islice(certificates, len(entries)))
        if [each.get("class") for each in told] != [each["class"] for each in entries]:
            raise VerificationError("Ledger and certificates do not name the same classes in the same order.")
        if any(each.get("method") != method for each in told):
            raise VerificationError("The certificate of a class names another method than that of the stream.")
        sizes = [len(each["rows"]) for each in entries]
        rows = list(islice(output, sum(sizes)))
        labels = np.repeat([each["class"] for each in entries], sizes)
        if [str(row.get(written.field)) for row in rows] != [str(label) for label in labels]:
            raise VerificationError("Output and ledger do not have the same rows in every class.")
        numbers = np.array([number for each in entries for number in each["rows"]], np.int64)
        frame = _frame(rows, written.field)
        yield Released(frame, labels, numbers, window, case, method, 0.0, _claimed(entries)), told
    if next(output, None) is not None or next(certificates, None) is not None:
        raise VerificationError("Output or certificates have rows or classes that the ledger does not have.")


def _entry(told: Told) -> dict[str, Any]:
    """A line of the ledger, if it is one: numbers are whole, and there is all that there must be."""
    window, rows = told.get("window"), told.get("rows")
    numbers: list[Any] = [None]
    if isinstance(window, Mapping) and isinstance(rows, list) and rows:
        numbers = [window.get("first"), window.get("last"), window.get("rows"), *rows, told.get("class")]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers) or "case" not in told:
        raise TableError("The ledger has a line that is none of a ledger, or is that of an earlier version of tclose.")
    return {**told, "window": Window(*numbers[:3])}


def _claimed(entries: list[dict[str, Any]]) -> dict[str, Claimed]:
    """The distances that the ledger tells."""
    try:
        return claimed(entries)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise VerificationError("The ledger does not say how far classes are from their window.") from None


def _frame(rows: list[Row], field: str) -> pl.DataFrame:
    names = [name for name in rows[0] if name != field]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise VerificationError("Rows of the output have different columns.")
    return pl.DataFrame({name: [row[name] for row in rows] for name in names}, schema=dict.fromkeys(names, pl.String))


def replay_files(
    schema: Schema,
    window: int,
    source: Path,
    output: Path,
    beside: Mapping[str, Path | None],
    format: Format,
    field: str,
    checkpoint: Path | None = None,
    *,
    check_head: HeadCheck,
) -> dict[str, int]:
    """`replay` of what lies in files or folders.

    Parameters
    ----------
    schema, window
        What was promised.
    source, output
        Input and output.
    beside
        The files `certificates`, `ledger` and `rejected`; the last may be None.
    format, field
        As the stream was told.
    checkpoint
        Of the stream: it knows in which order the files of a folder were read, if not by name.
    check_head
        As for `replay`.
    """
    ledger, certificates, rejected = beside["ledger"], beside["certificates"], beside["rejected"]
    assert ledger is not None
    assert certificates is not None
    for path in (source, output, ledger, certificates, rejected, checkpoint):
        if path is not None:
            refuse_device(path)
    letters = _lines(rejected) if rejected is not None else ()
    written = WrittenStream(_output(output, schema, format), _lines(certificates), _lines(ledger), letters, field)
    order: Sequence[str] = ()
    if checkpoint is not None:
        order = guarded("The checkpoint is damaged", lambda: files_read(checkpoint.read_bytes()))
    batches = (batch.rows for batch in _batches(source, schema, format, order))
    return replay(schema, window, batches, written, check_head)


def _batches(source: Path, schema: Schema, format: Format, order: Sequence[str]) -> Iterator[Batch]:
    lines: LineInput | FolderInput
    if source.is_dir():
        lines = FolderInput(source, schema, format, order=order)
    else:
        lines = open_file(source, schema, format, None)
    yield from _all(lines)


def _all(lines: LineInput | FolderInput) -> Iterator[Batch]:
    try:
        ended = False
        while not ended:
            batch = lines.read()
            yield batch
            ended = batch.ended
    finally:
        lines.close()


def _output(path: Path, schema: Schema, format: Format) -> Iterator[Row]:
    """Released rows as text."""
    kept = {*schema.keep}
    for file in sorted(path.glob(f"*.{format}")) if path.is_dir() else [path]:
        if format == "jsonl":
            yield from _lines(file, parse_float=str, parse_int=str)
            continue
        plain = replace(schema, encoding="utf-8", identifiers=())
        for batch in _all(LineInput(GrowingFile(file, 0, "stop"), plain, "csv")):
            if batch.broken:
                raise TableError(f"'{file.name}' cannot be read: {next(iter(batch.broken.values()))}")
            for row in batch.rows:
                yield {name: None if not value and name not in kept else value for name, value in row.items()}


def _lines(path: Path, **options: Any) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line."""
    with path.open("rb") as file:
        for line in file:
            try:
                told = json.loads(line, **options)
                if not isinstance(told, dict):
                    raise BrokenError
            except (ValueError, RecursionError):
                raise TableError(f"'{path.name}' has a line that is not a JSON object.") from None
            yield told
