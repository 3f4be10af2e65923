"""The state of a stream between two steps, and as bytes.

It holds raw rows and the seed: keep it as safe as the input.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.guarding import guarded
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.stream.envelope import pack, unpack
from tclose.stream.intake import CodedColumns, ReadTypes
from tclose.stream.items import Window
from tclose.table.class_distances import Distances
from tclose.table.coded import CodedColumn, as_enum

Integers = NDArray[np.int64]
OUR = ("\0number", "\0out", "\0kept")  # no column has such a name
COUNTS = ("released", "rejected", "withheld", "classes", "case_1", "case_2", "case_3")


@dataclass(frozen=True, eq=False)
class KeptClasses:
    """Classes kept back.

    Attributes
    ----------
    window
        The window they were formed for.
    distances
        How far each is from it, by attribute.
    """

    window: Window
    distances: dict[str, Distances]


@dataclass(frozen=True, eq=False)
class EngineState:
    """What an engine knows.

    Attributes
    ----------
    position
        How many rows were taken in.
    steps
        How often the window advanced.
    finished
        Whether the stream has ended.
    types
        The type of each column, in the order of the first batch.
    counts
        Rows by what became of them, classes, and how often each case was met.
    numbers, columns
        The rows at hand: their input numbers and values.
    out
        Which of them are out.
    labels, kept
        The class of each row whose class is kept back, else -1, and what is known of these classes.
    """

    position: int = 0
    steps: int = 0
    finished: bool = False
    types: ReadTypes = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    numbers: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: CodedColumns = field(default_factory=dict)
    out: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    labels: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    kept: KeptClasses | None = None

    def without_first(self, n_rows: int) -> EngineState:
        """The state when the first rows are forgotten, and all values that only they had."""
        rows = slice(n_rows, None)
        return replace(
            self,
            numbers=self.numbers[n_rows:],
            columns={name: column.take(rows) for name, column in self.columns.items()},
            out=self.out[n_rows:],
            labels=self.labels[n_rows:],
        )

    def counted(self, **more: int) -> dict[str, int]:
        """The counts with so much more."""
        return self.counts | {name: self.counts[name] + number for name, number in more.items()}


def pack_state(state: EngineState, settings: dict[str, Any], schema: Schema) -> bytes:
    """State and settings as bytes; the rows at hand are a part of their own, as Arrow."""
    told = {
        **{name: getattr(state, name) for name in ("position", "steps", "finished", "counts")},
        "settings": settings,
        "schema": schema_digest(schema),
        "types": list(state.types),
        "kept": None if state.kept is None else _kept_as_dict(state.kept),
    }
    file = io.BytesIO()
    columns = [as_enum(column.values).gather(column.codes).alias(name) for name, column in state.columns.items()]
    ours = [pl.Series(name, array) for name, array in zip(OUR, (state.numbers, state.out, state.labels), strict=True)]
    pl.DataFrame([*columns, *ours]).write_ipc(file)
    return pack(told, {"rows": file.getvalue()})


def unpack_state(data: bytes, schema: Schema) -> tuple[EngineState, dict[str, Any]]:
    """The inverse of `pack_state`.

    Raises
    ------
    TableError
        It is no checkpoint of this version, is damaged, or belongs to another schema.
    """
    told, parts = unpack(data)
    if told.get("schema") != schema_digest(schema):
        raise TableError("The checkpoint was made with another schema. Give the same, or begin a new stream.")
    return guarded("The checkpoint is damaged", lambda: _restored(told, parts), silent=True)


def _restored(told: dict[str, Any], parts: dict[str, bytes]) -> tuple[EngineState, dict[str, Any]]:
    frame = pl.read_ipc(io.BytesIO(parts["rows"]), use_pyarrow=False)
    columns = {name: CodedColumn.of(frame[name]) for name in frame.columns if name not in OUR}
    numbers, out, labels = (frame[name].to_numpy().copy() for name in OUR)
    state = EngineState(
        told["position"], told["steps"], told["finished"], {}, told["counts"], numbers, columns, out, labels,
        None if told["kept"] is None else _kept_from_dict(told["kept"]),
    )  # fmt: skip
    types = {name: columns[name].values.dtype for name in told["types"]}
    return replace(state, types=types), told["settings"]


def schema_digest(schema: Schema) -> str:
    """A digest of all that a schema says, hierarchies included, wherever they were read from."""
    columns = [vars(column) for column in (*schema.quasi, *schema.sensitive, *schema.joint)]
    keys = {name: value for name, value in vars(schema).items() if name not in ("quasi", "sensitive", "joint")}
    return hashlib.sha256(json.dumps([keys, columns], default=_told, sort_keys=True).encode()).hexdigest()


def _told(part: Any) -> Any:
    if isinstance(part, Hierarchy):
        return part.labels, part.parents.tolist()
    return (part.values, part.costs) if isinstance(part, CostMatrix) else repr(part)


def _kept_as_dict(kept: KeptClasses) -> dict[str, Any]:
    return {
        "window": kept.window.as_dict(),
        "distances": {
            name: {
                "a": [int(each) for each in found.a],
                "b": [int(each) for each in found.b],
                "sizes": found.sizes.tolist(),
                "n": found.n,
                "denominator": found.denominator,
                "floats": found.floats.tolist(),
            }
            for name, found in kept.distances.items()
        },
    }


def _kept_from_dict(told: dict[str, Any]) -> KeptClasses:
    distances = {}
    for name, each in told["distances"].items():
        a, b = (np.array(each[side], object) for side in "ab")
        sizes = np.array(each["sizes"], np.int64)
        distances[name] = Distances(a, b, sizes, each["n"], each["denominator"], np.array(each["floats"]))
    return KeptClasses(Window(**told["window"]), distances)
