"""Where a table is and how it is read: a file, standard input, or a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tclose.errors import TableError
from tclose.table.formats.database_urls import SQLITE, database_of, masked, sqlite_file
from tclose.table.formats.file_formats import LABELLED, PIPED, FileFormat, format_of

STANDARD_INPUT = "-"


@dataclass(frozen=True, repr=False)
class TableLocation:
    """Where a table is and how to read it; it can be given wherever a path can.

    Attributes
    ----------
    place
        The path of a file, or of a folder of Parquet files where these are taken; `-` for standard input; or the URL
        of a database: `sqlite:///people.db`, `postgresql://host/people`. It is shown without what may be a password.
    format
        Of a file whose suffix does not say it, and of standard input: `csv`, `tsv`, `jsonl`, `json`, `parquet`,
        `arrow`, ...
    sheet
        Of a spreadsheet, by its name, or by its number from 1 up.
    codes
        Leave the codes of SPSS and Stata as they are; if not, their labels are the values.
    table, query
        Of a database: a table, or a query whose rows are the table.

    Raises
    ------
    TableError
        An option does not fit the place.

    Examples
    --------
    >>> TableLocation("survey.xlsx", sheet="2024")
    TableLocation('survey.xlsx', sheet='2024')
    >>> TableLocation("postgresql://ann:secret@host/people", table="patients")
    TableLocation('postgresql://***@host/people', table='patients')
    """

    place: str
    format: str | None = None
    sheet: str | int | None = None
    codes: bool = False
    table: str | None = None
    query: str | None = None
    _held: dict[str, Any] = field(default_factory=dict, compare=False)  # what can be read but once

    def __post_init__(self) -> None:
        if not self.place:
            raise TableError("A table needs a path, a URL, or - for standard input.")
        if self.table is not None and self.query is not None:
            raise TableError("A table and a query are both named. Name one of them.")
        if self.database is not None:
            self._check(("sheet", "codes"), "a database")
        elif self.is_standard_input:
            self._check(("sheet", "codes", "table", "query"), "standard input")
            if self.format not in PIPED:
                raise TableError(f"Say what format standard input has: --format {'|'.join(PIPED)}.")
        elif self.is_folder:
            self._check(("format", "sheet", "codes", "table", "query"), "a folder")
        else:
            self._check_file()

    def _check_file(self) -> None:
        read_as = self.file_format
        self._check(("table", "query"), "a file that is no database")
        if read_as.name != "excel":
            self._check(("sheet",), "a file that is no spreadsheet")
        if read_as.name not in LABELLED:
            self._check(("codes",), "a file of neither SPSS nor Stata")

    def _check(self, options: tuple[str, ...], what: str) -> None:
        wrong = [f"--{name}" for name in options if getattr(self, name)]
        if wrong:
            raise TableError(f"{' and '.join(wrong)} cannot be said of {what}. Leave it out.")

    @classmethod
    def of(cls, given: TableLocation | Path | str) -> TableLocation:
        """A location as it is, or of a path or URL."""
        return given if isinstance(given, TableLocation) else cls(str(given))

    @property
    def is_standard_input(self) -> bool:
        """Whether it is read from standard input."""
        return self.place == STANDARD_INPUT

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine."""
        if self.is_standard_input or database_of(self.place) is not None:
            return False
        try:
            return Path(self.place).is_dir()
        except (OSError, ValueError):  # a name that the system does not take
            return False

    @property
    def database(self) -> str | None:
        """Which kind of database it is in, if it is in one."""
        if database_of(self.place) is not None or self.is_standard_input or self.is_folder:
            return database_of(self.place)
        return SQLITE if self._format_or_none() == SQLITE else None

    @property
    def file_format(self) -> FileFormat:
        """The format of a file, or of standard input."""
        return format_of(Path(self.place), self.format)

    def _format_or_none(self) -> str | None:
        try:
            return self.file_format.name
        except TableError:
            return None

    @property
    def path(self) -> Path | None:
        """The file, if it is one; that of an SQLite database too."""
        if self.is_standard_input or self.database not in (None, SQLITE):
            return None
        return Path(self.place) if database_of(self.place) is None else sqlite_file(self.place)

    @property
    def files(self) -> list[Path]:
        """What must not be overwritten while it is read."""
        return [] if self.path is None else [self.path]

    @property
    def url(self) -> str | None:
        """The URL of its database; one that is given as a file has one too."""
        if self.database is None or database_of(self.place) is not None:
            return None if self.database is None else self.place
        return f"sqlite:///{quote(self.place)}"

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if self.is_standard_input:
            return "standard input"
        return masked(self.place) if self.database is not None else Path(self.place).name

    def hold(self, key: str, make: Callable[[], Any]) -> Any:
        """What is made the first time it is asked for: what can be read but once, or may change in between."""
        if key not in self._held:
            self._held[key] = make()
        return self._held[key]

    def spooled(self) -> Path:
        """Where standard input lies once it is read, which happens once."""
        from tclose.table.formats.standard_input import path_of, spool

        return path_of(self.hold("file", spool))

    @property
    def options(self) -> list[str]:
        """The options of the command line that say the same."""
        named = [(key, getattr(self, key)) for key in ("format", "sheet", "table", "query")]
        return [part for key, value in named if value is not None for part in (f"--{key}", str(value))] + (
            ["--codes"] if self.codes else []
        )

    def __str__(self) -> str:
        return masked(self.place) if self.database is not None else self.place

    def __repr__(self) -> str:
        named = [(key, getattr(self, key)) for key in ("format", "sheet", "codes", "table", "query")]
        shown = [repr(str(self)), *(f"{key}={value!r}" for key, value in named if value)]
        return f"TableLocation({', '.join(shown)})"


def file_of(given: object) -> Path | None:
    """The file that a table was given as; None for a dataframe, standard input or a database.

    Examples
    --------
    >>> file_of("people.csv").name, file_of("postgresql://host/people")
    ('people.csv', None)
    """
    if isinstance(given, TableLocation):
        return given.path if given.database is None else None
    if isinstance(given, Path):
        return given
    return Path(given) if isinstance(given, str) and database_of(given) is None else None


def text_file_of(given: object) -> tuple[Path, FileFormat] | None:
    """Where a text file with a delimiter lies, and its format; None of all else. Standard input is put into one.

    Examples
    --------
    >>> text_file_of("people.parquet") is None
    True
    """
    if not isinstance(given, str | Path | TableLocation):
        return None
    location = TableLocation.of(given)
    if location.database is not None or location.is_folder or not location.file_format.has_delimiter:
        return None
    path = location.spooled() if location.is_standard_input else Path(location.place)
    return (path, location.file_format) if path.is_file() else None
