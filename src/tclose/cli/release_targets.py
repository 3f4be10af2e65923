"""Where a release goes: a file with its certificate beside it, or tables of a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tclose.cli.options import check_files, check_release
from tclose.errors import TableError

if TYPE_CHECKING:
    from tclose.release.file_lock import TargetLocks
    from tclose.release.release import Release, WrittenRelease
    from tclose.table.table_location import TableLocation

NO_OUTPUT = (
    "a release is written with its certificate beside it, and standard output has room for one of them. Name a file: "
    "-o release.csv."
)


@dataclass(frozen=True)
class ReleaseTarget:
    """A file, or a table of a database.

    Attributes
    ----------
    location
        Where the release goes.
    certificate_table
        Where its certificate goes, if that is a table.
    replace_table
        Whether tables of these names are replaced.
    """

    location: TableLocation
    certificate_table: str | None = None
    replace_table: bool = False

    @classmethod
    def of(
        cls,
        output: str,
        data: TableLocation,
        table: str | None,
        certificate_table: str | None = None,
        replace_table: bool = False,
    ) -> ReleaseTarget:
        """What `--output` and the options of tables say; whatever does not fit is wrong usage."""
        from tclose.release.database_certificates import certificate_table_of
        from tclose.table.formats.database_urls import database_of
        from tclose.table.table_location import TableLocation

        if output == "-":
            raise typer.BadParameter(NO_OUTPUT)
        is_file = database_of(output) is None and Path(output).suffix.lower() not in (".db", ".sqlite", ".sqlite3")
        if is_file:
            if table is not None or certificate_table is not None or replace_table:
                raise typer.BadParameter("--output is a file, and tables are for databases.")
            return cls(_file_location(Path(output)))
        if table is None:
            raise typer.BadParameter("--output is a database: name the table to write with --output-table.")
        named = certificate_table or certificate_table_of(table)
        location = TableLocation(output, table=table)
        if named == table or (str(location.url) == data.url and data.table in (table, named)):
            raise typer.BadParameter("the release, its certificate and the table that is read need names of their own.")
        return cls(location, named, replace_table)

    @property
    def path(self) -> Path | None:
        """The file that the release is, if it is one."""
        return self.location.path if self.location.database is None else None

    @property
    def certificate(self) -> str:
        """Where the certificate is, for people."""
        from tclose.release.certificate import certificate_path

        return f"table {self.certificate_table}" if self.path is None else str(certificate_path(self.path))

    def check(self, inputs: list[Path], *others: Path | None) -> list[Path]:
        """Find out before any work whether it could not be written; the files that are."""
        if self.path is not None:
            return check_release(inputs, self.path, *others)
        files = [path for path in others if path is not None]
        check_files(files, inputs)
        return files

    def write(
        self, release: Release, locks: TargetLocks, *, keep_order: bool, record: Path | None, escape_formulas: bool
    ) -> WrittenRelease:
        """Write the release, and verify it."""
        if self.path is not None:
            return release.write(
                self.path, keep_order=keep_order, record=record, escape_formulas=escape_formulas, locks=locks
            )
        return release.write_table(
            self.location.url or "", self.location.table or "", certificate_table=self.certificate_table,
            replace_table=self.replace_table, keep_order=keep_order, record=record, locks=locks,
        )  # fmt: skip


def _file_location(path: Path) -> TableLocation:
    from tclose.table.formats.file_formats import suffix_of
    from tclose.table.table_location import TableLocation

    try:
        suffix_of(path)
        return TableLocation(str(path))
    except TableError as error:
        raise typer.BadParameter(str(error)) from None
