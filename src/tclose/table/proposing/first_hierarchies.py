"""Hierarchies where none is given: intervals at round numbers, beginnings, the calendar, and rare values together."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from tclose.schema.builders import plain
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.reading import texts

COMMON = 0.1  # the share of rows from which on a value stands for itself
FEWEST = 4  # values below which there is nothing to group
OTHER = "other"
WIDENINGS = (2, 4, 8, 16)  # of a step


def built(evidence: Evidence, keys: Mapping[str, Any]) -> dict[str, Any] | None:
    """A hierarchy that a schema can name in a line: for numbers, dates and codes; None for others.

    Numbers climb through wider and wider intervals of their step; codes lose their last characters, two at a time.
    """
    assert evidence.coded is not None
    if keys["kind"] == "numeric":
        return {"build": "intervals", "widths": _widths(evidence, keys.get("step"))}
    if keys["kind"] == "date":
        return {"build": "dates", "levels": ["month", "quarter", "year"]}
    if keys["kind"] == "text":
        longest = int(texts(evidence.coded.values).str.len_chars().max() or 0)  # type: ignore[arg-type]
        lengths = list(range(longest - 1, 0, -1 if longest <= 5 else -2))
        return {"build": "prefixes", "lengths": lengths} if lengths else None
    return None


def _widths(evidence: Evidence, step: Any) -> list[Any]:
    numbers = evidence.numbers[np.isfinite(evidence.numbers)]
    span = float(numbers.max() - numbers.min()) if len(numbers) else 0.0
    first = Decimal(str(step)) if step else Decimal(1)
    widths = [first * factor for factor in WIDENINGS if float(first * factor) < span] or [first * 2]
    return [int(width) if width == int(width) else Decimal(plain(width)) for width in widths]


def grouped(evidence: Evidence) -> str | None:
    """The lines `value;group;*` of a flat column: frequent values by themselves, rare ones under one label.

    A class of rare values alone is then released as that label, and not as `*`. Where no value is frequent, each is a
    group of its own, for a person to join. None where there is nothing to group.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.table.source import Source
    >>> column = pl.Series("job", ["cook"] * 9 + ["smith"] * 8 + ["monk", "spy"])
    >>> print(grouped(Evidence.of(Source.of(column.to_frame()), column, ())), end="")
    cook;cook;*
    smith;smith;*
    monk;other;*
    spy;other;*
    """
    assert evidence.coded is not None
    labels = texts(evidence.coded.values.drop_nulls()).to_list()
    counts = evidence.coded.counts[: len(labels)]
    rare = {label for label, count in zip(labels, counts.tolist(), strict=True) if count < COMMON * evidence.n_filled}
    if len(labels) < FEWEST or "" in labels:
        return None
    rare = rare if 1 < len(rare) < len(labels) else set()
    other = next(
        name for name in (OTHER, f"({OTHER})", *(f"{OTHER} {n}" for n in range(len(labels)))) if name not in labels
    )
    order = sorted(range(len(labels)), key=lambda place: (-int(counts[place]), labels[place]))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    writer.writerows([labels[place], other if labels[place] in rare else labels[place], "*"] for place in order)
    return text.getvalue()


def file_name(column: str, taken: set[str]) -> str:
    """A name for the file of a column that every system takes, and no other column has."""
    plain_name = re.sub(r"[^\w-]+", "_", column).strip("_")[:80] or "column"
    name, number = f"{plain_name}.csv", 2
    while name.casefold() in taken:
        name, number = f"{plain_name}_{number}.csv", number + 1
    taken.add(name.casefold())
    return name
