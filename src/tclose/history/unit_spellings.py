"""Persons who seem to be new because their unit is written in another way: they would be released under two names."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator

import polars as pl

from tclose.errors import EarlierReleaseWarning
from tclose.history.person_changes import PersonChanges
from tclose.release.known_persons import HASH_BYTES
from tclose.table.reading import texts

MOST_TRIED = 20_000  # new persons whose unit is written in other ways
ENOUGH = 20  # persons from which on it is strange that most of them are gone
LONGEST = 12  # digits that a number is filled up to


def warn_of_other_spellings(changes: PersonChanges, units: pl.Series, key: bytes, stacklevel: int = 2) -> None:
    """Warn if persons who are gone seem to be among the new ones, or if most are gone and about as many are new.

    Parameters
    ----------
    changes
        What became of everybody.
    units
        The units of the persons who are new.
    key
        By which units are hashed.
    """
    n_gone, n_released = int(changes.deleted.sum()), int((changes.deleted | (changes.row_of >= 0)).sum())
    if not n_gone or not len(units):
        return
    gone = set(changes.state.hashes.filter(pl.Series(changes.deleted)))
    same = sum(any(_hashed(each, key) in gone for each in spellings(unit)) for unit in texts(units.head(MOST_TRIED)))
    if same:
        told = (
            f"{same:,} persons who are new have a '{units.name}' that differs only by leading zeros, case or blanks "
            f"from that of one of the {n_gone:,} who are gone."
        )
    elif n_released >= ENOUGH and 2 * n_gone > n_released and 2 * len(units) >= n_gone:
        told = f"Of {n_released:,} persons of the history {n_gone:,} are gone, and {len(units):,} are new."
    else:
        return
    warnings.warn(
        f"{told} If '{units.name}' is written in another way than before, write it as before: whoever is taken for a "
        "new person is released under two names, and no promise holds for the two together.",
        EarlierReleaseWarning,
        stacklevel=stacklevel + 1,
    )


def spellings(unit: str) -> Iterator[str]:
    """Other ways in which programs write the same unit.

    Examples
    --------
    >>> list(spellings(" a07"))[:3], "0012" in spellings("12"), "12" in spellings("0012"), "12" in spellings("12.0")
    (['a07', ' A07'], True, True, True)
    """
    plain = unit.strip()
    found = [plain, unit.lower(), unit.upper(), plain.removesuffix(".0"), plain.lstrip("0") or "0"]
    if plain.isascii() and plain.isdigit():
        found += [f"{plain}.0", *(plain.zfill(length) for length in range(len(plain) + 1, LONGEST + 1))]
    yield from (each for each in dict.fromkeys(found) if each and each != unit)


def _hashed(unit: str, key: bytes) -> str:
    return hashlib.blake2b(unit.encode(), key=key, digest_size=HASH_BYTES).hexdigest()
