"""The classes of a release in buckets: each holds whole classes, and is measured against the whole release.

A row's bucket is drawn by a hash of its released quasi-identifiers. That only says who counts it: within a bucket rows
are grouped by what they show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.table.source import Source
from tclose.verification.belief_rises import ReachedRise
from tclose.verification.class_diversity import LeastDiversity
from tclose.verification.distinct_values import FactoredColumn
from tclose.verification.judge_release import Judgement, broken_promises, kept_problem, needed_columns, wrong_columns
from tclose.verification.measure_release import Measured, farthest_of, measure_classes_of
from tclose.verification.release_parts import ReleaseCounts
from tclose.verification.released_classes import GroupSizes, divide
from tclose.verification.single_spellings import value_spelling_problems

Integers = NDArray[np.int64]
MIXER = np.uint64(0x9E3779B97F4A7C15)


def buckets_of(found: Mapping[str, FactoredColumn], names: Sequence[str], n_buckets: int) -> Integers:
    """The bucket of each row of a part, by the columns that make classes.

    Examples
    --------
    >>> from tclose.verification.sensitive_domains import factored_column
    >>> one = buckets_of({"a": factored_column(pl.Series(["x", "y"]))}, ["a"], 100)
    >>> other = buckets_of({"a": factored_column(pl.Series(["y"]))}, ["a"], 100)
    >>> bool(one[1] == other[0])
    True
    """
    keys: NDArray[np.uint64] | None = None
    for name in names:
        column = found[name]
        hashes = column.values.cast(pl.String).hash(0).to_numpy() if len(column.values) else np.zeros(0, np.uint64)
        own = np.append(hashes, MIXER)[column.codes]
        keys = own if keys is None else (keys ^ (keys >> np.uint64(29))) * MIXER + own
    assert keys is not None
    keys = (keys ^ (keys >> np.uint64(32))) * MIXER
    return ((keys >> np.uint64(40)) * np.uint64(n_buckets) >> np.uint64(24)).astype(np.int64)


@dataclass(frozen=True)
class BucketMeasure:
    """What the classes of a bucket reach.

    Attributes
    ----------
    rows, classes, k
        Its rows and classes, and the rows of the smallest.
    t, l, rises
        As in `Measured`.
    kept
        Groups by the kept columns too; None where there are none.
    """

    rows: int = 0
    classes: int = 0
    k: int = 0
    t: dict[str, Fraction] = field(default_factory=dict)
    l: dict[str, LeastDiversity] = field(default_factory=dict)  # noqa: E741
    rises: dict[str, ReachedRise] = field(default_factory=dict)
    kept: GroupSizes | None = None


def measure_bucket(whole: ReleaseCounts, numbered: Mapping[str, Integers]) -> BucketMeasure:
    """Measure the classes of a bucket.

    Parameters
    ----------
    whole
        The release.
    numbered
        For each column, the number of each row's value among those of the release; -1 for none.
    """
    schema, sizes = whole.schema, whole.sizes
    n_rows = len(numbered[schema.released_quasi[0]])
    if not n_rows:
        return BucketMeasure()
    groups = divide(np.zeros(n_rows, np.int64), 1, ((numbered[each], sizes[each]) for each in schema.released_quasi))
    kept = None
    if schema.keep:
        parted = divide(groups.labels, len(groups.sizes), ((numbered[each], sizes[each]) for each in schema.keep))
        kept = GroupSizes(len(parted.sizes), parted.smallest, parted.n_alone)
    t: dict[str, Fraction] = {}
    reached: dict[str, LeastDiversity] = {}
    rises: dict[str, ReachedRise] = {}
    for each in whole.attributes:
        codes = each.codes(numbered, sizes)
        if each.asked is None:
            t[each.name] = farthest_of(groups, codes, each.ground, each.reference)
            continue
        caps = None if schema.counts_persons else each.asked.caps
        t[each.name], reached[each.name], rise = measure_classes_of(
            groups, codes, each.ground, each.reference, each.asked, caps
        )
        rises |= {} if rise is None else {each.name: rise}
    return BucketMeasure(n_rows, len(groups.sizes), groups.smallest, t, reached, rises, kept)


def merge_measures(buckets: Iterable[BucketMeasure]) -> BucketMeasure:
    """What the classes of all buckets reach."""
    found = [each for each in buckets if each.rows]
    if not found:
        return BucketMeasure()
    return BucketMeasure(
        sum(each.rows for each in found),
        sum(each.classes for each in found),
        min(each.k for each in found),
        {name: max(each.t[name] for each in found) for name in found[0].t},
        {name: _least([each.l[name] for each in found]) for name in found[0].l},
        {name: _largest([each.rises[name] for each in found]) for name in found[0].rises},
        _all_kept([each.kept for each in found if each.kept is not None]),
    )


def _least(found: Sequence[LeastDiversity]) -> LeastDiversity:
    factors = [each.recursive[0] for each in found]
    known = [factor for factor in factors if factor is not None]
    return LeastDiversity(
        min(each.distinct for each in found),
        min(each.entropy for each in found),
        min(each.frequency for each in found),
        (max(known) if len(known) == len(factors) else None, found[0].recursive[1]),
        {name: all(each.meets[name] for each in found) for name in found[0].meets},
    )


def _largest(found: Sequence[ReachedRise]) -> ReachedRise:
    meets = {name: all(each.meets[name] for each in found) for name in found[0].meets}
    return ReachedRise(max(each.rise for each in found), max(each.beta for each in found), meets)


def _all_kept(found: Sequence[GroupSizes]) -> GroupSizes | None:
    if not found:
        return None
    n_groups, n_alone = sum(each.n_groups for each in found), sum(each.n_alone for each in found)
    return GroupSizes(n_groups, min(each.smallest for each in found), n_alone)


def judge_parts(whole: ReleaseCounts, measure: BucketMeasure) -> Judgement:
    """Judge a release by what was counted of its parts and measured of its classes."""
    schema = whole.schema
    names = Source.of(pl.DataFrame({name: [] for name in whole.columns}))
    problems = list(wrong_columns(names, schema))
    if any(name not in whole.columns for name in needed_columns(schema)):
        return Judgement(0, {}, {}, problems)
    problems += _spelling_problems(whole)
    problems += _missing_cells(whole)
    if whole.problem is not None:
        return Judgement(measure.k, {}, {}, [*problems, whole.problem])
    found = Measured(
        whole.n_rows, measure.classes, measure.k, measure.t, measure.l, whole.n_missing, measure.rises,
        names, schema, schema.released_quasi,
    )  # fmt: skip
    if measure.rows != whole.n_rows:
        problems.append(f"The release has {whole.n_rows} rows, and {measure.rows} were measured.")
    problems += broken_promises(found, schema)
    if measure.kept is not None:
        vars(found)["kept_groups"] = measure.kept  # what the property would look for in the rows
        problems += kept_problem(schema, found, measure.kept.smallest)
    problems += [
        _no_value(name, count) for name, count in found.n_missing.items() if count and schema.missing != "category"
    ]
    return Judgement(found.k, found.t, found.l, problems, found)


def _no_value(name: str, count: int) -> str:
    many = "1 row has" if count == 1 else f"{count} rows have"
    return f"'{name}': {many} no value, and the schema does not say missing = \"category\"."


def _spelling_problems(whole: ReleaseCounts) -> Iterator[str]:
    for name in needed_columns(whole.schema):
        found = whole.columns[name].spellings
        ways = [way for way in ("null", "NaN", "empty text") if way in found]
        if len(ways) > 1:
            told = ", ".join(ways)
            yield f"Column '{name}' has missing cells of several spellings ({told}), which tell rows apart. Use one."
        if any(f"-{zero}" in found for zero in found):
            yield f"Column '{name}' has zeros with and without a sign, which tell rows apart. Use one."
        values, n_null = whole.columns[name].values, int(whole.columns[name].counts[0])
        yield from value_spelling_problems(name, values, n_null > 0, whole.schema)


def _missing_cells(whole: ReleaseCounts) -> Iterator[str]:
    if whole.schema.missing == "category":
        return
    for quasi in whole.schema.quasi:
        for place, name in enumerate(quasi.released):
            is_open = quasi.publish == "bounds" and (quasi.bottom, quasi.top)[place] is not None
            count = int(whole.columns[name].counts[0])
            if count and not is_open:
                yield _no_value(name, count)
