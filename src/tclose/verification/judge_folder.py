"""Judging a release that is many files: counted file by file, measured bucket by bucket, in bounded memory.

Three steps, each of which can be done for all files or buckets side by side: `spill_part` numbers the cells of a file
and leaves them on disk, class by class in buckets; `renumber_part` numbers them by the values of the whole release;
`measure_spilled` measures a bucket.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tclose.schema.schema import Schema
from tclose.verification.class_buckets import BucketMeasure, buckets_of, judge_parts, measure_bucket, merge_measures
from tclose.verification.judge_release import Judgement
from tclose.verification.release_parts import PartCounts, ReleaseCounts, read_part

BUCKET_ROWS = 2_000_000  # about as many are measured together


def spill_part(frame: pl.DataFrame, schema: Schema, n_buckets: int, path: Path) -> PartCounts:
    """Count a part, and leave its cells on disk as numbers, bucket after bucket; what is counted too."""
    found, counts = read_part(frame, schema)
    if {*schema.released_quasi} <= {*found}:
        buckets = buckets_of(found, schema.released_quasi, n_buckets)
        order = np.argsort(buckets, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=n_buckets))])
        np.save(_cells(path), np.stack([found[name].codes[order] for name in frame.columns]))
        np.save(_starts(path), starts)
    path.write_bytes(pickle.dumps(counts))
    return counts


def renumber_part(whole: ReleaseCounts, path: Path) -> None:
    """Number the cells of a part by the values of the whole release; done again, it does the same."""
    counts: PartCounts = pickle.loads(path.read_bytes())
    cells = np.load(_cells(path))
    for row, table in zip(cells, whole.tables(counts).values(), strict=True):
        row[:] = table[row]
    np.save(_numbered(path), cells)


def measure_spilled(whole: ReleaseCounts, paths: Sequence[Path], bucket: int) -> BucketMeasure:
    """Measure the classes of a bucket, whose rows all parts have left on disk."""
    found = []
    for path in paths:
        starts = np.load(_starts(path), mmap_mode="r")
        found.append(np.array(np.load(_numbered(path), mmap_mode="r")[:, starts[bucket] : starts[bucket + 1]]))
    cells = np.concatenate(found, axis=1)
    return measure_bucket(whole, dict(zip(whole.columns, cells.astype(np.int64), strict=True)))


def judge_frames(
    frames: Iterable[Callable[[], pl.DataFrame]], n_rows: int, schema: Schema
) -> tuple[Judgement, ReleaseCounts]:
    """Judge a release whose parts are read one after the other.

    Parameters
    ----------
    frames
        Each reads a part.
    n_rows
        About how many rows there are.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    >>> parts = [lambda: pl.DataFrame({"age": ["20", "30"]}), lambda: pl.DataFrame({"age": ["20"]})]
    >>> judge_frames(parts, 3, schema)[0].problems
    ['The smallest class has 1 row, and k is 2.']
    """
    n_buckets = n_rows // BUCKET_ROWS + 1
    with tempfile.TemporaryDirectory(prefix="tclose-") as folder:
        paths: list[Path] = []
        counts: list[PartCounts] = []
        for number, read in enumerate(frames):
            paths.append(Path(folder) / f"{number}.counts")
            counts.append(spill_part(read(), schema, n_buckets, paths[-1]))
        whole = ReleaseCounts.of(counts, schema)
        if not is_measurable(whole):
            return judge_parts(whole, BucketMeasure()), whole
        for path in paths:
            renumber_part(whole, path)
        measures = [measure_spilled(whole, paths, bucket) for bucket in range(n_buckets)]
    return judge_parts(whole, merge_measures(measures)), whole


def is_measurable(whole: ReleaseCounts) -> bool:
    """Whether all columns are there that are to be measured."""
    needed = {*whole.schema.released_quasi, *(each.column for each in whole.schema.sensitive), *whole.schema.keep}
    return needed <= {*whole.columns}


def _cells(path: Path) -> Path:
    return path.with_suffix(".cells.npy")


def _numbered(path: Path) -> Path:
    return path.with_suffix(".numbered.npy")


def _starts(path: Path) -> Path:
    return path.with_suffix(".starts.npy")
