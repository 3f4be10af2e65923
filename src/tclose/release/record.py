"""The record of a release: for whoever releases, never to be published."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tclose.release.atomic import PRIVATE, write_whole


@dataclass(frozen=True)
class Record:
    """What whoever releases should keep about a release, and never publish.

    Attributes
    ----------
    seed
        What the method's random choices came from.
    input_sha256
        The digest of the input: of the bytes of a file, or of a dataframe.
    input_columns
        A digest of each quasi-identifier and sensitive attribute, whatever the order of the rows and the form of the
        table.
    run
        A random name that all records of one release have in common.
    input_rows, dropped_rows
        Rows read, and rows left out for missing values.
    unpicked_rows
        Rows left out because another row of the same person was picked (`unit_rows = "one"`).
    left_out_rows
        Rows left out because that saves most (`suppress_rows`).
    method
        The name of the method that formed the classes.
    seconds
        Time by stage.
    notes
        What else the method found.
    persons
        Where the schema has a unit: how many persons the smallest class has, and how far shares of persons rise.
    loss
        The loss of the release, measured with the original at hand.
    bound
        For a small table: what any release loses at least (`loss_at_least`), and by what share this one lies above it
        (`above`; None where the bound is 0 and the loss is not).
    objective
        What was optimized.
    facts
        What the method says of its run: a proven bound and by what it is proven, the levels it chose, that it was
        stopped early.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method="mondrian", seed=1)
    >>> release.record.seed, release.record.input_rows, release.record.dropped_rows, round(release.record.loss, 3)
    (1, 6, 0, 0.048)
    """

    seed: int
    input_sha256: str
    input_rows: int
    dropped_rows: int
    method: str
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    input_columns: dict[str, str] = field(default_factory=dict)
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    unpicked_rows: int = 0
    left_out_rows: int = 0
    persons: dict[str, Any] = field(default_factory=dict)
    loss: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    objective: str = "loss"
    bound: dict[str, float | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it; the notes stand beside the rest."""
        told = {name: value for name, value in vars(self).items() if name != "notes"}
        seconds = {stage: round(spent, 6) for stage, spent in self.seconds.items()}
        return {**told, "seconds": seconds, **self.notes}

    def with_seconds(self, **seconds: float) -> Record:
        """The same with more time spent at some stages."""
        return replace(
            self, seconds={**self.seconds, **{at: self.seconds.get(at, 0.0) + s for at, s in seconds.items()}}
        )

    def as_json(self) -> str:
        """As its file holds it."""
        return json.dumps(self.as_dict(), indent=2) + "\n"

    def write(self, path: Path | str) -> None:
        """Write it as JSON that only its owner can read."""
        write_whole(Path(path), self.as_json().encode(), PRIVATE)
