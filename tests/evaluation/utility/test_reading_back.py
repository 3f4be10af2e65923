"""Reading releases back: every form that is published, what other tools write, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.errors import TableError
from tclose.evaluation.utility.covered_spans import Stretch, day_reader, number_reader, stretch
from tclose.evaluation.utility.reading_back import ReadBack, read_release
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema

AGES = [18, 21, 24, 30, 38, 45, 45, 90]
TREE = {"lung": ["flu", "asthma"], "skin": ["rash", "acne"]}


def spans(quasi: dict[str, Any], before: list[Any], after: list[Any], **keys: Any) -> list[tuple[int, int]]:
    """The span of each released row on the axis of a single column."""
    read = _read(quasi, before, after, **keys)
    low, high = read.spans[0]
    return list(zip(low[read.labels].tolist(), high[read.labels].tolist(), strict=True))


def _read(quasi: dict[str, Any], before: list[Any], after: list[Any], **keys: Any) -> ReadBack:
    schema = Schema.from_dict({"k": 1, "quasi": {"x": quasi}, **keys})
    table = pl.DataFrame({"x": before}, strict=False)
    filled = [*after, *[after[-1]] * (len(before) - len(after))]
    return read_release(table, pl.DataFrame({"x": filled}, strict=False), schema)


# Numbers and dates


def test_intervals_as_tools_write_them() -> None:
    """Ages 18 21 24 30 38 45 90 are places 0 to 6."""
    shown = [
        "[21, 45]",
        "[21, 45[",
        "]21, 45]",
        "(21, 45)",
        "[21,45)",
        "<30",
        ">=45",
        ">45",
        "21-38",
        "{24, 38}",
        "*",
        "30",
    ]
    found = spans({"kind": "numeric"}, [*AGES, *[18] * 4], shown)
    assert found == [(1, 5), (1, 4), (2, 5), (2, 4), (1, 4), (0, 2), (5, 6), (6, 6), (1, 4), (2, 4), (0, 6), (3, 3)]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("[-5, -1]", Stretch(-5, -1)),
        ("-5", Stretch(-5, -5)),
        ("-5 - -1", Stretch(-5, -1)),
        ("0.5..1e3", Stretch(0.5, 1000)),
        ("[<20, 45]", Stretch(float("-inf"), 45)),
        ("[20, >90]", Stretch(20, float("inf"))),
        ("[20; 45)", Stretch(20, 45, False, True)),
        ("≤ 20", Stretch(float("-inf"), 20)),
        ("> 20", Stretch(20, float("inf"), True)),
        ("", None),
        ("twenty", None),
        ("[20, ]x", None),
        ("[20]", None),
        ("{}", None),
        ("nan", None),
        ("1_000", None),
    ],
)
def test_stretches(label: str, expected: Stretch | None) -> None:
    assert stretch(label, number_reader(".")) == expected


def test_a_decimal_comma() -> None:
    quasi = {"kind": "numeric"}
    assert spans(quasi, ["1,5", "2,5", "4"], ["[1.5, 2.5]", "2,5", "4"], decimal=",", delimiter=";") == [
        (0, 1),
        (1, 1),
        (2, 2),
    ]


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("2021-03-02/2021-03-09", "2021-03-02", "2021-03-09"),
        ("2021-03-02", "2021-03-02", "2021-03-02"),
        ("[2021-03-02, 2021-03-09]", "2021-03-02", "2021-03-09"),
        ("2021-02", "2021-02-01", "2021-02-28"),
        ("2021-12", "2021-12-01", "2021-12-31"),
        ("2021-Q4", "2021-10-01", "2021-12-31"),
        ("2020-2021", "2020-01-01", "2021-12-31"),
        ("2021", "2021-01-01", "2021-12-31"),
        ("02.03.2021", "2021-03-02", "2021-03-02"),
    ],
)
def test_periods(label: str, first: str, last: str) -> None:
    found = stretch(label, day_reader("%d.%m.%Y"))
    low, high = (float(np.datetime64(day).astype("datetime64[D]").astype(int)) for day in (first, last))
    assert found == Stretch(low, high)


def test_tails_of_ours_are_not_the_values_they_begin_at() -> None:
    quasi = {"kind": "numeric", "bottom": 18, "top": 90}
    values = [5, 10, 18, 50, 90, 95, 99]
    shown = ["<18", "18", "[<18, 18]", "[50, >90]", ">90", "[<18, >90]", "90"]
    assert spans(quasi, values, shown) == [(0, 1), (2, 2), (0, 2), (3, 6), (5, 6), (0, 6), (4, 4)]


def test_bounds_in_two_columns() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"x": {"kind": "numeric", "publish": "bounds", "bottom": 20}}})
    table = pl.DataFrame({"x": [10, 15, 20, 30, 40]})
    shown = pl.DataFrame({"x_low": [None, None, 20, 30, 30], "x_high": [20, 30, 20, 40, 40]})
    read = read_release(table, shown, schema)
    low, high = (ends[read.labels].tolist() for ends in read.spans[0])
    assert (low, high) == ([0, 0, 2, 3, 3], [2, 3, 2, 4, 4])


# Trees


def test_labels_sets_and_stars() -> None:
    quasi = {"kind": "categorical", "hierarchy": TREE}
    shown = ["lung", "acne", "{flu, asthma}", "{flu,rash}", "*", "***"]
    read = _read(quasi, ["flu", "asthma", "rash", "acne", "flu", "flu"], shown)
    axis = read.table.axes[0]
    low, high = (ends[read.labels] for ends in read.spans[0])
    assert axis.labels(low, high) == ["lung", "acne", "lung", "*", "*", "*"]


def test_a_label_at_two_nodes_covers_both() -> None:
    quasi = {"kind": "categorical", "hierarchy": {"a": ["a", "b"], "c": ["d", "e"]}}
    read = _read(quasi, ["a", "b", "d", "e"], ["a", "b", "d", "c"])
    low, high = (ends[read.labels].tolist() for ends in read.spans[0])
    assert (low[0], high[0]) == (0, 1)  # the leaf a or the node a: all that can be told
    assert (low[1], high[1]) == (1, 1)


def test_prefixes_need_not_be_where_values_part() -> None:
    """The tree of 02139, 02142, 10001 has 021** and no 02***."""
    shown = ["021**", "02***", "0213*", "1*", "*****", "10001"]
    found = spans({"kind": "text"}, ["02139", "02142", "10001", "02139", "10001", "02139"], shown)
    assert found == [(0, 1), (0, 1), (0, 0), (2, 2), (0, 2), (2, 2)]


def test_digits() -> None:
    read = _read({"kind": "digits"}, ["123", "145", "923"], ["1**", "*", "**3"])
    low, high = (np.array([ends[side] for ends in read.spans])[:, read.labels].T for side in (0, 1))
    covered = (high - low + 1).tolist()
    assert covered == [[1, 2, 2], [2, 2, 2], [2, 2, 1]]


def test_intervals_that_are_labels_of_a_tree() -> None:
    quasi = {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [10]}}
    assert spans(quasi, ["3", "7", "12"], ["[0, 10)", "[10, 20)", "*"]) == [(0, 1), (2, 2), (0, 2)]


# Missing values


@pytest.mark.parametrize("kind", ["numeric", "categorical", "text", "digits"])
def test_missing_values(kind: str) -> None:
    keys = {"missing": "category", "missing_values": ["?"]}
    assert spans({"kind": kind}, ["1", "2", "?", ""], ["1", "", "?", "*"], **keys) == [(0, 0), (2, 2), (2, 2), (0, 2)]


@pytest.mark.parametrize("kind", ["numeric", "categorical", "text", "digits"])
def test_an_empty_cell_of_a_column_without_missing_values_is_hidden(kind: str) -> None:
    assert spans({"kind": kind}, ["1", "2", "1"], ["1", "", "2"]) == [(0, 0), (0, 1), (1, 1)]


# What is refused


@pytest.mark.parametrize(
    ("quasi", "before", "secret"),
    [
        ({"kind": "numeric"}, ["1", "2"], "secret"),
        ({"kind": "date"}, ["2021-01-01", "2021-01-02"], "secret"),
        ({"kind": "categorical"}, ["a", "b"], "secret"),
        ({"kind": "categorical", "hierarchy": TREE}, ["flu", "rash"], "{flu, secret}"),
        ({"kind": "text"}, ["ab", "cd"], "secret*"),
        ({"kind": "digits"}, ["12", "34"], "secret"),
    ],
)
def test_what_is_not_understood(quasi: dict[str, Any], before: list[str], secret: str) -> None:
    with pytest.raises(TableError, match=r"Column 'x': 1 distinct value in 1 row are not understood") as error:
        spans(quasi, before, [before[0], secret])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("quasi", "before", "label"),
    [
        ({"kind": "numeric"}, ["1", "2"], "77"),
        ({"kind": "numeric"}, ["1", "4"], "[2, 3]"),
        ({"kind": "numeric"}, ["1", "4"], "[4, 1]"),
        ({"kind": "categorical", "hierarchy": TREE}, ["flu", "flu"], "skin"),
    ],
)
def test_what_covers_nothing(quasi: dict[str, Any], before: list[str], label: str) -> None:
    with pytest.raises(TableError, match=r"Column 'x': .* cover no value of the original") as error:
        spans(quasi, before, [before[0], label])
    assert label not in str(error.value)


def _people() -> tuple[pl.DataFrame, Schema]:
    quasi = {"age": {"kind": "numeric"}}
    schema = Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": {"pay": {"distance": "ordered", "t": 1}}})
    return pl.DataFrame({"age": [1, 2, 3, 4], "pay": [10.0, 20.5, 10.0, 30.0]}), schema


def test_sensitive_values_are_found_again_whatever_their_type() -> None:
    people, schema = _people()
    for pay in (["10", "20.5", "10.0", "30"], [10.0, 20.5, 10.0, 30.0]):
        assert read_release(people, people.with_columns(pay=pl.Series(pay)), schema).codes[0].tolist() == [0, 1, 0, 2]


def test_wrong_tables() -> None:
    people, schema = _people()
    changed = people.with_columns(pay=pl.Series([10.0, 20.5, 10.0, 31.0]))
    with pytest.raises(TableError, match=r"Column 'pay': 1 distinct value in 1 row do not stand in the original"):
        read_release(people, changed, schema)
    for column in ("age", "pay"):
        with pytest.raises(TableError, match=f"The release has no column '{column}'"):
            read_release(people, people.drop(column), schema)
    with pytest.raises(TableError, match="has 8 rows, more than the 4"):
        read_release(people, pl.concat([people, people]), schema)
    with pytest.raises(TableError, match="no rows"):
        read_release(people, people[:0], schema)
    with pytest.raises(TableError, match="cannot stand in one order"):
        read_release(people, people[:3], schema, aligned=True)
    with pytest.raises(TableError, match=r"Column 'age': in 4 rows what is released does not cover"):
        read_release(people, people[::-1], schema, aligned=True)
    with pytest.raises(ValueError, match="Give the schema"):
        beside(people, people)


# Our own releases


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("dataset", ["census", "hospital"])
def test_a_written_release_is_read_as_the_release_itself(dataset: str, suffix: str, tmp_path: Path) -> None:
    frame, schema = getattr(tclose.datasets, dataset)(600, seed=3)
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    release.write(tmp_path / f"release{suffix}")
    own, written = beside(frame, release), beside(frame, tmp_path / f"release{suffix}", schema)
    assert own.aligned
    assert not written.aligned
    for read in (own, written):
        told = {
            (*(int(end[label]) for span in read.spans for end in span),): int(size)
            for label, size in enumerate(read.sizes)
        }
        assert len(told) == release.measured.classes
        assert sum(told.values()) == 600
    assert np.array_equal(np.unique(own.sizes, return_counts=True), np.unique(written.sizes, return_counts=True))
    one, other = (tclose.utility(frame, each, schema) for each in (release, tmp_path / f"release{suffix}"))
    assert one.loss == pytest.approx(release.loss, abs=1e-12)
    first, again = one.as_dict(), other.as_dict()
    assert first.keys() == again.keys()
    for name in ("loss", "summed_loss", "discernibility", "suppressed_cells", "classes"):
        assert first[name] == pytest.approx(again[name], abs=1e-12)
    assert first["queries"]["median"] == pytest.approx(again["queries"]["median"], abs=1e-9)


def test_means_can_be_measured_only_with_the_release_itself() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"age": rng.integers(20, 60, 40), "ill": rng.choice(["a", "b"], 40)})
    keys = {
        "quasi": {"age": {"kind": "numeric", "publish": "mean"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.5}},
    }
    schema = Schema.from_dict({"k": 3, **keys})
    release = tclose.anonymize(table, schema, method="mondrian", seed=1)
    found = tclose.utility(table, release)
    assert found.loss == pytest.approx(release.loss, abs=1e-12)
    assert found.classes == release.measured.classes
    with pytest.raises(TableError, match=r"Column 'age' is published as means.*Give the Release"):
        tclose.utility(table, release.table, schema)


def test_dropped_rows_are_no_part_of_either() -> None:
    table = pl.DataFrame({"age": ["20", "", "30", "40", "50"], "ill": ["a", "b", "a", "b", "a"]})
    keys = {"quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    schema = Schema.from_dict({"k": 2, "missing": "drop", **keys})
    release = tclose.anonymize(table, schema, method="mondrian", seed=1)
    found = tclose.utility(table, release)
    assert (found.rows, found.suppressed_rows) == (4, 0)
    assert found.loss == pytest.approx(release.loss)


def test_suppression() -> None:
    frame, _ = tclose.datasets.census(300, seed=3)
    quasi = {name: {"kind": "categorical"} for name in ("sex", "race", "work_class")}
    keys = {"k": 2, "recode": "suppress", "quasi": quasi, "sensitive": {"salary": {"distance": "ordered", "t": 1}}}
    small = frame.select([*quasi, "salary"])
    release = tclose.anonymize(small, Schema.from_dict(keys), method="mondrian", seed=1)
    found = tclose.utility(small, release)
    assert found.suppressed_cells == round(release.loss * 900)
    assert found.loss == pytest.approx(release.loss)


# Releases of other tools


def test_a_release_as_arx_writes_it(tmp_path: Path) -> None:
    """Rows in order, one of them suppressed as a whole; half-open intervals, sets and stars."""
    original = pl.DataFrame(
        {
            "age": ["34", "36", "45", "66", "70"],
            "zip": ["81667", "81675", "81925", "81931", "80000"],
            "sex": ["male", "female", "male", "female", "male"],
            "ill": ["flu", "flu", "cold", "cold", "flu"],
        }
    )
    arx = tmp_path / "arx.csv"
    arx.write_text(
        "age;zip;sex;ill\n[20, 40[;816**;*;flu\n[20, 40[;816**;*;flu\n"
        "[40, 80[;819**;{male, female};cold\n[40, 80[;819**;{male, female};cold\n*;*;*;flu\n"
    )
    quasi = {"age": {"kind": "numeric"}, "zip": {"kind": "text"}, "sex": {"kind": "categorical"}}
    schema = Schema.from_dict(
        {"k": 2, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 1}}, "delimiter": ";"}
    )
    found = tclose.utility(original, arx, schema, label="ill", aligned=True)
    assert (found.classes, found.suppressed_rows, found.suppressed_cells) == (3, 1, 7)
    assert found.discernibility == 4 + 4 + 5
    assert found.classification == pytest.approx(1 / 5)
    # [20, 40[ covers 34 and 36, [40, 80[ covers 45 to 70; each prefix two of five zip codes.
    assert found.loss_by_column["age"] == pytest.approx((2 * 2 / 36 + 2 * 25 / 36 + 1) / 5)
    assert found.loss_by_column["zip"] == pytest.approx((4 * 2 / 5 + 1) / 5)
    assert found.loss_by_column["sex"] == 1


def test_a_release_as_anjana_writes_it() -> None:
    """Intervals closed to the left, rows left out, in another order."""
    original = pl.DataFrame({"age": [22, 28, 35, 39, 61], "work": ["a", "b", "a", "c", "c"], "ill": list("xyxyx")})
    shown = pl.DataFrame(
        {"age": ["[30, 40)", "[20, 30)", "[30, 40)", "[20, 30)"], "work": ["*"] * 4, "ill": list("xxyy")}
    )
    quasi = {"age": {"kind": "numeric"}, "work": {"kind": "categorical"}}
    schema = Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 1}}})
    found = tclose.utility(original, shown, schema)
    assert (found.rows, found.suppressed_rows, found.classes) == (5, 1, 2)
    assert found.loss == pytest.approx((2 * 6 / 39 + 2 * 4 / 39 + 4 + 2) / 10)
    assert found.discernibility == 4 + 4 + 5


def test_a_pandas_release() -> None:
    people, schema = _people()
    frame = people.to_pandas()
    assert tclose.utility(frame, frame, schema).loss == 0
