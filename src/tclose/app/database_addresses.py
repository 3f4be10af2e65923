"""Addresses of databases as a person gives them: put together with user and password, and kept without the latter."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode

from tclose.app.texts import said
from tclose.errors import TableError
from tclose.table.formats.database_urls import masked

_ADDRESS = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^@/?#\s]*))?@)?"
    r"(?P<host>[^@/?#\s]*)(?P<path>/[^@?#\s]*)?(?:\?(?P<parameters>[^@#\s]*))?",
    re.IGNORECASE,
)
HARMLESS = (
    "host",
    "port",
    "dbname",
    "user",
    "sslmode",
    "sslrootcert",
    "connect_timeout",
)  # parameters that are kept: none of them is a secret


SECONDS_TO_CONNECT = 10  # a host that does not answer would keep the app busy for minutes


def with_user(address: str, user: str, password: str) -> str:
    """An address of PostgreSQL with the user and the password that were given beside it.

    Raises
    ------
    TableError
        It is no such address; the message quotes nothing of it.

    Examples
    --------
    >>> with_user("postgresql://host/clinic", "ann", "a@b")
    'postgresql://ann:a%40b@host/clinic?connect_timeout=10'
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise TableError(said("address"))
    name = user or unquote(found["user"] or "")
    secret = password or unquote(found["password"] or "")
    if secret and not name:
        raise TableError(said("password_alone"))
    who = quote(name, safe="") + (f":{quote(secret, safe='')}" if secret else "")
    given = found["parameters"] or ""
    waits = "" if "connect_timeout=" in given else f"connect_timeout={SECONDS_TO_CONNECT}"
    rest = "?" + "&".join(part for part in (given, waits) if part)
    return f"{found['scheme']}{who + '@' if who else ''}{found['host']}{found['path'] or ''}{rest}"


def without_password(url: str) -> str:
    """The same without a password and without parameters that may hold one; what cannot be told apart is masked.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/clinic?sslmode=require&password=more")
    'postgresql://ann@host/clinic?sslmode=require'
    """
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return masked(url)
    kept = [pair for pair in parse_qsl(found["parameters"] or "") if pair[0].lower() in HARMLESS]
    rest = f"?{urlencode(kept)}" if kept else ""
    return f"{found['scheme']}{found['user'] + '@' if found['user'] else ''}{found['host']}{found['path'] or ''}{rest}"
