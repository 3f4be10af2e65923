"""Pairs of originals that differ in hidden values alone, released in the same classes: their published bytes compared.

`tests/test_noninterference.py` runs some of them, `make campaign NAME=pairs` thousands.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import tclose
from tests.fuzz.cases import make_case
from tests.hidden_changes import (
    SUFFIXES,
    Forced,
    change_hidden,
    change_type,
    forced_frame,
    loosened,
    published,
    release_case,
    released_rows,
    shown,
    written_bytes,
)

EVERYTHING = {
    *("recode generalize", "recode suppress"),
    *("missing None", "missing category", "missing drop"),
    *("joints", "l", "bins", "caps", "several classes", "files", "certificates", "other losses", "other types"),
    *("kind numeric", "kind date", "kind categorical", "kind text", "kind digits"),
    *("publish interval", "publish bounds", "publish mean"),
    *("hierarchy NoneType", "hierarchy Hierarchy", "hierarchy Intervals", "hierarchy Prefixes", "hierarchy Dates"),
}
"""What many pairs must have in them."""


def pairs_of(
    seed: int, folder: Path, counts: Counter[str], written: int, changes: int = 12, certified: int = 1
) -> None:
    """Force one partition on originals that differ in hidden values alone, and compare what is published.

    The bytes of the frame as CSV and Parquet are those of every pair, certificates of one pair in `certified`, and
    whole files with their certificates and reports of the first pair if `written`.
    """
    case, draw = make_case(seed), random.Random(seed)
    case = loosened(case) if draw.random() < 0.7 else case
    case = replace(case, schema={key: given for key, given in case.schema.items() if key != "suppress_rows"})
    form = draw.choice(["polars", "csv", "pandas nullable", "parquet"])
    first = release_case(case, form, folder, "mondrian")
    if first is None:
        return
    labels = first.classes[first.classes >= 0]
    method = Forced(labels)
    base = release_case(case, form, folder, method)
    assert base is not None
    rows, told = released_rows(base), written_bytes(base._frame, base.schema, folder)
    certificates = {True: published(base, folder) if written else {}, False: published(base, folder, ())}
    for number in range(changes):
        retyped = draw.random() < 0.25
        other = (change_type if retyped else change_hidden)(case, first.classes, draw)
        if repr(other.columns) == repr(case.columns):
            continue
        frame = forced_frame(other, form, folder, labels)
        if frame is None or shown(frame) != rows:
            continue
        if number % certified == 0 or written:
            beside = release_case(other, form, folder, method)
            if beside is None:  # such as a date that the verifier does not take for one
                continue
            assert released_rows(beside) == rows
            suffixes = SUFFIXES if written else ()
            written = 0
            assert published(beside, folder, suffixes) == certificates[bool(suffixes)], (seed, number)
            counts["certificates"] += 1
            counts["files"] += bool(suffixes)
            counts["other losses"] += abs(base.loss - beside.loss) > 1e-12
        assert written_bytes(frame, base.schema, folder) == told, (seed, number)
        counts["other types"] += retyped
        count(counts, base)


def count(counts: Counter[str], base: tclose.Release) -> None:
    counts["pairs"] += 1
    counts["several classes"] += base.measured.classes > 1
    counts[f"recode {base.schema.recode}"] += 1
    counts[f"missing {base.schema.missing}"] += 1
    counts["joints"] += bool(base.schema.joint)
    for quasi in base.schema.quasi:
        counts[f"kind {quasi.kind}"] += 1
        counts[f"publish {quasi.publish}"] += 1
        counts[f"hierarchy {type(quasi.hierarchy).__name__}"] += 1
    for sensitive in base.schema.sensitive:
        counts["l"] += sensitive.l is not None
        counts["bins"] += sensitive.bins is not None
        counts["caps"] += sensitive.caps is not None
