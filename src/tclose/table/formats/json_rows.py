"""JSON: an object a line, or an array of objects; numbers are those that are written, to the last digit."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.formats.gathered_columns import FractionText, GatheredRows, WholeText
from tclose.table.memory_limit import most_memory

PIECE = 1 << 15  # rows, and bytes
CountedRow = tuple[dict[str, Any], int]
LONGEST = 1 << 26  # bytes of a line: 64 MiB
_SPACE, _COMMA, _END = (
    re.compile(r"[ \t\r\n]*"),
    re.compile(r"[ \t\r\n]*,[ \t\r\n]*"),
    re.compile(r"[ \t\r\n]*\][ \t\r\n]*"),
)
_BOM = b"\xef\xbb\xbf"


class RepeatedNameError(ValueError):
    """An object has a name twice, and nobody can say which of its values counts."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedNameError
    return found


def _constant(name: str) -> FractionText | None:
    """Not a number is missing, as it is elsewhere; what is infinite is refused where it is used."""
    return None if name == "NaN" else FractionText("inf" if name == "Infinity" else "-inf")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=WholeText, parse_float=FractionText, parse_constant=_constant
)


def read_json_lines(path: Path, zipped: bool) -> tuple[pl.DataFrame, tuple[str, int]]:
    """A table of one object a line, and what rows are called in messages, with the first one's number.

    Raises
    ------
    TableError
        A line holds no object, or one that has a name twice; the message says which line.
    """
    blank: list[int] = []
    with _opened(path, zipped) as file:
        frame = _table(_line_rows(file, path.name, blank), path.name)
    return frame, ("record", 1) if blank else ("line", 1)


def _line_rows(file: IO[bytes], name: str, blank: list[int]) -> Iterator[CountedRow]:
    """A row a line, and how many bytes were read by then; the numbers of empty lines go into `blank`."""
    n_bytes = 0
    for number, line in enumerate(_lines(file, name), 1):
        n_bytes += len(line)
        if len(line) >= LONGEST:
            raise TableError(f"'{name}': a line is longer than {LONGEST >> 20} MiB. Write one object a line.")
        if line.strip():
            yield _row(line, name, number), n_bytes
        else:
            blank.append(number)


def _row(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        return _checked_row(_DECODER.decode(line.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        problem = _problem(error)
    raise TableError(f"'{name}', line {number}: {problem}")


def _checked_row(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError
    return found


def _problem(error: Exception) -> str:
    """What is wrong with a row, without what it holds."""
    if isinstance(error, RepeatedNameError):
        return "an object has a name twice. Rename one."
    return 'it is not a JSON object, such as {"age": 31, "ill": "flu"}. Fix it, or name another format: --format csv.'


def _opened(path: Path, zipped: bool) -> IO[bytes]:
    return gzip.open(path) if zipped else path.open("rb")  # type: ignore[return-value]


def _lines(file: IO[bytes], name: str, longest: int = LONGEST) -> Iterator[bytes]:
    """Lines, or the first bytes of those that are longer, all of them no more than memory holds."""
    most, n_bytes, is_first = most_memory(), 0, True
    while line := _read(file, name, longest):
        n_bytes += len(line)
        if n_bytes > most:
            raise _too_large(name, most)
        yield line.removeprefix(_BOM) if is_first else line
        is_first = False


def _read(file: IO[bytes], name: str, most: int) -> bytes:
    try:
        return file.readline(most)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        reason = type(error).__name__
    raise TableError(f"'{name}' cannot be read: {reason}.")


def _too_large(name: str, most: int) -> TableError:
    return TableError(
        f"'{name}' cannot be read: it is larger than the memory that this process may take, {most >> 20:,} MiB. Give "
        "it as Parquet."
    )


def read_json_array(path: Path, zipped: bool) -> tuple[pl.DataFrame, tuple[str, int]]:
    """A table of an array of objects; see `read_json_lines`."""
    name = path.name
    with _opened(path, zipped) as file:
        data = b"".join(_lines(file, name, PIECE))
    text = guarded(f"'{name}' is not UTF-8", lambda: data.decode("utf-8-sig"))
    return _table(((row, len(data)) for row in _elements(text, name)), name), ("record", 1)


def _elements(text: str, name: str) -> Iterator[dict[str, Any]]:
    """The elements of an array, decoded one after the other."""
    start = _behind_space(text, 0)
    if not text.startswith("[", start):
        hint = "If it has one object a line, say so: --format jsonl" if text.startswith("{", start) else "Write it so"
        raise TableError(f'\'{name}\' is not an array of objects, such as [{{"age": 31}}, {{"age": 44}}]. {hint}.')
    place, number = _behind_space(text, start + 1), 0
    if _ends(text, place):
        return
    while True:
        number += 1
        found, place = _element(text, place, name, number)
        yield found
        if _ends(text, place):
            return
        comma = _COMMA.match(text, place)
        if comma is None:
            raise TableError(f"'{name}': behind element {number} stands neither a comma nor the end of the array.")
        place = comma.end()


def _behind_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _ends(text: str, place: int) -> bool:
    end = _END.match(text, place)
    return end is not None and end.end() == len(text)


def _element(text: str, place: int, name: str, number: int) -> tuple[dict[str, Any], int]:
    try:
        found, end = _DECODER.raw_decode(text, place)
        return _checked_row(found), end
    except (ValueError, RecursionError) as error:
        problem = _problem(error)
    raise TableError(f"'{name}', element {number}: {problem}")


def _table(rows: Iterable[CountedRow], name: str) -> pl.DataFrame:
    problem = f"'{name}' cannot be read: a text is not Unicode, or lists are nested too deeply"
    return guarded(problem, lambda: _gathered(rows, name))


def _gathered(rows: Iterable[CountedRow], name: str) -> pl.DataFrame:
    gathered, held, n_bytes = GatheredRows(), [], 0
    for row, n_bytes in rows:
        held.append(row)
        if len(held) == PIECE:
            gathered.add(held, n_bytes)
            held.clear()
    gathered.add(held, n_bytes)
    if not gathered.n_rows:
        raise TableError(f"'{name}' is empty.")
    return gathered.frame()
