"""Tables on the terminal: parted where they do not fit, and every cell whole."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from tclose.cli.fitted_tables import parts_that_fit, print_table
from tests.seeds import for_seeds

ROWS = [["sabre-ak search_budget=True*", "100", "0.075", "0.1234", "1,234%", "54.5", "14.3%", "1,234,567", "12,345"]]
HEADINGS = ("method", "k", "t", "loss", "queries", "rise", "risk", "classes", "s")


def printed(width: int, *, n_keys: int = 1, rows: list[list[str]] = ROWS, headings: tuple[str, ...] = HEADINGS) -> str:
    out = io.StringIO()
    print_table(Console(file=out, width=width), headings, rows, n_keys=n_keys)
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_cell_is_whole(width: int) -> None:
    told = printed(width)
    assert "…" not in told
    assert all(len(line) <= width for line in told.split("\n"))
    assert all(cell in told for cell in (*ROWS[0][1:], *HEADINGS))


def test_it_is_parted_only_where_it_must_be() -> None:
    assert printed(120).count("method") == 1
    assert printed(60).count("method") > 1


def test_a_name_longer_than_the_terminal_is_broken_and_not_cut() -> None:
    name = "a_column_with_a_name_" * 5
    told = printed(60, rows=[[name, "0.1234"]], headings=("sensitive", "t"))
    assert "".join(line.split()[0] for line in told.split("\n") if "a_" in line or "name" in line).startswith(name[:50])
    assert "0.1234" in told
    assert "…" not in told
    last = printed(60, rows=[["x", name]], headings=("t", "mark"))
    assert "".join(last.split()).count("a_column_with_a_name_") == 5


@for_seeds(30)
def test_parts_hold_every_column_once_and_are_as_wide_as_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    widths = [int(each) for each in rng.integers(1, 15, int(rng.integers(2, 12)))]
    n_keys, room = int(rng.integers(1, min(3, len(widths)))), int(rng.integers(20, 90))
    parts = parts_that_fit(widths, n_keys, room)
    keys = list(range(n_keys))
    assert [place for part in parts for place in part[n_keys:]] == list(range(n_keys, len(widths)))
    assert all(part[:n_keys] == keys for part in parts)

    def wide(part: list[int]) -> int:
        return sum(widths[place] for place in part) + 2 * len(part) + 1

    assert all(wide(part) <= room for part in parts if len(part) > n_keys + 1)
    for part, after in pairwise(parts):
        assert wide([*part, after[n_keys]]) > room
