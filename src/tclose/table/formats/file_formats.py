"""Formats of files by their suffixes, and which of them a release can be written in."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tclose.errors import TableError


class FileFormat(NamedTuple):
    """How a file is read.

    Attributes
    ----------
    name
        As `--format` has it.
    suffix
        What its name ends with, in lower case; with `.gz` if it is compressed.
    """

    name: str
    suffix: str

    @property
    def is_zipped(self) -> bool:
        """Whether it is compressed by gzip."""
        return self.suffix.endswith(".gz")

    @property
    def has_delimiter(self) -> bool:
        """Whether it is text whose fields have a delimiter between them."""
        return self.name in DELIMITED


BY_NAME = {
    "csv": (".csv", ".csv.gz"),
    "tsv": (".tsv", ".tab", ".tsv.gz"),
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz"),
    "json": (".json", ".json.gz"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "spss": (".sav", ".zsav", ".por"),
    "stata": (".dta",),
    "sas": (".sas7bdat", ".xpt"),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
}
DELIMITED = ("csv", "tsv")
PIPED = ("csv", "tsv", "jsonl", "json", "parquet", "arrow")  # what standard input can hold
LABELLED = ("spss", "stata")  # whose codes may have labels
WRITTEN = (".csv", ".csv.gz", ".tsv", ".tab", ".tsv.gz", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc")
_BY_SUFFIX = {suffix: name for name, suffixes in BY_NAME.items() for suffix in suffixes}


def format_of(path: Path, name: str | None = None) -> FileFormat:
    """The format of a file: the one that is named, else that of its suffix.

    Examples
    --------
    >>> format_of(Path("people.TSV")), format_of(Path("export.txt"), "csv")
    (FileFormat(name='tsv', suffix='.tsv'), FileFormat(name='csv', suffix='.csv'))
    """
    suffix = _suffix(path)
    if name is None and suffix is not None:
        return FileFormat(_BY_SUFFIX[suffix], suffix)
    if name is None:
        raise TableError(
            f"'{path.name}': the suffix says what format a file has, and must be one of {', '.join(_BY_SUFFIX)}. Name "
            "the format if it has another: --format csv."
        )
    if name not in BY_NAME:
        raise TableError(f"There is no format of this name. Formats are {', '.join(BY_NAME)}.")
    if suffix in BY_NAME[name]:
        return FileFormat(name, suffix)
    usual = BY_NAME[name][0]
    zipped = path.name.lower().endswith(".gz") and usual + ".gz" in BY_NAME[name]
    return FileFormat(name, usual + ".gz" if zipped else usual)


def suffix_of(path: Path) -> str:
    """The suffix that decides how a release is written.

    Examples
    --------
    >>> suffix_of(Path("release.csv.gz"))
    '.csv.gz'
    """
    suffix = _suffix(path)
    if suffix in WRITTEN:
        return suffix
    raise TableError(
        f"'{path.name}': the suffix says what format a release is written in, and must be one of {', '.join(WRITTEN)}."
    )


def delimiter_of(suffix: str, delimiter: str) -> str:
    """What stands between the fields of a file: tabs in one that is named so, unless another delimiter is named.

    Examples
    --------
    >>> delimiter_of(".tsv", ","), delimiter_of(".csv", ";")
    ('\\t', ';')
    """
    return "\t" if delimiter == "," and suffix in BY_NAME["tsv"] else delimiter


def is_delimited(suffix: str) -> bool:
    """Whether a file with this suffix is text whose fields have a delimiter between them.

    Examples
    --------
    >>> is_delimited(".tsv"), is_delimited(".jsonl")
    (True, False)
    """
    return _BY_SUFFIX[suffix] in DELIMITED


def is_binary(suffix: str) -> bool:
    """Whether a release with this suffix keeps the types of its columns.

    Examples
    --------
    >>> is_binary(".parquet"), is_binary(".csv")
    (True, False)
    """
    return _BY_SUFFIX[suffix] in ("parquet", "arrow")


def _suffix(path: Path) -> str | None:
    name = path.name.lower()
    found = [suffix for suffix in _BY_SUFFIX if name.endswith(suffix)]
    return max(found, key=len) if found else None
