"""What is published follows from the released rows: two originals with one release have all its bytes in common."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY
from tests.fuzz.cases import Case, make_case
from tests.fuzz.judged import quiet
from tests.hidden_changes import (
    SUFFIXES,
    Forced,
    change_hidden,
    forced_rows,
    loosened,
    published,
    release_case,
    released_rows,
)


def pairs_of(seed: int, folder: Path, counts: Counter[str], written: int, changes: int = 12) -> None:
    """Force one partition on originals that differ in hidden values alone, and compare all that is published."""
    case, draw = make_case(seed), random.Random(seed)
    case = loosened(case) if draw.random() < 0.7 else case
    form = draw.choice(["polars", "csv", "pandas nullable", "parquet"])
    first = release_case(case, form, folder, "mondrian")
    if first is None:
        return
    labels = first.classes[first.classes >= 0]
    method = Forced(labels)
    base = release_case(case, form, folder, method)
    assert base is not None
    rows = released_rows(base)
    told = {True: published(base, folder) if written else {}, False: published(base, folder, ())}
    for number in range(changes):
        other = change_hidden(case, first.classes, draw)
        if repr(other.columns) == repr(case.columns) or forced_rows(other, form, folder, labels) != rows:
            continue
        beside = release_case(other, form, folder, method)
        if beside is None:  # such as a date that the verifier does not take for one
            continue
        assert released_rows(beside) == rows
        suffixes = SUFFIXES if written else ()
        written = 0
        assert published(beside, folder, suffixes) == told[bool(suffixes)], (seed, number)
        count(counts, case, base, beside)


def count(counts: Counter[str], case: Case, base: tclose.Release, beside: tclose.Release) -> None:
    counts["pairs"] += 1
    counts["several classes"] += base.measured.classes > 1
    counts["other losses"] += abs(base.loss - beside.loss) > 1e-12
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


def test_some_pairs(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(20):
        pairs_of(seed, tmp_path, counts, written=1)
    assert counts["pairs"] > 50
    assert counts["other losses"] > 3  # what certificates once gave away


EVERYTHING = {
    *(
        "recode generalize",
        "recode suppress",
        "missing None",
        "missing category",
        "missing drop",
        "joints",
        "l",
        "bins",
    ),
    *("kind numeric", "kind date", "kind categorical", "kind text", "kind digits"),
    *("publish interval", "publish bounds", "publish mean"),
    *("hierarchy NoneType", "hierarchy Hierarchy", "hierarchy Intervals", "hierarchy Prefixes", "hierarchy Dates"),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_five_thousand_pairs(part: int, tmp_path: Path) -> None:
    """In parts of 1,000 pairs; every tenth seed is also written, in all formats, and reported on."""
    counts: Counter[str] = Counter()
    seed = 10_000 * part
    while counts["pairs"] < 1_000:
        pairs_of(seed, tmp_path, counts, written=int(seed % 10 == 0), changes=40)
        seed += 1
    assert counts["other losses"] > 10
    assert {name for name in EVERYTHING if counts[name]} == EVERYTHING


ABLE: dict[str, dict[str, Any]] = {  # schemas that every method of a group takes
    "any": {"k": 4, "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "levels": {"k": 4, "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "stars": {"k": 4, "recode": "suppress", "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "k alone": {"k": 4, "recode": "suppress"},
    "two": {"k": 2, "sensitive": {"s": {"distance": "ordered", "l": {"frequency": 2}}}},
}
NEEDS = {"incognito": "levels", "milp": "stars", "k-approx": "k alone", "two-diversity": "two"}
QUASI = {
    "age": {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [10, 30]}},
    "zip": {"kind": "text"},
}


def drawn_table(draw: random.Random) -> list[tuple[int | None, str, int]]:
    return [
        (draw.choice([None, *range(20, 60, 4)]), draw.choice("01") + draw.choice("01") + draw.choice("0123"), row % 4)
        for row in range(10)
    ]


@pytest.mark.parametrize("method", list(REGISTRY))
def test_real_methods_publish_the_same_of_originals_with_the_same_release(method: str, tmp_path: Path) -> None:
    """Neighbours of a table are released by the same method; wherever the rows agree, the bytes do."""
    keys = ABLE[NEEDS.get(method, "any")] | {"missing": "category", "quasi": QUASI}
    schema = tclose.Schema.from_dict(keys | ({} if "sensitive" in keys else {"identifiers": ["s"]}))
    draw = random.Random(3)
    pairs = 0
    for _ in range(5):
        known: dict[tuple[tuple[str, ...], ...], tuple[Any, dict[str, bytes]]] = {}
        base = drawn_table(draw)
        for _ in range(12):
            place, column, other = draw.randrange(10), draw.randrange(2), draw.choice(base)
            changed = (other[0], base[place][1]) if column == 0 else (base[place][0], other[1])
            table = [*base[:place], (*changed, base[place][2]), *base[place + 1 :]]
            frame = pl.DataFrame(table, schema=["age", "zip", "s"], orient="row")
            with quiet():
                release = tclose.anonymize(frame, schema, method=method, seed=1, allow_single_class=True)
            rows, told = tuple(released_rows(release)), published(release, tmp_path, ())
            before, expected = known.setdefault(rows, (table, told))
            assert told == expected
            pairs += before != table
    assert pairs > 0
