"""Column names that can be told apart, and messages about them that quote no cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tclose.errors import TableError

MOST_SHOWN, LONGEST = 20, 100


def check_names(names: Sequence[Any]) -> None:
    """Every column has a name of its own, and that is text.

    A CSV file without a header has its first row for names, so that names which may be cells are told by their place.

    Examples
    --------
    >>> check_names(["a", "b", "a"])
    Traceback (most recent call last):
        ...
    tclose.errors.TableError: Columns 1 and 3 of the table have the same name. Rename one; in a CSV file, the first \
line must be a header.
    """
    if not names:
        raise TableError("The table has no columns.")
    if not all(isinstance(name, str) for name in names):
        raise TableError("Some column names are not text. Rename the columns to text first.")
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name:
            raise TableError(f"Column {place} has no name. Name it, or take it out.")
        first = places.setdefault(name, place)
        if first != place:
            raise TableError(
                f"Columns {first} and {place} of the table have the same name. Rename one; in a CSV file, the first "
                "line must be a header."
            )


def listed(names: Sequence[str], most: int = MOST_SHOWN) -> str:
    """Some names for a message, none of them at great length.

    Examples
    --------
    >>> listed(["age", "zip", "job"], most=2)
    "'age', 'zip' and 1 more"
    """
    shown = ", ".join(f"'{name if len(name) <= LONGEST else name[:LONGEST] + '...'}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def numbered(places: Sequence[int], most: int = MOST_SHOWN) -> str:
    """Some columns for a message, by their places, which count from 0 here and from 1 there.

    Examples
    --------
    >>> numbered([0, 4]), numbered([2])
    ('columns 1, 5', 'column 3')
    """
    shown = ", ".join(str(place + 1) for place in places[:most])
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return f"column{'s' if len(places) > 1 else ''} {shown}{more}"
