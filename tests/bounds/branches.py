"""Tables made to reach every branch of the kernels, beside the awkward ones of the contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from tclose.algorithms.capabilities import Capabilities
from tclose.schema.schema import Schema
from tclose.testing import Case

LEVELS = {"build": "intervals", "widths": [5, 10, 30]}  # for methods that climb them
HALVES = {"low": {"least": ["0", "1"], "2": []}, "high": ["3", "4", "5"]}
IN_HALVES = {"distance": "hierarchical", "hierarchy": HALVES}
Asking = Callable[[Capabilities], dict[str, Any]]


def _size(can: Capabilities, n: int) -> int:
    """As many rows as wanted, or as few as a method takes that is for small tables."""
    return min(n, 14) if can.small_only else n


def _table(can: Capabilities, columns: dict[str, Any], k: int, ill: dict[str, Any] | None) -> tuple[pl.DataFrame, Any]:
    """All columns but `ill` are quasi-identifiers, numbers with levels; `ill` is one too where it is not sensitive."""
    frame = pl.DataFrame(columns)
    quasi: dict[str, Any] = {
        name: {"kind": "numeric", "hierarchy": LEVELS} if frame[name].dtype.is_numeric() else {"kind": "categorical"}
        for name in frame.columns
        if name != "ill" or ill is None
    }
    keys: dict[str, Any] = {"k": k, "quasi": quasi, "sensitive": {"ill": ill} if ill else {}}
    keys["recode"] = "generalize" if "generalize" in can.recodings else "suppress"
    return frame, Schema.from_dict(keys)


def _asked(can: Capabilities) -> dict[str, Any] | None:
    """A t where the method knows one, in a distance that it knows."""
    if "t" not in can.guarantees:
        return None
    return {"distance": "equal" if "equal" in can.distances else "ordered", "t": 0.3}


def _drawn(n: int, values: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, values, n)


def _nothing_sensitive(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    n = _size(can, 2400)
    return _table(can, {"a": _drawn(n, 2).astype(str), "b": _drawn(n, 2, 2).astype(str)}, 2, None)


def _undivided(can: Capabilities, ill: dict[str, Any] | None) -> tuple[pl.DataFrame, Schema]:
    """One row apart from all others: no cut has k rows on both sides."""
    n = _size(can, 1500)
    columns = {"a": np.where(np.arange(n) == 5, "x", "y"), "b": np.where(np.arange(n) == 7, 1, 2)}
    return _table(can, columns | ({"ill": _drawn(n, 3)} if ill else {}), 2, ill)


def _l_alone(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    n = _size(can, 1200)
    columns = {"a": _drawn(n, 3).astype(str), "b": _drawn(n, 40, 2), "ill": np.arange(n) % 3}
    return _table(can, columns, 2, {"distance": "equal", "l": {"frequency": 2}})


def _diverse(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """Distinct values and entropy that some cuts lack, one value being rare."""
    n = _size(can, 900)
    columns = {"a": _drawn(n, 3).astype(str), "b": _drawn(n, 40, 2), "ill": np.minimum(_drawn(n, 30, 3), 3)}
    return _table(can, columns, 2, {"distance": "equal", "l": {"distinct": 2, "entropy": 1.2}})


def _capped(can: Capabilities, **asked: Any) -> tuple[pl.DataFrame, Schema]:
    """Caps alone, on values or on nodes of a hierarchy: some cuts break them."""
    n = _size(can, 900)
    columns = {"a": _drawn(n, 3).astype(str), "b": _drawn(n, 40, 2), "ill": np.minimum(_drawn(n, 9, 3), 5).astype(str)}
    return _table(can, columns, 2, asked)


def _one_quasi(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    n = _size(can, 300)
    return _table(can, {"a": _drawn(n, 10_000), "ill": _drawn(n, 3, 2)}, 2, _asked(can))


def _one_value(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    n = _size(can, 40)
    return _table(can, {"a": [1] * n, "b": ["x"] * n, "ill": [3] * n}, 2, _asked(can))


def _equal_rows(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """The same in all that is released but for what is sensitive; a solver for small tables only counts them."""
    n = 200 if can.small_only else 1000
    return _table(can, {"a": [1] * n, "b": ["x"] * n, "ill": np.arange(n) % 2}, 2, _asked(can))


def _many_values(can: Capabilities, distance: str) -> tuple[pl.DataFrame, Schema]:
    """Of methods for small tables a tenth of them is asked: a solver's program grows with the square."""
    n, m = _size(can, 1000), 50 if can.small_only else 500
    ill: dict[str, Any] = {"distance": distance, "t": 0.4}
    values = [f"v{value:03}" for value in range(m)]
    if distance == "hierarchical":
        ill["hierarchy"] = {f"n{tens:02}": values[10 * tens : 10 * tens + 10] for tens in range(m // 10)}
    if distance == "ordered":
        ill["order"] = values
    columns = {"a": _drawn(n, 90), "b": _drawn(n, 4, 2).astype(str), "ill": [values[each % m] for each in range(n)]}
    return _table(can, columns, 2, ill)


def _many_quasi(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    n = _size(can, 60)
    columns: dict[str, Any] = {f"q{place}": _drawn(n, 2, place).astype(str) for place in range(300)}
    return _table(can, columns | {"ill": _drawn(n, 2)}, 2, _asked(can))


def _many_sensitive(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """More attributes than a word has bits, most of them easily met."""
    n = _size(can, 120)
    frame, schema = _table(can, {"a": _drawn(n, 30), "b": _drawn(n, 3, 2).astype(str)}, 2, None)
    names = [f"s{place}" for place in range(70)]
    sensitive: dict[str, Any] = {name: {"distance": "ordered", "t": 0.6} for name in names}
    frame = frame.with_columns(pl.Series(name, _drawn(n, 3, place)) for place, name in enumerate(names))
    return frame, Schema.from_dict(schema.as_dict() | {"sensitive": sensitive})


def _visits(can: Capabilities, **asked: Any) -> tuple[pl.DataFrame, Schema]:
    """Persons with several rows, on whom there are caps: some cuts break them, some lack persons."""
    frame, schema = _capped(can, **asked)
    keys = schema.as_dict() | {"k": 3, "unit": "who", "unit_rows": "all"}
    return frame.with_columns(who=pl.Series(_drawn(len(frame), len(frame) // 3, 4))), Schema.from_dict(keys)


def _limited(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """Widths, levels and weights that keep rows apart, single nodes that lose something, and rows to leave out."""
    n = _size(can, 900)
    columns = {
        "a": np.array(["0", "1", "2", "3", "4", "5"])[np.arange(n) % 6],
        "b": _drawn(n, 10, 2) + 40 * (np.arange(n) % 2),
        "ill": np.arange(n) // 6 % 3,
    }
    frame, schema = _table(can, columns, 2, _asked(can))
    keys = schema.as_dict()
    keys["quasi"]["a"] |= {"hierarchy": HALVES, "finest": 1, "coarsest": 2, "weight": 3}
    keys["quasi"]["b"] |= {"coarsest": 20, "weight": "1/2"}
    return frame, Schema.from_dict(keys | ({} if can.small_only else {"suppress_rows": 0.05}))


BRANCHES = (
    Case("nothing sensitive, four combinations", _nothing_sensitive),
    Case("nothing sensitive, one row apart", lambda can: _undivided(can, None)),
    Case("one row apart", lambda can: _undivided(can, _asked(can))),
    Case("l alone", _l_alone),
    Case("distinct values and entropy", _diverse),
    Case("caps on values", lambda can: _capped(can, distance="equal", rise=0.1, beta=2, enhanced=True)),
    Case("caps on nodes", lambda can: _capped(can, distance="hierarchical", hierarchy=HALVES, rise=0.1, levels=True)),
    Case("caps in persons", lambda can: _visits(can, distance="equal", rise=0.1, beta=2)),
    Case("caps in persons on nodes", lambda can: _visits(can, **IN_HALVES, rise=0.1, levels=True)),
    Case("limits and weights of columns", _limited),
    Case("one quasi-identifier", _one_quasi),
    Case("one value everywhere", _one_value),
    Case("a thousand equal rows", _equal_rows),
    Case("500 values in an order", lambda can: _many_values(can, "ordered")),
    Case("500 values, equal", lambda can: _many_values(can, "equal")),
    Case("500 values in a hierarchy", lambda can: _many_values(can, "hierarchical")),
    Case("300 quasi-identifiers", _many_quasi),
    Case("70 sensitive attributes", _many_sensitive),
)
