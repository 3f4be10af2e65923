"""URLs of databases: which there are, the file behind one, and how they are shown without a password."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_SCHEME = re.compile(r"(sqlite|postgres|postgresql)://", re.IGNORECASE)


def database_of(place: str) -> str | None:
    """Which kind of database a text is the URL of; None if it is no URL of one.

    Examples
    --------
    >>> database_of("postgres://host/people"), database_of("sqlite:///people.db"), database_of("people.csv")
    ('postgresql', 'sqlite', None)
    """
    found = _SCHEME.match(place)
    if found is None:
        return None
    return SQLITE if found.group(1).lower() == SQLITE else POSTGRESQL


def masked(url: str) -> str:
    """A URL without what may be a password: all before the last `@`, and all parameters.

    A password may hold any character, `/` and `?` too, where whoever wrote the URL did not escape it. Where the last
    `@` may be part of one, nothing is shown.

    Examples
    --------
    >>> masked("postgresql://ann:pa/ss@host/people?password=more"), masked("sqlite:///people.db")
    ('postgresql://***@host/people', 'sqlite:///people.db')
    >>> masked("postgresql://host:5432/people?password=pass@word")
    'postgresql://***'
    """
    scheme, mark, rest = url.partition("://")
    before, at, behind = rest.rpartition("@")
    if "?" in before:
        return f"{scheme}{mark}***"
    shown = behind.partition("?")[0].partition("#")[0]
    return f"{scheme}{mark}{'***@' if at else ''}{shown}"


def sqlite_file(url: str) -> Path:
    """The file behind the URL of an SQLite database: three slashes before a relative path, four before an absolute one.

    Examples
    --------
    >>> sqlite_file("sqlite:///people.db").as_posix(), sqlite_file("sqlite:////data/people.db").as_posix()
    ('people.db', '/data/people.db')
    """
    rest = url.partition("://")[2].partition("?")[0]
    return Path(unquote(rest.removeprefix("/")))


def quoted_name(name: str) -> str:
    """The name of a table in SQL: `schema.table`, each part in quotes; a part that is quoted already may hold points.

    Examples
    --------
    >>> quoted_name("public.people"), quoted_name('"a.b"'), quoted_name('odd"name')
    ('"public"."people"', '"a.b"', '"odd""name"')
    """
    return ".".join(map(quoted, name_parts(name)))


def quoted(name: str) -> str:
    """One name in SQL, whatever it holds.

    Examples
    --------
    >>> print(quoted('odd"name'))
    "odd""name"
    """
    return '"' + name.replace('"', '""') + '"'


def name_parts(name: str) -> list[str]:
    """The parts of the name of a table, without quotes.

    Examples
    --------
    >>> name_parts('public."a.b"')
    ['public', 'a.b']
    """
    parts = re.findall(r'"(?:[^"]|"")*"(?=\.|$)|[^.]+', name)
    return [part[1:-1].replace('""', '"') if re.fullmatch(r'".*"', part, re.DOTALL) else part for part in parts]
