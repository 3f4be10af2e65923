"""How a text file is laid out, found from the file: its encoding, what divides its columns, whether it has a header.

Where two readings are possible, none is chosen: an error names the option that decides.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tclose.errors import TableError
from tclose.table.file_pieces import open_pieces
from tclose.table.formats.file_formats import FileFormat
from tclose.table.memory_limit import most_memory
from tclose.table.words_for_missing import KNOWN as MISSING

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
PREFIX = 1 << 20  # bytes by which delimiter and header are found
MOST_RECORDS = 2000
QUOTED = re.compile(r'"[^"]*"')
LINE_END = re.compile("\r\n|\n|\r")
NAMED_DELIMITER = re.compile(r"(?i)sep=(.)")  # the first line that spreadsheets write and obey
VALUE = re.compile(
    r"[+-]?[0-9][0-9.,'\u2019\u00a0\u202f ]*([eE][+-]?[0-9]+)?%?"
    r"|[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([ T][0-9:.]+.*)?|[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?"
)
MARKS = {  # at the beginning of a file, the longest first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# In a file of Windows for Western Europe, few of the bytes beyond ASCII are among these: codes it does not have, a
# capital behind a small letter or between a capital and a small one, a sign between two letters, and long rows of
# letters with accents.
STRANGE = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|[a-z\xdf-\xf6\xf8-\xff][\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde]"
    rb"|[A-Z][\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde][a-z]"
    rb"|(?<=[a-z])[\x80\x82\x84-\x89\x8b\x93-\x95\x98\x99\x9b\xa1-\xa9\xab\xac\xae-\xb3\xb6\xb8\xb9\xbb-\xbf](?=[a-z])"
    rb"|[\xc0-\xff]{4,}"
)
UTF_8_PAIR = re.compile(rb"[\xc3-\xc5][\x80-\xbf]")  # letters of Western and Central Europe
BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


class TextLayout(NamedTuple):
    """How a text file is laid out.

    Attributes
    ----------
    delimiter, encoding
        As a schema has them.
    header
        Whether its first record names the columns.
    """

    delimiter: str
    encoding: str
    header: bool


def find_layout(
    path: Path, zipped: bool, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None
) -> TextLayout:
    """Find how a text file is laid out; what is given is taken as it is.

    Raises
    ------
    TableError
        The file can be read in more than one way; the message names the option that decides.
    """
    encoding = encoding or find_encoding(path, zipped)
    prefix, is_whole = b"", True
    for piece in open_pieces(path, zipped, most_memory()):
        prefix += piece
        if len(prefix) > PREFIX:
            prefix, is_whole = prefix[:PREFIX], False
            break
    records = _records(prefix.decode(encoding, errors="ignore").removeprefix("\ufeff"), is_whole)
    if not records:
        raise TableError(f"'{path.name}' is empty.")
    named = NAMED_DELIMITER.fullmatch(records[0][1])
    records = records[1:] if named else records
    delimiter = delimiter or (named[1] if named else find_delimiter([bare for bare, _ in records], path.name))
    if header is None:
        _check_first([written for _, written in records], delimiter, path.name)
        header = _has_header([written for _, written in records], delimiter, path.name)
    return TextLayout(delimiter, encoding, header)


def _records(text: str, is_whole: bool) -> list[tuple[str, str]]:
    """The first records, without what stands in quotes and as they are written; a line end in quotes ends none."""
    kept: list[str] = []
    bare = QUOTED.sub(lambda match: kept.append(match[0]) or "\0", text)  # type: ignore[func-returns-value]
    lines = LINE_END.split(bare)
    lines = lines if is_whole or len(lines) == 1 else lines[:-1]
    rest = iter(kept)
    found = [(line, re.sub("\0", lambda _match: next(rest, ""), line)) for line in lines[: MOST_RECORDS + 1]]
    return [(line, written) for line, written in found if line.strip()]


def find_encoding(path: Path, zipped: bool) -> str:
    """The encoding of a text file, by its mark if it has one; that of Windows where UTF-8 does not fit and it does.

    Raises
    ------
    TableError
        It is neither, and nothing says which.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_first, is_utf_8 = True, True
    n_beyond = n_strange = n_pairs = 0
    line = 1
    for piece in open_pieces(path, zipped, most_memory()):
        if is_first and (marked := encoding_by_mark(piece)) is not None:
            return marked
        is_first = False
        if is_utf_8:
            try:
                n_longer = len(piece) - len(decoder.decode(piece))
            except UnicodeDecodeError as error:
                is_utf_8 = False
                line += piece[: error.start].count(b"\n")
            else:
                n_pairs, n_beyond, line = n_pairs + n_longer, n_beyond + 2 * n_longer, line + piece.count(b"\n")
        if not is_utf_8:
            n_pairs += len(UTF_8_PAIR.findall(piece))
            n_beyond += len(BEYOND_ASCII.findall(piece))
            n_strange += sum(map(len, STRANGE.findall(piece)))
    if is_utf_8:
        return "utf-8"
    if 4 * n_pairs > n_beyond:  # read as cp1252, an umlaut would be two signs
        raise TableError(
            f"'{path.name}' is UTF-8 in some places and not in others, the first of them in line {line}. Write it in "
            "one encoding; or give the one that it has (--encoding)."
        )
    if 20 * n_strange > n_beyond:
        raise TableError(
            f"'{path.name}' is not UTF-8, and does not look like cp1252 (Windows, Western Europe) either. Give its "
            "`encoding` (--encoding): cp1250 for Central Europe, cp1251 for Cyrillic, mac_roman, cp850, gb18030 and "
            "others that Python knows; or save it as UTF-8."
        )
    return "cp1252"


def reading_of_release(
    given: tuple[Path, FileFormat] | None, encoding: str, header: bool, released: Sequence[str]
) -> tuple[str, bool]:
    """Encoding and header of a file that may be a release, which is UTF-8 and has names, or a table as it came.

    Parameters
    ----------
    given
        A text file with a delimiter and its format; None for all else.
    encoding, header
        Of the table as it came.
    released
        Columns that a release has.
    """
    if given is None:
        return encoding, header
    path, zipped = given[0], given[1].is_zipped
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in open_pieces(path, zipped, most_memory()):
            if encoding_by_mark(piece[:4]) not in (None, "utf-8"):
                return encoding, header
            decoder.decode(piece)
    except UnicodeDecodeError:
        return encoding, header
    first = next(open_pieces(path, zipped, most_memory()), b"").decode(errors="replace")
    line = LINE_END.split(first, maxsplit=1)[0]
    return "utf-8", header or any(name in line for name in released)


def encoding_by_mark(data: bytes) -> str | None:
    """The encoding that the first bytes of a file show: by a mark, or because every other byte is zero.

    Examples
    --------
    >>> encoding_by_mark("a,b".encode("utf-16")), encoding_by_mark("age,b".encode("utf-16-le")), encoding_by_mark(b"a")
    ('utf-16', 'utf-16-le', None)
    """
    for mark, encoding in MARKS.items():
        if data.startswith(mark):
            return encoding
    sample = data[:4096]
    if len(sample) >= 4 and 0 in sample:
        even, odd = (sample[start::2].count(0) / max(len(sample[start::2]), 1) for start in (0, 1))
        if max(even, odd) > 0.4 and min(even, odd) < 0.1:
            return "utf-16-be" if even > odd else "utf-16-le"
    return None


def find_delimiter(records: Sequence[str], name: str) -> str:
    """What divides the columns of records without their quoted parts.

    Raises
    ------
    TableError
        Several characters may, or none does it evenly.

    Examples
    --------
    >>> find_delimiter(["age;pay", "31;1,5", "44;2,25"], "people.csv"), find_delimiter(["age", "31"], "ages.csv")
    (';', ',')
    """
    records = _below_title(records[:MOST_RECORDS])
    counts = {each: [record.count(each) for record in records] for each in DELIMITERS}
    used = [each for each in DELIMITERS if counts[each][0]]
    even = [each for each in used if min(counts[each]) == max(counts[each])]
    if len(even) == 1 or not used:
        return even[0] if even else ","
    if not even:  # a damaged record is named when it is read
        shares = {each: counts[each].count(counts[each][0]) / len(records) for each in used}
        good = [each for each in used if shares[each] >= 0.8 and len(records) > 2]
        if len(good) == 1:
            return good[0]
        if len(used) == 1:
            return used[0]
    told = " or ".join(DELIMITERS[each] for each in even or used)
    raise TableError(f"The columns of '{name}' may be divided by {told}. Say which: --delimiter '{(even or used)[0]}'.")


def _below_title(records: Sequence[str]) -> Sequence[str]:
    """The records without those at their beginning that nothing divides, if most of the others are divided."""
    divided = [place for place, record in enumerate(records) if any(each in record for each in DELIMITERS)]
    return records[divided[0] :] if 2 * len(divided) > len(records) else records


def _check_first(records: Sequence[str], delimiter: str, name: str) -> None:
    """Refuse a file that begins with a title, a comment or the like, and has its names further below."""
    rows = list(_parsed(records, delimiter))
    width = max(map(len, rows[1:]), default=1)
    filled = sum(bool(field.strip()) for field in rows[0]) if rows else 0
    usual = sorted(sum(bool(field.strip()) for field in row) for row in rows[1:])
    if width > 1 and 2 * filled < usual[len(usual) // 2]:
        raise TableError(
            f"The first line of '{name}' has {filled} of {width} fields filled, so it does not name the columns. "
            "Delete what stands above the line with their names."
        )


def other_delimiter(record: str, delimiter: str) -> str | None:
    """What seems to divide a first record in which the delimiter does not occur; None if nothing does."""
    bare = QUOTED.sub("", record)
    if delimiter in bare:
        return None
    found = [each for each in DELIMITERS if each in bare]
    return found[0] if len(found) == 1 else None


def _has_header(records: Sequence[str], delimiter: str, name: str) -> bool:
    """Whether the first record names the columns; where it looks like a row, an error asks."""
    rows = list(_parsed(records, delimiter))
    if not rows:
        return True
    rest = [row for row in rows[1:] if len(row) == len(rows[0])]
    if not rest or not is_like_a_row(rows[0], [[row[place] for row in rest] for place in range(len(rows[0]))]):
        return True
    raise TableError(
        f"The first line of '{name}' looks like a row and not like names. Give --no-header if it is one (columns are "
        "then called column_1 and so on), or --header if it holds names."
    )


def is_like_a_row(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether what stands above columns is a row like the others and does not name them.

    A text above numbers or dates is a name, unless it is a spelling of missing. A number is no name, and neither is a
    value that occurs below it. What more columns have decides.

    Examples
    --------
    >>> is_like_a_row(["age", "sex"], [["31", "44"], ["F", "M"]]), is_like_a_row(["31", "F"], [["44"], ["F"]])
    (False, True)
    """
    own = [field.strip() for field in first]
    filled = [[value for value in map(str.strip, column) if value] for column in columns]
    named = [
        bool(each) and each not in MISSING and not VALUE.fullmatch(each) and _are_values(below)
        for each, below in zip(own, filled, strict=True)
    ]
    like_rows = [bool(VALUE.fullmatch(each)) or each in below for each, below in zip(own, filled, strict=True)]
    return sum(named) < sum(like_rows)


def _are_values(below: Sequence[str]) -> bool:
    """Whether the values of a column are numbers or dates, those that are missing aside."""
    known = [value for value in below if value not in MISSING]
    return bool(known) and all(map(VALUE.fullmatch, known))


def _parsed(records: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO("\n".join(records[:200])), delimiter=delimiter)
    except csv.Error:
        return
