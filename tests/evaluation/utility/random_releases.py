"""Random tables of every kind, in random classes, released as text; beside them what the oracles need to know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from tclose.evaluation.utility.reading_back import ReadBack, read_release
from tclose.release.recode import recode
from tclose.schema.schema import Schema
from tclose.table.axes import SpanAxis, TreeAxis
from tclose.table.encode import encode
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import read
from tests.oracles.utility import Value, spread
from tests.release.test_recode import KINDS, random_table

ILL = ["cold", "flu", "gout"]
LIMITS = {"pay": (-15, 25), "seen": (date(2000, 2, 1), date(2000, 11, 15))}


@dataclass(frozen=True, eq=False)
class Case:
    """A release as the package reads it, and the same as raw values.

    `before` and `after` are those of `tests.oracles.utility`; `points` and `cells` are the same with the values of
    a tail where it begins, spread over all cells. `numeric` are the lines of numbers, by their least cell. All are
    in the order of the original; `kept` are the rows that are released.
    """

    read: ReadBack
    before: list[dict[str, Value]]
    after: list[dict[str, frozenset[Value]]]
    points: list[dict[str, Value]]
    cells: list[dict[str, frozenset[Value]]]
    domains: dict[str, frozenset[Value]]
    numeric: dict[str, int]
    shown: list[tuple[Any, ...]]
    ill: list[str]
    kept: list[int]
    loss: float

    @property
    def lines(self) -> list[str]:
        return list(self.domains)


@cache
def random_case(seed: int, missing: float = 0.1, names: Sequence[str] = tuple(KINDS), dropped: bool = False) -> Case:
    columns, labels = random_table(seed, missing)
    rng = np.random.default_rng(seed + 1000)
    n = len(labels)
    table = {name: columns[name] for name in names} | {"ill": rng.choice(ILL, n).tolist()}
    schema = Schema.from_dict(
        {
            "k": 1,
            "missing": "category",
            "quasi": {name: KINDS[name][0] for name in names},
            "sensitive": {"ill": {"distance": "ordered", "order": ILL, "t": 1}},
        }
    )
    source = read(pl.DataFrame(table))
    partition = Partition.of(np.array(labels))
    encoded = encode(source, schema)
    frame = recode(encoded, partition, source, select_rows(source, schema)[0], schema).cast(pl.String)
    kept = sorted(rng.permutation(n)[: max(n - int(rng.integers(0, 5)), 1)].tolist()) if dropped else list(range(n))
    order = rng.permutation(kept)
    found = read_release(pl.DataFrame(table), frame[order], schema)
    before: list[dict[str, Value]] = [{} for _ in range(n)]
    after: list[dict[str, frozenset[Value]]] = [{} for _ in range(n)]
    domains: dict[str, frozenset[Value]] = {}
    numeric: dict[str, int] = {}
    clips: dict[str, Callable[[Value], Value]] = {}
    for axis in found.table.axes:
        position = axis.position if isinstance(axis, TreeAxis) else None
        line = axis.column if position is None else f"{axis.column} {position}"
        value, covers = _raw(axis, columns[axis.column])
        known = [value(text) for text in columns[axis.column]]
        leaves = [axis.hierarchy.labels[node] for node in axis.leaves] if isinstance(axis, TreeAxis) else []
        domains[line] = frozenset(known) | frozenset(leaves)
        clips[line] = _clip(axis)
        if isinstance(axis, SpanAxis):
            numeric[line] = min((n for n in map(clips[line], domains[line]) if isinstance(n, int)), default=0)
        texts = set(columns[axis.column]) | set(leaves if position is None else ())
        for row, told in enumerate(frame[axis.column].to_list()):
            before[row][line] = known[row]
            if told is None:
                after[row][line] = frozenset([None])
            elif covers is None:
                assert position is not None
                char = "*" if told == "*" else told[position]
                after[row][line] = domains[line] if char == "*" else frozenset([char])
            elif told == "*":
                after[row][line] = domains[line]
            else:
                after[row][line] = frozenset(value(text) for text in texts if text and covers(told, text))
    inner = {line: frozenset(map(clips[line], domain)) for line, domain in domains.items()}
    points = [{line: clips[line](value) for line, value in row.items()} for row in before]
    cells = [
        {line: spread(frozenset(map(clips[line], c)), line in numeric, inner[line]) for line, c in row.items()}
        for row in after
    ]
    shown = [tuple(row) for row in frame.drop("ill").rows()]
    loss = encoded.loss(partition.labels)
    return Case(found, before, after, points, cells, domains, numeric, shown, table["ill"], kept, loss)


def _raw(axis: Any, column: list[str]) -> tuple[Callable[[str], Value], Callable[[str, str], bool] | None]:
    """How a text is a value of this line, and whether a label covers a text."""
    covers = KINDS[axis.column][1]
    if isinstance(axis, SpanAxis):

        def number(text: str) -> Value:
            return _number(axis, date.fromisoformat(text) if axis.dates else Decimal(text)) if text else None

        return number, covers
    if axis.position is not None:
        return (lambda text: text[axis.position] if text else None), None
    return (lambda text: text or None), covers


def _number(axis: SpanAxis, given: Any) -> int:
    return given.toordinal() if axis.dates else int(given * 10**axis.decimals)


def _clip(axis: Any) -> Callable[[Value], Value]:
    """The values of a tail lie where it begins."""
    limits = LIMITS.get(axis.column)
    if limits is None:
        return lambda value: value
    low, high = (_number(axis, limit) for limit in limits)
    return lambda value: min(max(value, low), high) if isinstance(value, int) else value
