"""Certificates of a history that lie beside its releases: whether one is of a release that its state does not know.

A certificate has the number of its release, the digest of the certificate before, and that of the first one. So even
one whose predecessors are gone is known to be of the same history.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tclose.errors import EarlierReleaseWarning, TableError
from tclose.history.history_state import HistoryState

CERTIFICATES = "*.certificate.json"
LARGEST_CERTIFICATE = 1 << 24  # bytes
KEEP = "what follows on this one would not keep what that release promised."


def link_of(state: HistoryState) -> dict[str, Any]:
    """What the certificate of the next release says of its history.

    Examples
    --------
    >>> link_of(HistoryState.empty())
    {'number': 1, 'before': None, 'first': None}
    """
    before, first = (state.releases[place].certificate_sha256 if state.number else None for place in (-1, 0))
    return {"number": state.number + 1, "before": before, "first": first}


def check_chain(state: HistoryState, name: str, folders: Iterable[Path]) -> None:
    """Refuse a state if a certificate is of a release of this history which the state does not know.

    Parameters
    ----------
    name
        What the history is called.
    folders
        Where certificates are looked for.

    Raises
    ------
    TableError
        The message names the certificate.
    """
    if not state.number:
        return
    known = {each.certificate_sha256 for each in state.releases}
    for path, told in _certificates(folders):
        link = _link(told)
        number = link.get("number")
        before = link.get("before")
        is_own = link.get("first") == state.releases[0].certificate_sha256
        is_own = is_own or (isinstance(before, str) and before in known)
        if not is_own or not isinstance(number, int):
            continue
        if number > state.number:
            raise TableError(
                f"The state of the history '{name}' is older than '{path.name}', the certificate of its release "
                f"{number}. Put the state back as it was written with that release: {KEEP}"
            )
        if number < 1 or told.get("sha256") != state.releases[number - 1].certificate.get("sha256"):
            raise TableError(
                f"'{path.name}' is the certificate of another release {number} than the one which the history '{name}' "
                f"knows. Put back the state that knows it: {KEEP} If both were published, no state knows both, and the "
                "table must not be released again."
            )


def warn_of_lost(folder: Path, certificate: dict[str, Any], stacklevel: int) -> None:
    """Warn if certificates beside that of a first release are of a history of such a table: that one may be lost."""
    for path, told in _certificates([folder]):
        if _link(told) and told.get("columns") == certificate["columns"]:
            warnings.warn(
                f"'{path.name}' is of a history of a table with the same columns. If that is this table, continue that "
                "history: a new one does not know what was released.",
                EarlierReleaseWarning,
                stacklevel=stacklevel + 1,
            )
            return


def _certificates(folders: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """All certificates in some folders that can be read, with their fields."""
    for folder in folders:
        for path in sorted(folder.glob(CERTIFICATES)) if folder.is_dir() else ():
            try:
                if not path.is_file() or path.stat().st_size > LARGEST_CERTIFICATE:
                    continue  # a pipe would never end
                told = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(told, dict):
                yield path, told


def _link(told: dict[str, Any]) -> dict[str, Any]:
    """What a certificate says of its history; nothing if it has none."""
    found = told.get("history")
    return found if isinstance(found, dict) else {}
