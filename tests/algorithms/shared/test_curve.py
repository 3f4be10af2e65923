"""Hilbert keys against a recursion on points."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.shared import curve_loops as hilbert
from tclose.algorithms.shared.curve import _steps, hilbert_keys, key_bits
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tests.oracles.sabre import hilbert_key


def words_of(points: np.ndarray[Any, np.dtype[np.int64]], bits: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    words = np.zeros(len(points), np.int64)
    for axis in range(points.shape[1]):
        for bit in range(bits):
            words |= (points[:, axis] >> bit & 1) << (bit * points.shape[1] + axis)
    return words


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_axes", [1, 2, 3, 5, 7, 8, 11])
def test_both_kernels_give_the_key_of_the_recursion(n_axes: int, compiled: bool) -> None:
    bits = min(63 // n_axes, 6)
    points = np.random.default_rng(n_axes).integers(0, 2**bits, (80, n_axes))
    expected = [hilbert_key(tuple(point), bits) for point in points.tolist()]
    by_table: Any = hilbert.keys_by_table if compiled else getattr(hilbert.keys_by_table, "py_func", None)
    words = words_of(points, bits)
    if n_axes <= 7:
        by_table(words, n_axes, bits, _steps(n_axes))
        assert words.tolist() == expected
    words = words_of(points, bits)
    arithmetic: Any = hilbert.keys_by_arithmetic
    (arithmetic if compiled else arithmetic.py_func)(words, n_axes, bits)
    assert words.tolist() == expected


def table_of(n_columns: int, rows: int, values: int, missing: bool = False) -> EncodedTable:
    rng = np.random.default_rng(n_columns)
    columns: dict[str, list[Any]] = {f"q{place}": rng.integers(0, values, rows).tolist() for place in range(n_columns)}
    if missing:
        columns["q0"][3] = None
    columns["s"] = ["a", "b"] * (rows // 2)
    keys = {
        "k": 2,
        "missing": "category",
        "quasi": {name: {"kind": "numeric"} for name in columns if name != "s"},
        "sensitive": {"s": {"distance": "equal", "t": 0.5}},
    }
    return encode(read(pl.DataFrame(columns)), Schema.from_dict(keys))


@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 20, 70])
def test_rows_get_the_key_of_their_cell(n_columns: int) -> None:
    table = table_of(n_columns, 60, 9)
    bits = key_bits(table, 40)
    assert bits <= 40
    axes = min(n_columns, bits)
    by_axis = bits // axes
    cells = [
        np.rint(axis.coordinates[places] * (2**by_axis - 1)).astype(int)
        for axis, places in zip(table.axes[:axes], table.places, strict=False)
    ]
    expected = [hilbert_key(tuple(map(int, point)), by_axis) for point in zip(*cells, strict=True)]
    assert hilbert_keys(table, bits).tolist() == expected


def test_no_more_bits_than_the_longest_axis_needs() -> None:
    assert key_bits(table_of(2, 40, 4), 63) == 4
    assert key_bits(table_of(3, 400, 100), 63) == 21
    assert key_bits(table_of(70, 60, 9), 38) == 38


def test_missing_is_twice_as_far_and_cells_are_scaled_to_it() -> None:
    table = table_of(2, 40, 9, missing=True)
    first, second = table.axes
    assert first.coordinates[-1] == 2
    assert first.coordinates[:-1].max() == second.coordinates.max() == 1
    bits = key_bits(table, 30)
    scaled = first.coordinates[table.places[0]] / 2, second.coordinates[table.places[1]]
    cells = [np.rint(each * (2 ** (bits // 2) - 1)).astype(int).tolist() for each in scaled]
    assert hilbert_keys(table, bits).tolist() == [hilbert_key(point, bits // 2) for point in zip(*cells, strict=True)]


def test_long_tables_are_keyed_block_by_block() -> None:
    table = table_of(3, 40_000, 50)
    bits = key_bits(table, 63)
    keys = hilbert_keys(table, bits)
    rows = np.array([0, 16_383, 16_384, 39_999])
    assert hilbert_keys(table.take(rows), bits).tolist() == keys[rows].tolist()
