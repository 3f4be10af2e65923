"""Certificates in databases: a table of one row beside that of the release."""

from __future__ import annotations

import json
from typing import Any

from tclose.errors import TableError
from tclose.table.source import read
from tclose.table.table_location import TableLocation

COLUMNS = ("release", "certificate")  # the name of the table of the release, and its certificate as JSON


def certificate_table_of(table: str) -> str:
    """The table that the certificate of a release is in, if no other is named.

    Examples
    --------
    >>> certificate_table_of("release"), certificate_table_of('public."my release"')
    ('release_certificate', 'public."my release_certificate"')
    """
    return f'{table[:-1]}_certificate"' if table.endswith('"') else f"{table}_certificate"


def read_database_certificate(release: TableLocation, table: str | None = None) -> dict[str, Any] | None:
    """The certificate of a release in a database; None if no table is named for it, and the usual one is not there.

    Raises
    ------
    TableError
        The table that is named is not there, or holds no certificate of this release.
    """
    if release.table is None and table is None:
        return None
    named = table or certificate_table_of(release.table or "")
    try:
        rows = read(TableLocation(release.place, format=release.format, table=named)).frame
    except TableError:
        if table is None:
            return None
        raise
    problem = (
        f"The table '{named}' holds no certificate of '{release.table}'. Name the one that does: --certificate-table."
    )
    if tuple(rows.columns) != COLUMNS:
        raise TableError(problem)
    for name, text in rows.iter_rows():
        if name == release.table or release.table is None:
            try:
                found = json.loads(text)
            except (ValueError, TypeError, RecursionError):
                break
            if isinstance(found, dict):
                return found
    raise TableError(problem)
