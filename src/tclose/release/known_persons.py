"""Persons as keyed hashes: a history knows whom it released, and names nobody.

The key is a file of its own beside the state of the history. Without it a hash can neither be made nor looked up.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tclose.errors import EarlierReleaseWarning, TableError
from tclose.release.atomic import PRIVATE, write_whole
from tclose.schema.schema import Schema
from tclose.table.reading import clean, texts
from tclose.table.source import Source

KEY, KNOWN = "key", "known"  # files of a history
KEY_BYTES, HASH_BYTES = 32, 16


def is_history(folder: Path) -> bool:
    """Whether a folder is that of a history."""
    return (folder / KEY).is_file() and (folder / KNOWN).is_file()


def make_key(folder: Path) -> bytes:
    """A new key from the operating system's entropy, written for its owner alone."""
    key = secrets.token_bytes(KEY_BYTES)
    write_whole(folder / KEY, key, PRIVATE)
    return key


def read_key(folder: Path) -> bytes:
    """The key of a history.

    Raises
    ------
    TableError
        It is gone or damaged: nobody could be recognized any more.
    """
    try:
        key = (folder / KEY).read_bytes()
    except OSError:
        key = b""
    if len(key) != KEY_BYTES:
        raise TableError(
            f"The history '{folder.name}' has no key, by which it knows whom it released. Put the file '{KEY}' back."
        )
    return key


def hash_units(units: pl.Series, missing_values: tuple[str, ...], key: bytes) -> pl.Series:
    """A keyed hash of each unit, as text: the same for 7 and "7", whatever file it comes from.

    Raises
    ------
    TableError
        A row does not say whom it is about.

    Examples
    --------
    >>> numbers, written = (hash_units(pl.Series("who", units), (), b"k" * 32) for units in ([7, 8], ["7", "9"]))
    >>> (numbers == written).to_list()
    [True, False]
    """
    named = texts(clean(units, missing_values, numeric=False))
    if named.null_count():
        raise TableError(f"Column '{units.name}' is the unit, and is missing in {named.null_count()} rows.")
    hashes = [hashlib.blake2b(each.encode(), key=key, digest_size=HASH_BYTES).hexdigest() for each in named]
    return pl.Series(units.name, hashes, dtype=pl.String)


def write_known(folder: Path, hashes: Iterable[str]) -> None:
    """Write down who is known; the caller holds the lock of the folder."""
    write_whole(folder / KNOWN, "".join(f"{each}\n" for each in sorted(hashes)).encode(), PRIVATE, alone=True)


def warn_of_known_persons(source: Source, schema: Schema, folders: Iterable[Path], stacklevel: int = 2) -> None:
    """Warn if a history knows persons of a table, which a release without the history would put at risk."""
    for folder in folders:
        if schema.unit is None or schema.unit not in source.names:
            said = "knows persons by their unit, and the schema names none, so nothing was compared"
        else:
            known = set((folder / KNOWN).read_text(encoding="ascii").split())
            hashes = hash_units(source.column(schema.unit), schema.missing_values, read_key(folder)).unique()
            n_known = sum(each in known for each in hashes)
            if not n_known:
                continue
            said = (
                f"knows {n_known:,} of the {len(hashes):,} persons of this table: whoever has a release of that "
                "history and this one can intersect their classes. Use `tclose republish` with the history instead"
            )
        warnings.warn(f"The history '{folder.name}' {said}.", EarlierReleaseWarning, stacklevel=stacklevel + 1)
