"""Tables that fit the terminal: where the columns do not stand side by side, they are parted, and no cell is cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

LEAST = 10  # letters of a name before it is broken into lines


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_keys: int = 1,
    n_words: int = 1,
    caption: str = "",
) -> None:
    """Print a table as wide as the terminal allows.

    Parameters
    ----------
    console
        Where to; its width counts.
    headings, rows
        Of each column, and the cells of each row, which may have markup.
    n_keys
        The first columns say what a row is, and stand in every part.
    n_words
        The first columns hold words and stand at the left; the others numbers, at the right.
    caption
        Sentences below.
    """
    widths = [max(map(_width, column)) for column in zip(headings, *rows, strict=True)]
    first = min(widths[0], max(console.width // 2, LEAST))
    for part in parts_that_fit([first, *widths[1:]], n_keys, console.width):
        table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
        too_wide = _whole(part, [first, *widths[1:]]) > console.width
        for place in part:
            broken = place == 0 and first < widths[0]
            table.add_column(
                headings[place],
                justify="left" if place < n_words else "right",
                no_wrap=not (broken or too_wide),
                overflow="fold",
                width=first if broken else None,
            )
        for row in rows:
            table.add_row(*(row[place] for place in part))
        console.print(table)
    if caption:
        console.print(f"[italic dim]{caption}[/italic dim]", highlight=False)


def parts_that_fit(widths: Sequence[int], n_keys: int, room: int) -> list[list[int]]:
    """Which columns stand side by side: as many as there is room for, after those that are in every part.

    A column that finds no room even alone has a part of its own.

    Examples
    --------
    >>> parts_that_fit([6, 4, 4, 4], n_keys=1, room=24)
    [[0, 1, 2], [0, 3]]
    """
    keys = list(range(n_keys))
    parts = [list(keys)]
    for place in range(n_keys, len(widths)):
        if len(parts[-1]) > n_keys and _whole([*parts[-1], place], widths) > room:
            parts.append(list(keys))
        parts[-1].append(place)
    return parts


def _whole(part: Sequence[int], widths: Sequence[int]) -> int:
    """The width of a table with these columns: a space after each cell, one between two, and one at either edge."""
    return sum(widths[place] for place in part) + 2 * len(part) + 1


def _width(cell: str) -> int:
    return Text.from_markup(cell).cell_len
