"""Numbers of 64 bits for rows, from their content alone: the same wherever, and however often, a row is looked at.

Rows have no numbers in a table that comes in pieces: which piece a row is in, and where, depends on who cut them. What
has to be drawn for a row is drawn from its content and a key of the run.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

RowKeys = NDArray[np.uint64]
GOLDEN = 0x9E3779B97F4A7C15


def run_key(seed: int, purpose: int) -> int:
    """What all hashes of a run for one purpose are seeded with.

    Examples
    --------
    >>> run_key(7, 0) == run_key(7, 0), run_key(7, 0) == run_key(7, 1)
    (True, False)
    """
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])


def hash_rows(frame: pl.DataFrame, key: int) -> RowKeys:
    """A hash of each row of a frame, of all columns that hold single values; the order of columns has no say in it.

    Examples
    --------
    >>> key = run_key(7, 0)
    >>> one = hash_rows(pl.DataFrame({"a": ["x", None], "b": [1, 2]}), key)
    >>> other = hash_rows(pl.DataFrame({"b": [2], "a": pl.Series([None], dtype=pl.String)}), key)
    >>> bool(one[1] == other[0])
    True
    """
    names = sorted(name for name, kind in frame.schema.items() if not kind.is_nested() and kind != pl.Object)
    plain = [_plain(frame[name]) for name in names]
    return pl.DataFrame(plain).hash_rows(key).to_numpy()


def _plain(column: pl.Series) -> pl.Series:
    """Categories as text, whatever numbers they have in this piece."""
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum, pl.Null) else column


def mixed(keys: RowKeys, salt: int) -> RowKeys:
    """Other numbers for the same rows, which tell nothing of these: the finalizer of splitmix64.

    Examples
    --------
    >>> mixed(np.array([0, 1], np.uint64), 0).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    z = keys + np.uint64((salt * GOLDEN + GOLDEN) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


def as_shares(keys: RowKeys) -> NDArray[np.float64]:
    """Numbers from 0 up to 1, from 64 bits each.

    Examples
    --------
    >>> as_shares(np.array([0, 2**63], np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sip_hash(first: RowKeys, second: RowKeys, key: tuple[int, int]) -> RowKeys:
    """SipHash-2-4 of two words under a key of 128 bits: whoever sees the results cannot find the key.

    Examples
    --------
    >>> hex(int(sip_hash(np.array([0x0706050403020100], np.uint64), np.array([0x0F0E0D0C0B0A0908], np.uint64),
    ...     (0x0706050403020100, 0x0F0E0D0C0B0A0908))[0]))
    '0x3f2acc7f57c29bdb'
    """
    k0, k1 = (np.uint64(word) for word in key)
    v = [
        np.full(len(first), k0 ^ np.uint64(0x736F6D6570736575)),
        np.full(len(first), k1 ^ np.uint64(0x646F72616E646F6D)),
        np.full(len(first), k0 ^ np.uint64(0x6C7967656E657261)),
        np.full(len(first), k1 ^ np.uint64(0x7465646279746573)),
    ]
    length = np.full(len(first), np.uint64(16 << 56))  # as if it were a text of 16 bytes
    for word in (first, second, length):
        v[3] = v[3] ^ word
        _sip_rounds(v, 2)
        v[0] = v[0] ^ word
    v[2] = v[2] ^ np.uint64(0xFF)
    _sip_rounds(v, 4)
    return np.asarray(v[0] ^ v[1] ^ v[2] ^ v[3], np.uint64)


def _sip_rounds(v: list[RowKeys], n: int) -> None:
    for _ in range(n):
        v[0] = v[0] + v[1]
        v[1] = _turned(v[1], 13) ^ v[0]
        v[0] = _turned(v[0], 32)
        v[2] = v[2] + v[3]
        v[3] = _turned(v[3], 16) ^ v[2]
        v[0] = v[0] + v[3]
        v[3] = _turned(v[3], 21) ^ v[0]
        v[2] = v[2] + v[1]
        v[1] = _turned(v[1], 17) ^ v[2]
        v[2] = _turned(v[2], 32)


def _turned(words: RowKeys, bits: int) -> RowKeys:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)), np.uint64)
