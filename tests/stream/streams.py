"""Small streams of every temper, and a method that the oracle shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.stream import Checker, Engine, Outcome, Released
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition
from tests.oracles.stream import Row, halves

TEMPERS = ("even", "plateaus", "constant", "plateaus", "drifting", "plateaus", "alternating", "plateaus")


@dataclass(frozen=True)
class Halves:
    """The oracle's partition as a method."""

    name: ClassVar[str] = "halves"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="cut in two",
        paper="none",
        distances=frozenset({"ordered"}),
        guarantees=frozenset({"k", "t"}),
    )

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        rows: list[Row] = [tuple(row) for row in np.stack(table.codes, axis=1).tolist()]
        budgets = [attribute.t or Fraction(0) for attribute in requirement.attributes]
        sizes = [attribute.domain.size for attribute in requirement.attributes]
        labels = np.zeros(len(rows), np.int64)
        for label, group in enumerate(halves(rows, budgets, requirement.k, sizes)):
            labels[group] = label
        return Partition(labels)


def schema_of(ts: list[str], k: int = 2, values: int = 4, **keys: Any) -> Schema:
    """An age, and as many sensitive attributes with so many ordered values as there are thresholds."""
    sensitive = {
        f"s{place}": {"distance": "ordered", "order": [str(value) for value in range(values)], "t": float(t)}
        for place, t in enumerate(ts)
    }
    keys = {"quasi": {"age": {"kind": "numeric"}}, "sensitive": sensitive} | keys
    return Schema.from_dict({"k": k, **keys})


def rows_of(rng: np.random.Generator, temper: str, n: int, values: int, n_attributes: int) -> list[Row]:
    """Sensitive values that stay, wander or jump."""
    columns = []
    for _ in range(n_attributes):
        where = np.arange(n) / max(n, 1)
        if temper == "even":
            centre = np.full(n, (values - 1) / 2)
        elif temper == "constant":
            columns.append(np.full(n, int(rng.integers(values))))
            continue
        elif temper == "drifting":
            centre = where * (values - 1)
        elif temper == "alternating":
            centre = (np.arange(n) // int(rng.integers(3, 30)) % 2) * (values - 1)
        else:  # one value for a while, then another: what is kept back is then unlike what comes
            lengths = rng.integers(10, 50, n // 10 + 1)
            columns.append(np.repeat(rng.integers(0, values, len(lengths)), lengths)[:n])
            continue
        spread = rng.choice([0.1, 0.5, 1.5])
        columns.append(np.clip(np.rint(centre + rng.normal(0, spread, n)), 0, values - 1).astype(int))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def frame_of(rows: Sequence[Row], rng: np.random.Generator) -> pl.DataFrame:
    """The rows with an age each."""
    columns: dict[str, Any] = {"age": rng.integers(18, 90, len(rows)).tolist()}
    for place in range(len(rows[0]) if rows else 1):
        columns[f"s{place}"] = [row[place] for row in rows]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


def run(engine: Engine, frame: Any, batch: int | None = None) -> list[Outcome]:
    """All outcomes, the end included."""
    pieces = [frame[start : start + batch] for start in range(0, len(frame), batch)] if batch else [frame]
    outcomes = [outcome for piece in pieces for outcome in engine.feed(piece)]
    return [*outcomes, *engine.finish()]


def released(outcomes: list[Outcome]) -> list[Released]:
    return [each for outcome in outcomes for each in outcome.released]


def told(outcomes: list[Outcome]) -> list[Any]:
    """All that came out, to be compared."""
    result: list[Any] = []
    for outcome in outcomes:
        for each in outcome.released:
            certificates = [each.certificate(place) for place in range(len(each))]
            result.append((each.frame.rows(), each.numbers.tolist(), each.classes.tolist(), certificates))
        result += [(each.numbers.tolist(), each.column, each.reason) for each in outcome.rejected]
        result += [(each.numbers.tolist(), each.reason) for each in outcome.withheld]
    return result


def passed(schema: Schema, given: Any, window: int, outcomes: list[Outcome]) -> dict[str, int]:
    """What the checker counts of a stream that it accepts."""
    checker = Checker(schema, window)
    checker.take_in(given)
    for outcome in outcomes:
        checker.check(outcome)
    return checker.finish()
