"""From columns to arrays: every distance and policy against plain Python, and errors that name lines, not values."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from tclose.errors import InfeasibleError, TableError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tests.oracles.release import Spec
from tests.oracles.release import encode as oracle

MISSING = ("", "?")
# "?" is a leaf too: the spellings of missing win over it.
PATHS = [("flu", "lung", "*"), ("asthma", "lung", "*"), ("mild", "rash", "skin", "*"), ("burn", "*"), ("?", "*")]
NESTED = {"lung": ["flu", "asthma"], "skin": {"rash": ["mild"]}, "burn": [], "?": []}
NUMBERS = ["1", "10", "2.5", "-3", "1e1", "10.0", " 4", "0.125"]
LEVELS = ["low", "middle", "high", "never"]

# Name: the keys of the schema, what the oracle is told, and the values drawn.
DISTANCES: dict[str, tuple[dict[str, Any], Spec, list[str]]] = {
    "equal": ({"distance": "equal"}, {"distance": "equal"}, ["b", "a", "é", "Z", "1", "1.0"]),
    "ordered": ({"distance": "ordered"}, {"distance": "ordered"}, NUMBERS),
    "order": ({"distance": "ordered", "order": LEVELS}, {"distance": "ordered", "order": LEVELS}, LEVELS[:3]),
    "edges": (
        {"distance": "ordered", "edges": [-5, 1, 2.5, 40]},
        {"distance": "ordered", "edges": [-5, 1, 2.5, 40]},
        NUMBERS,
    ),
    "bins": ({"distance": "ordered", "bins": 3}, {"distance": "ordered", "bins": 3}, NUMBERS),
    "many bins": ({"distance": "ordered", "bins": 50}, {"distance": "ordered", "bins": 50}, NUMBERS),
    "one bin": ({"distance": "ordered", "bins": 1}, {"distance": "ordered", "bins": 1}, NUMBERS),
    "numeric": ({"distance": "numeric"}, {"distance": "numeric"}, NUMBERS),
    "range": (
        {"distance": "numeric", "range": [-10, 20.5]},
        {"distance": "numeric", "range": (-10, 20.5)},
        NUMBERS,
    ),
    "hierarchical": (
        {"distance": "hierarchical", "hierarchy": NESTED},
        {"distance": "hierarchical", "paths": PATHS},
        ["flu", "asthma", "mild", "burn"],
    ),
}


def table_of(texts: list[str], keys: dict[str, Any], missing: str | None) -> EncodedTable:
    schema = Schema.from_dict(
        {
            "k": 1,
            "missing_values": ["?"],
            "quasi": {"row": {"kind": "numeric"}},
            "sensitive": {"ill": {**keys, "t": 1}},
            **({"missing": missing} if missing else {}),
        }
    )
    return encode(read(pl.DataFrame({"row": range(len(texts)), "ill": texts})), schema)


def draw(name: str, seed: int, missing: float) -> list[str]:
    rng = np.random.default_rng(seed)
    pool = DISTANCES[name][2]
    drawn: list[str] = rng.choice(pool, int(rng.integers(1, 30))).tolist()
    return [str(rng.choice(MISSING)) if rng.random() < missing else text for text in drawn]


def check_codes(table: EncodedTable, texts: list[str], spec: Spec) -> None:
    """The codes are the oracle's places, and classes are as far from the whole as it says."""
    places, emd = oracle(texts, spec, MISSING)
    assert table.codes[0].tolist() == places
    whole = [Fraction(count, len(texts)) for count in np.bincount(places, minlength=table.domains[0].size).tolist()]
    for size in (1, 2, len(texts)):
        members = places[:size]
        counts = np.bincount(members, minlength=table.domains[0].size).tolist()
        share = [Fraction(count, len(members)) for count in counts]
        assert table.domains[0].form.emd(share, whole) == emd(Counter(members))


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("missing", [None, "category", "drop", "error"])
def test_without_missing_values_the_policy_does_not_matter(name: str, missing: str | None) -> None:
    keys, spec, _ = DISTANCES[name]
    for seed in range(8):
        texts = draw(name, seed, 0)
        table = table_of(texts, keys, missing)
        assert not table.domains[0].missing
        check_codes(table, texts, spec)


@pytest.mark.parametrize("name", sorted(set(DISTANCES) - {"numeric", "range"}))
def test_missing_as_a_category(name: str) -> None:
    keys, spec, _ = DISTANCES[name]
    for seed in range(8):
        texts = [*draw(name, seed, 0.3), "?"]
        table = table_of(texts, keys, "category")
        assert table.domains[0].missing
        check_codes(table, texts, spec)


@pytest.mark.parametrize("name", ["equal", "hierarchical", "ordered"])
def test_all_missing(name: str) -> None:
    table = table_of(["", "?", ""], DISTANCES[name][0], "category")
    size = table.domains[0].size
    assert table.codes[0].tolist() == [size - 1] * 3
    point = [Fraction(0)] * (size - 1) + [Fraction(1)]
    assert table.domains[0].form.emd(point, point) == 0


def test_distances_to_missing() -> None:
    # At distance 1 from all others (equal, hierarchical), last in the order.
    point = {0: [Fraction(1), Fraction(0), Fraction(0)], 1: [Fraction(0), Fraction(1), Fraction(0)]}
    last = [Fraction(0), Fraction(0), Fraction(1)]
    tree = {"distance": "hierarchical", "hierarchy": {"x": {"y": ["a", "b"]}}}
    for keys, wanted in (
        ({"distance": "equal"}, (1, 1)),
        (tree, (1, 1)),
        ({"distance": "ordered"}, (1, Fraction(1, 2))),
    ):
        texts = ["1", "2", ""] if keys["distance"] == "ordered" else ["a", "b", ""]
        form = table_of(texts, keys, "category").domains[0].form
        assert [form.emd(point[0], last), form.emd(point[1], last)] == [*wanted]


@pytest.mark.parametrize("name", ["numeric", "range"])
def test_numbers_must_not_be_missing(name: str) -> None:
    with pytest.raises(TableError, match=r"'ill' has 2 missing values.*drop"):
        table_of(["1", "", "2", "?"], DISTANCES[name][0], "category")


def test_a_matrix_must_not_have_missing_values() -> None:
    keys = {"distance": "matrix", "matrix": {"values": ["b", "a"], "costs": [[0, 1], [1, 0]]}}
    assert table_of(["a", "b", "a"], keys, "category").codes[0].tolist() == [1, 0, 1]
    with pytest.raises(TableError, match=r"'ill' has 1 missing values.*matrix"):
        table_of(["a", "", "b"], keys, "category")


@pytest.mark.parametrize("name", DISTANCES)
def test_dropped_rows_are_gone_and_the_reference_is_the_rest(name: str) -> None:
    keys, spec, _ = DISTANCES[name]
    for seed in range(8):
        texts = [*draw(name, seed, 0.3), DISTANCES[name][2][0]]
        kept = [row for row, text in enumerate(texts) if text not in MISSING]
        table = table_of(texts, keys, "drop")
        assert table.rows.tolist() == kept
        check_codes(table, [texts[row] for row in kept], spec)


@pytest.mark.parametrize(("policy", "said"), [(None, 'missing = "category"'), ("error", 'missing = "error"')])
def test_missing_values_need_a_policy(policy: str | None, said: str) -> None:
    with pytest.raises(TableError) as caught:
        table_of(["a", "", "b", "?"], {"distance": "equal"}, policy)
    assert "ill (2 rows)" in str(caught.value)
    assert said in str(caught.value)


def test_every_row_dropped() -> None:
    with pytest.raises(TableError, match="No row is left"):
        table_of(["", "?"], {"distance": "equal"}, "drop")


def test_rows_are_dropped_for_any_column_of_a_role_that_matters() -> None:
    columns = {
        "age": [1, None, 3, 4, 5],
        "ill": ["a", "b", None, "d", "?"],
        "id": [None, "x", "y", "z", "w"],
        "kept": [None] * 5,
    }
    keys: dict[str, Any] = {"k": 1, "missing": "drop", "missing_values": ["?"], "identifiers": ["id"], "keep": ["kept"]}
    keys |= {"quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    table = encode(read(pl.DataFrame(columns)), Schema.from_dict(keys))
    assert table.rows.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("dtype", "values", "missing"),
    [
        (pl.Float64, [1.0, float("nan"), None, 2.0], 2),
        (pl.Int64, [1, -9, None, 2], 2),
        (pl.String, ["1", "nan", "", " NaN "], 3),
        (pl.String, ["1", "?", "-9", "2"], 2),
        (pl.Categorical, ["1", "?", None, "2"], 2),
    ],
)
def test_what_counts_as_missing_in_a_column_of_numbers(dtype: Any, values: list[Any], missing: int) -> None:
    keys = {"k": 1, "missing": "category", "missing_values": ["?", "-9"], "quasi": {"age": {"kind": "numeric"}}}
    table = encode(read(pl.DataFrame({"age": pl.Series(values, dtype=dtype)})), Schema.from_dict(keys))
    assert (table.places[0] == table.axes[0].size - 1).sum() == missing
    assert table.axes[0].missing


def test_nan_is_a_category_like_any_other_in_a_column_of_texts() -> None:
    keys = {"k": 1, "quasi": {"job": {"kind": "categorical"}}}
    table = encode(read(pl.DataFrame({"job": ["nan", "NA", "b"]})), Schema.from_dict(keys))
    assert not table.axes[0].missing


# Quasi-identifiers


def one(values: list[Any], **keys: Any) -> EncodedTable:
    """A table of one quasi-identifier."""
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"q": keys}})
    return encode(read(pl.DataFrame({"q": values}, strict=False)), schema)


def single_labels(table: EncodedTable) -> list[str | None]:
    """What each row would be released as in a class of its own."""
    by_axis = [axis.labels(places, places) for axis, places in zip(table.axes, table.places, strict=True)]
    return [
        "".join(str(part) for part in parts) if parts[0] is not None else None for parts in zip(*by_axis, strict=True)
    ]


@pytest.mark.parametrize("kind", ["numeric", "date", "text", "digits", "categorical"])
def test_one_value_stays_as_it_is(kind: str) -> None:
    values: dict[str, list[str]] = {
        "numeric": ["3", "-1.5", "20", "3.0", ""],
        "date": ["2021-03-02", "1969-12-31", "2020-02-29", "2021-03-02", ""],
        "text": ["02139", "0213", "x", "02139", ""],
        "digits": ["02139", "10001", "02139", "99999", ""],
        "categorical": ["02139", " b", "b", "02139", ""],
    }
    wanted: list[str | None] = [*values[kind][:-1], None]
    if kind == "numeric":
        wanted = ["3", "-1.5", "20", "3", None]
    assert single_labels(one(list(values[kind]), kind=kind)) == wanted


def test_numbers_and_dates_stand_in_their_order_and_missing_last() -> None:
    assert one(["10", "9", "", "-1", "9.0"], kind="numeric").places[0].tolist() == [2, 1, 3, 0, 1]
    dates = ["2021-01-10", "2021-01-09", "", "1950-12-31"]
    assert one(dates, kind="date").places[0].tolist() == [2, 1, 3, 0]
    assert one(["31.12.1950", "01.02.2021", "02.01.2021"], kind="date", format="%d.%m.%Y").places[0].tolist() == [
        0,
        2,
        1,
    ]


def test_the_most_frequent_category_stands_first() -> None:
    assert one(["a", "b", "b", "c", "c", "c", ""], kind="categorical").places[0].tolist() == [2, 1, 1, 0, 0, 0, 3]
    tree = {"x": ["a", "b"], "y": ["c", "d"]}
    table = one(["a", "b", "b", "c", "c", "c", "c"], kind="categorical", hierarchy=tree)
    assert table.places[0].tolist() == [3, 2, 2, 0, 0, 0, 0]  # c, d (unused), b, a
    assert table.axes[0].size == 4


def test_digits_of_too_many_positions_are_refused() -> None:
    schema = Schema.from_dict({"k": 2, "quasi": {"phone": {"kind": "digits"}}})
    assert len(encode(read(pl.DataFrame({"phone": ["1" * 256, "2" * 256]})), schema).axes) == 256
    with pytest.raises(TableError, match=r"Column 'phone': 1 distinct value in 1 row are longer than 256") as caught:
        encode(read(pl.DataFrame({"phone": ["1" * 256, "2" * 257]})), schema)
    assert "222" not in str(caught.value)


def test_digits_are_an_axis_a_position() -> None:
    table = one(["021", "022", "121", ""], kind="digits")
    assert [axis.weight for axis in table.axes] == pytest.approx([1 / 3] * 3)
    assert [places.tolist() for places in table.places] == [[0, 0, 1, 2], [0, 0, 0, 1], [0, 1, 0, 2]]


@pytest.mark.parametrize("kind", ["text", "categorical", "digits"])
def test_02139_stays_02139(kind: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("zip,ill,kept\n02139,a,007\n02139,b,007\n")
    keys: dict[str, Any] = {"k": 2, "keep": ["kept"], "quasi": {"zip": {"kind": kind}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    released = tclose.anonymize(tmp_path / "table.csv", schema).aligned()
    assert released.rows() == [("02139", "a", "007"), ("02139", "b", "007")]


def test_a_column_of_floats_is_its_whole_numbers_to_a_hierarchy() -> None:
    # pandas makes floats of whole numbers as soon as one is missing.
    table = one([39.0, None, 40.5], kind="categorical", hierarchy={"old": ["39", "40.5"]})
    assert single_labels(table) == ["39", None, "40.5"]


# Builders, as hierarchies of the values themselves


def widest(table: EncodedTable) -> list[str | None]:
    """What all the rows together are released as."""
    ends = np.array([table.places[0].min()]), np.array([table.places[0].max()])
    return table.axes[0].labels(*ends)


INTERVALS = {"build": "intervals", "widths": [5, 10]}
PREFIXES = {"build": "prefixes", "lengths": [3, 1]}
DATES = {"build": "dates"}


def test_intervals() -> None:
    assert widest(one(["3", "4"], kind="categorical", hierarchy=INTERVALS)) == ["[0, 5)"]
    assert widest(one(["3", "7"], kind="categorical", hierarchy=INTERVALS)) == ["[0, 10)"]


def test_prefixes() -> None:
    assert widest(one(["02138", "02139"], kind="categorical", hierarchy=PREFIXES)) == ["021**"]
    assert widest(one(["02138", "03139"], kind="categorical", hierarchy=PREFIXES)) == ["0****"]


def test_dates() -> None:
    assert widest(one(["2021-03-01", "2021-03-09"], kind="categorical", hierarchy=DATES)) == ["2021-03"]
    assert widest(one(["2021-03-01", "2021-01-09"], kind="categorical", hierarchy=DATES)) == ["2021-Q1"]


def test_levels_of_other_kinds_only_serve_methods_that_climb_them() -> None:
    assert widest(one(["3", "4"], kind="numeric", hierarchy=INTERVALS)) == ["[3, 4]"]
    assert widest(one(["02138", "02139"], kind="text", hierarchy=PREFIXES)) == ["0213*"]
    assert widest(one(["2021-03-01", "2021-03-09"], kind="date", hierarchy=DATES)) == ["2021-03-01/2021-03-09"]


def test_intervals_of_numbers_with_a_decimal_comma() -> None:
    keys: dict[str, Any] = {"k": 1, "decimal": ",", "delimiter": ";"}
    schema = Schema.from_dict(keys | {"quasi": {"q": {"kind": "categorical", "hierarchy": INTERVALS}}})
    assert widest(encode(read(pl.DataFrame({"q": ["3,5", "4"]})), schema)) == ["[0, 5)"]


def test_dates_of_a_column_of_timestamps() -> None:
    stamps = pl.Series("q", ["2021-03-01", "2021-03-09"]).str.to_datetime("%Y-%m-%d")
    schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "categorical", "hierarchy": DATES}}})
    assert widest(encode(read(pl.DataFrame({"q": stamps})), schema)) == ["2021-03"]


@pytest.mark.parametrize("value", ["2021-3-9", "2021-03-9", "20210309", "2021-02-30"])
def test_dates_that_are_not_iso_are_refused_or_taken(value: str) -> None:
    try:
        table = one(["2021-03-01", value], kind="categorical", hierarchy=DATES)
    except TableError:
        return
    assert widest(table) == ["2021-03"]


# What does not fit

TREE = {"x": ["a", "b"]}
SECRET = "Z9"
MATRIX = {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}
# What is wrong: the role and keys of the column, a value that fits, and what is said about one that does not.
UNFIT: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "not in the hierarchy": ("quasi", {"kind": "categorical", "hierarchy": TREE}, "a", "not in its hierarchy"),
    "not a number": ("quasi", {"kind": "numeric"}, "1", "not numbers"),
    "not a date": ("quasi", {"kind": "date"}, "2021-03-02", "not dates"),
    "not a number for intervals": ("quasi", {"kind": "categorical", "hierarchy": INTERVALS}, "1", "not numbers"),
    "not a date for months": ("quasi", {"kind": "categorical", "hierarchy": DATES}, "2021-03-02", "not dates"),
    "too few digits": ("quasi", {"kind": "digits"}, "12345", "shorter than the longest"),
    "not in the sensitive hierarchy": (
        "sensitive",
        {"distance": "hierarchical", "hierarchy": TREE},
        "a",
        "not in its hierarchy",
    ),
    "not in the order": ("sensitive", {"distance": "ordered", "order": ["a"]}, "a", "not in its `order`"),
    "not in the matrix": ("sensitive", {"distance": "matrix", "matrix": MATRIX}, "a", "not in its matrix"),
    "no order of its own": ("sensitive", {"distance": "ordered"}, "1", "`order = [...]`"),
    "not a number to bin": ("sensitive", {"distance": "ordered", "bins": 2}, "1", "not numbers"),
    "not a number to measure": ("sensitive", {"distance": "numeric"}, "1", "not numbers"),
}


def unfit(tmp_path: Path, name: str, bad: list[str], **how: Any) -> str:
    """The message about a CSV with good values and, from line 4 on, bad ones."""
    role, keys, good, _ = UNFIT[name]
    lines = [good, good, *bad, good]
    (tmp_path / "table.csv").write_text("other,col\n" + "".join(f"{row},{value}\n" for row, value in enumerate(lines)))
    schema: dict[str, Any] = {"k": 1, "quasi": {"other": {"kind": "numeric"}}, "sensitive": {}}
    schema[role]["col"] = keys | ({"t": 1} if role == "sensitive" else {})
    with pytest.raises(TableError) as caught:
        encode(read(tmp_path / "table.csv"), Schema.from_dict(schema), **how)
    return str(caught.value)


@pytest.mark.parametrize("name", UNFIT)
def test_values_that_do_not_fit(name: str, tmp_path: Path) -> None:
    message = unfit(tmp_path, name, [SECRET, "Z8", SECRET, "Z8", SECRET, "Z7"])
    assert UNFIT[name][3] in message
    assert "'col'" in message
    assert "3 distinct values in 6 rows" in message
    assert "lines 4, 5, 6, 7, 8, ..." in message
    assert not any(value in message for value in (SECRET, "Z8", "Z7"))
    assert "1 distinct value in 1 row " in unfit(tmp_path, name, [SECRET])
    assert "(line 4)" in unfit(tmp_path, name, [SECRET])


@pytest.mark.parametrize("name", UNFIT)
def test_values_that_do_not_fit_are_shown_on_request(name: str, tmp_path: Path) -> None:
    message = unfit(tmp_path, name, [SECRET, "Z8"], show_values=True)
    assert SECRET in message
    assert "Z8" in message


@pytest.mark.parametrize(
    ("role", "keys", "values", "said"),
    [
        ("quasi", {"kind": "numeric", "range": [0, 10]}, ["5", "11", "-1"], "2 distinct values in 2 rows lie outside"),
        ("sensitive", {"distance": "numeric", "range": [0, 10]}, ["5", "10.5"], "1 distinct value in 1 row lie"),
        ("quasi", {"kind": "numeric"}, ["5", "inf"], "infinite"),
        ("sensitive", {"distance": "ordered"}, ["5", "-inf", "1e400"], "2 distinct values in 2 rows are infinite"),
    ],
)
def test_numbers_out_of_range(role: str, keys: dict[str, Any], values: list[str], said: str) -> None:
    schema: dict[str, Any] = {"k": 1, "quasi": {"other": {"kind": "numeric"}}, "sensitive": {}}
    schema[role]["col"] = keys | ({"t": 1} if role == "sensitive" else {})
    with pytest.raises(TableError, match=f"'col'.*{said}"):
        encode(read(pl.DataFrame({"other": range(len(values)), "col": values})), Schema.from_dict(schema))


def test_dates_out_of_range() -> None:
    with pytest.raises(TableError, match=r"'q'.*1 distinct value in 2 rows lie outside.*rows 1, 2"):
        one(["2021-01-01", "2019-12-31", "2019-12-31"], kind="date", range=["2020-01-01", "2022-01-01"])


def test_a_declared_range_is_the_range() -> None:
    table = one(["20", "30"], kind="numeric", range=[0, 100])
    assert table.loss(np.zeros(2, np.int64)) == pytest.approx(0.1)
    keys = {"distance": "numeric", "range": [0, 100]}
    form = table_of(["20", "30"], keys, None).domains[0].form
    assert form.emd([Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]) == Fraction(1, 10)


@pytest.mark.parametrize("kind", ["numeric", "date"])
@pytest.mark.parametrize("value", [True, [1], b"1", timedelta(1)])
def test_types_that_are_neither_numbers_nor_dates(kind: str, value: Any) -> None:
    with pytest.raises(TableError, match="'q' is of type"):
        one([value], kind=kind)


@pytest.mark.parametrize("value", [[1], b"1", {"a": 1}])
def test_types_that_have_no_categories(value: Any) -> None:
    with pytest.raises(TableError, match="'q' is of type"):
        one([value], kind="categorical")


# Precision


@pytest.mark.parametrize(
    "values",
    [["0.1", "0.2", "0.3"], ["123456789012.345", "0.001"], ["9007199254740991", "-9007199254740991"], ["1e15"]],
)
def test_up_to_fifteen_digits_are_exact(values: list[str]) -> None:
    def plain(text: str) -> Fraction:
        return Fraction(text)

    released = single_labels(one(values, kind="numeric"))
    assert [plain(str(text)) for text in released] == [plain(text) for text in values]


LONG = [["9007199254740993", "9007199254740992"], ["0.12345678901234567"], ["123456789012.345", "1e-9"], ["1e300"]]
LONG += [["20000000000000000", "30000000000000000"], ["5e-324", "1.7976931348623157e308"]]


@pytest.mark.parametrize("values", LONG)
def test_any_number_of_digits_is_exact_in_a_quasi_identifier(values: list[str]) -> None:
    labels = single_labels(one(values, kind="numeric"))
    assert [Fraction(str(label)) for label in labels] == [Fraction(value) for value in values]


@pytest.mark.parametrize(
    "values",
    [["1", "1.0000000000000001"], ["9007199254740992", "9007199254740993"]],
)
@pytest.mark.parametrize("role", ["quasi", "ordered", "numeric"])
def test_numbers_that_a_float_cannot_tell_apart_are_told_apart(values: list[str], role: str) -> None:
    table = one(values, kind="numeric") if role == "quasi" else table_of(values, {"distance": role}, None)
    codes = table.places[0] if role == "quasi" else table.codes[0]
    assert codes.tolist() == [0, 1]


def test_whole_numbers_of_64_bits_keep_their_order() -> None:
    columns = {"row": [0, 1, 2], "ill": [2**60 + 1, 2**60, 2**60 + 2]}
    keys = {"k": 1, "quasi": {"row": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "ordered", "t": 1}}}
    assert encode(read(pl.DataFrame(columns)), Schema.from_dict(keys)).codes[0].tolist() == [1, 0, 2]


def test_numbers_without_a_common_unit_are_refused() -> None:
    with pytest.raises(TableError, match=r"'value'.*no common unit|'\w+'.*no common unit"):
        one(["1e-400", "1e307"], kind="numeric")


FAR = 10**20


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize(
    "values", [[1, 2, 3, 4], [0.5, 1.5, 2.5, 1e-5], [1e-323, 0.0, 1.0, 2.0], [2**62, -(2**62), 1, 2]]
)
@pytest.mark.parametrize(
    "keys",
    [
        {"range": [-FAR, FAR]},
        {"range": [-FAR, FAR], "publish": "mean"},
        {"range": [-(2**63), 2**63], "top": 3},
        {"step": FAR, "publish": "bounds"},
        {"bottom": -FAR, "top": FAR},
        {"coarsest": FAR, "step": 0.5},
    ],
    ids=str,
)
def test_limits_of_more_than_64_bits(keys: dict[str, Any], values: list[Any]) -> None:
    """Beside numbers that fit, too: limits are scaled with them."""
    frame = pl.DataFrame({"age": values * 2, "ill": ["a", "b"] * 4}, strict=False)
    schema = {
        "k": 2,
        "quasi": {"age": {"kind": "numeric"} | keys},
        "sensitive": {"ill": {"distance": "equal", "t": 1}},
    }
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    assert tclose.verify(release.table, schema, original=frame).holds
    assert 0 <= release.loss <= 1


def test_a_range_too_wide_for_exact_arithmetic_is_refused() -> None:
    wide = [f"{number}" for number in (0, 9007199254740991)] * 300
    with pytest.raises(TableError, match=r"'ill'.*too large.*bins"):
        table_of(wide, {"distance": "numeric"}, None)


# Roles


def small(**keys: Any) -> tuple[pl.DataFrame, Schema]:
    frame = pl.DataFrame(
        {"id": ["p", "q", "r", "s"], "age": [1, 1, 2, 2], "kept": ["x", "x", "y", "z"], "ill": list("abab")}
    )
    base: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    base["sensitive"] = {"ill": {"distance": "equal", "t": 1}}
    return frame, Schema.from_dict(base | keys)


def test_a_column_without_a_role_is_an_error() -> None:
    frame, schema = small(identifiers=["id"])
    with pytest.raises(TableError, match=r"'kept'.*\[quasi.NAME\].*identifiers.*keep"):
        encode(read(frame), schema)


def test_all_columns_without_a_role_are_listed() -> None:
    frame, schema = small()
    with pytest.raises(TableError, match=r"2 of the table's columns.*'id', 'kept'"):
        encode(read(frame), schema)


def test_a_role_without_a_column_is_an_error() -> None:
    frame, schema = small(identifiers=["id"], keep=["kept", "gone", "lost"])
    with pytest.raises(TableError, match="'gone', 'lost'"):
        encode(read(frame), schema)


def test_a_unit_with_several_rows_is_refused() -> None:
    frame, schema = small(unit="id", keep=["kept"])
    with pytest.raises(TableError, match=r"'id' is the unit, and its 3 units have 4 rows.*Set unit_rows") as caught:
        encode(read(frame.with_columns(id=pl.Series(["p", "q", "q", "s"]))), schema)
    assert "'q'" not in str(caught.value)
    with pytest.raises(TableError, match="'id' is the unit, and is missing in 1 rows"):
        encode(read(frame.with_columns(id=pl.Series(["p", None, "q", "s"]))), schema)
    assert len(encode(read(frame), schema)) == 4


def test_a_unit_is_not_released() -> None:
    frame, schema = small(unit="id", keep=["kept"], keep_unchecked=True)
    checked = tclose.anonymize(frame, schema)
    taken = tclose.anonymize(frame.drop("id"), small(keep=["kept"], keep_unchecked=True)[1])
    assert checked.table.columns == taken.table.columns == ["age", "kept", "ill"]
    assert checked.certificate["unit"] != taken.certificate["unit"] == "one row is taken to be one person"


def test_dropped_rows_do_not_count_for_the_unit() -> None:
    frame, schema = small(unit="id", keep=["kept"], missing="drop")
    frame = frame.with_columns(id=pl.Series(["p", "q", "q", "s"]), age=pl.Series([1, 1, None, 2]))
    assert encode(read(frame), schema).rows.tolist() == [0, 1, 3]


def test_kept_columns_must_leave_groups_of_k() -> None:
    frame, schema = small(identifiers=["id"], keep=["kept"])
    with pytest.raises(InfeasibleError, match=r"group of 1 row, and k is 2.*`keep`"):
        tclose.anonymize(frame, schema)
    together = frame.with_columns(kept=pl.Series(["x", "x", "y", "y"]))
    checked = tclose.anonymize(together, schema)
    assert "checked" in checked.certificate["keep"]
    unchecked = tclose.anonymize(frame, small(identifiers=["id"], keep=["kept"], keep_unchecked=True)[1])
    assert "not checked" in unchecked.certificate["keep"]
    assert unchecked.aligned()["kept"].to_list() == ["x", "x", "y", "z"]


def test_some_of_the_rows_keep_axes_domains_and_numbers() -> None:
    frame, schema = small(identifiers=["id"], keep=["kept"])
    table = encode(read(frame), schema)
    some = table.take(np.array([3, 1]))
    assert (some.axes, some.domains) == (table.axes, table.domains)
    assert some.rows.tolist() == [3, 1]
    assert some.places[0].tolist() == [1, 0]
    assert some.codes[0].tolist() == [1, 1]


def test_no_rows() -> None:
    frame, schema = small(identifiers=["id"], keep=["kept"])
    with pytest.raises(TableError, match="no rows"):
        encode(read(frame.head(0)), schema)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), min_size=1, max_size=60))
def test_spans_are_the_lowest_and_highest_places_of_each_class(rows: list[tuple[int, int]]) -> None:
    table = one([str(value) for _, value in rows], kind="numeric")
    partition = Partition.of(np.array([label for label, _ in rows]))
    by_class: dict[int, list[int]] = {}
    for label, place in zip(partition.labels.tolist(), table.places[0].tolist(), strict=True):
        by_class.setdefault(label, []).append(place)
    ((low, high),) = spans = table.spans(partition.labels, partition.n_classes)
    assert low.tolist() == [min(by_class[label]) for label in sorted(by_class)]
    assert high.tolist() == [max(by_class[label]) for label in sorted(by_class)]
    assert table.loss(partition.labels, spans) == table.loss(partition.labels)
