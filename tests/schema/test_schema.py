"""The schema: every key in and out, and everything wrong named before a row is read."""

from __future__ import annotations

import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import SchemaError
from tclose.schema.builders import Intervals
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema

EXAMPLE = """
k = 6
recode = "generalize"
missing = "category"
missing_values = ["?", "NA"]
identifiers = ["name"]
keep = ["region_code"]
keep_unchecked = true
unit = "patient_id"
delimiter = ";"
encoding = "latin-1"
decimal = ","

[quasi.age]
kind = "numeric"
step = 5
bottom = 18
top = 90
range = [0, 120]
publish = "bounds"

[quasi.workclass]
kind = "categorical"
hierarchy = "trees/workclass.csv"

[quasi.admitted]
kind = "date"
step = "quarter"
format = "%d.%m.%Y"
bottom = 2019-12-31
top = "2021-03-31"

[quasi.zip]
kind = "text"

[quasi.phone]
kind = "digits"

[sensitive.occupation]
distance = "hierarchical"
hierarchy = "trees/occupation.csv"
t = 0.2

[sensitive.charge]
distance = "ordered"
bins = 10
t = 0.15

[sensitive.pay]
distance = "ordered"
edges = [1000, 2500.5]
t = "1/3"

[sensitive.grade]
distance = "ordered"
order = ["low", "middle", "high"]
l = 2

[sensitive.weight]
distance = "numeric"
range = [0, 250.5]
t = 0

[sensitive.disease]
distance = "equal"
t = 1
l = { distinct = 3, entropy = 2.5, frequency = "7/3", recursive = { c = 0.5, l = 2 } }

[sensitive.religion]
distance = "matrix"
matrix = { values = ["a", "b", "c"], costs = [[0, 0.5, 1], [0.5, 0, 0.75], [1, 0.75, 0]] }
t = 0.3
"""
WORKCLASS = "clerk;office;*\nboss;office;*\nsmith;craft;*\n"
OCCUPATION = "a;x;*\nb;x;*\nc;*\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example, its trees in a folder below."""
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees/workclass.csv").write_text(WORKCLASS)
    (tmp_path / "trees/occupation.csv").write_text(OCCUPATION)
    (tmp_path / "schema.toml").write_text(EXAMPLE)
    return tmp_path


def check_example(schema: Schema) -> None:
    """Every key of the example has arrived."""
    assert (schema.k, schema.recode, schema.missing) == (6, "generalize", "category")
    assert (schema.missing_values, schema.identifiers, schema.keep) == (("?", "NA"), ("name",), ("region_code",))
    assert (schema.keep_unchecked, schema.unit) == (True, "patient_id")
    assert (schema.delimiter, schema.encoding, schema.decimal) == (";", "latin-1", ",")
    age, workclass, admitted, text, phone = schema.quasi
    assert (age.kind, age.step, age.bottom, age.top, age.range) == ("numeric", 5, 18, 90, (0, 120))
    assert age.released == ("age_low", "age_high")
    assert isinstance(workclass.hierarchy, tclose.Hierarchy)
    assert workclass.hierarchy.leaves == ("clerk", "boss", "smith")
    assert (admitted.kind, admitted.step, admitted.format) == ("date", "quarter", "%d.%m.%Y")
    assert (admitted.bottom, admitted.top) == (date(2019, 12, 31), date(2021, 3, 31))
    assert (text.kind, phone.kind) == ("text", "digits")
    sensitive = {column.column: column for column in schema.sensitive}
    assert {name: column.t for name, column in sensitive.items()} == {
        "occupation": Fraction(1, 5),
        "charge": Fraction(3, 20),
        "pay": Fraction(1, 3),
        "grade": None,
        "weight": 0,
        "disease": 1,
        "religion": Fraction(3, 10),
    }
    assert sensitive["occupation"].hierarchy is not None
    assert sensitive["occupation"].hierarchy.leaves == ("a", "b", "c")
    assert sensitive["charge"].bins == 10
    assert [float(edge) for edge in sensitive["pay"].edges or ()] == [1000, 2500.5]
    assert sensitive["grade"].order == ("low", "middle", "high")
    assert sensitive["grade"].l == Diversity(distinct=2)
    assert sensitive["weight"].range is not None
    assert tuple(map(float, sensitive["weight"].range)) == (0, 250.5)
    assert sensitive["disease"].l == Diversity(3, Fraction(5, 2), Fraction(7, 3), (Fraction(1, 2), 2))
    assert sensitive["religion"].matrix is not None
    assert tuple(sensitive["religion"].matrix.values or ()) == ("a", "b", "c")


# In


def test_from_toml(folder: Path) -> None:
    check_example(Schema.load(folder / "schema.toml"))


def test_from_toml_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "schema.toml").write_text(EXAMPLE, encoding="utf-8-sig")
    check_example(Schema.load(folder / "schema.toml"))


def test_from_a_dict(folder: Path) -> None:
    # tomllib gives floats here, where the file is read as decimals: 0.2 is 1/5 either way.
    check_example(Schema.from_dict(tomllib.loads(EXAMPLE), folder))


def test_paths_are_relative_to_the_schema(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    check_example(Schema.load(folder / "schema.toml"))


def test_defaults_are_those_of_the_design() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    assert (schema.recode, schema.missing, schema.missing_values) == ("generalize", None, ())
    assert (schema.delimiter, schema.encoding, schema.decimal) == (",", "utf-8", ".")
    assert (schema.unit, schema.identifiers, schema.keep, schema.keep_unchecked) == (None, (), (), False)
    assert (schema.quasi[0].publish, schema.sensitive) == ("interval", ())


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (0.2, Fraction(1, 5)),
        (0.1, Fraction(1, 10)),
        ("0.15", Fraction(3, 20)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.35"), Fraction(7, 20)),
        (Fraction(2, 7), Fraction(2, 7)),
        (0, Fraction(0)),
        (1, Fraction(1)),
        (1e-7, Fraction(1, 10_000_000)),
        ("0.123456789012", Fraction(123456789012, 10**12)),
    ],
)
def test_t_is_what_its_decimal_text_says(written: object, exact: Fraction) -> None:
    assert Schema.from_dict(base(sensitive={"ill": {"distance": "equal", "t": written}})).sensitive[0].t == exact


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (2, Diversity(distinct=2)),
        ({"distinct": 2}, Diversity(distinct=2)),
        ({"entropy": 1.5}, Diversity(entropy=Fraction(3, 2))),
        ({"entropy": "4/3", "frequency": 2}, Diversity(entropy=Fraction(4, 3), frequency=Fraction(2))),
        ({"frequency": 2.5}, Diversity(frequency=Fraction(5, 2))),
        ({"recursive": {"c": 3, "l": 2}}, Diversity(recursive=(Fraction(3), 2))),
        ({"recursive": {"c": "1/2", "l": 1}}, Diversity(recursive=(Fraction(1, 2), 1))),
    ],
)
def test_l_in_all_its_forms(written: object, asked: Diversity) -> None:
    schema = Schema.from_dict(base(sensitive={"ill": {"distance": "equal", "l": written}}))
    assert schema.sensitive[0].l == asked
    assert Schema.from_dict(tomllib.loads(schema.to_toml())).sensitive[0].l == asked


def test_the_keyword_shorthand_is_a_schema() -> None:
    frame = pl.DataFrame({"age": [30, 31, 50, 51], "ill": ["flu", "cold", "flu", "cold"]})
    with pytest.warns(tclose.InferredSchemaWarning, match="age numeric"):
        release = tclose.anonymize(frame, quasi=["age"], sensitive={"ill": 0.5}, k=2, missing="drop")
    assert (release.schema.k, release.schema.missing) == (2, "drop")
    assert release.schema.sensitive[0].t == Fraction(1, 2)


# Out


def test_round_trip_through_toml(folder: Path) -> None:
    schema = Schema.load(folder / "schema.toml")
    text = schema.to_toml(folder)
    again = Schema.from_dict(tomllib.loads(text), folder)
    check_example(again)
    assert again.as_dict(folder) == schema.as_dict(folder)
    assert tomllib.loads(text)["quasi"]["workclass"]["hierarchy"] == "trees/workclass.csv"


def test_saved_elsewhere_the_hierarchies_stay_where_they_are(folder: Path) -> None:
    (folder / "deep/er").mkdir(parents=True)
    Schema.load(folder / "schema.toml").save(folder / "deep/er/copy.toml")
    keys = tomllib.loads((folder / "deep/er/copy.toml").read_text())
    assert keys["quasi"]["workclass"]["hierarchy"] == "../../trees/workclass.csv"
    check_example(Schema.load(folder / "deep/er/copy.toml"))


NESTED = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}, "other": []}
COLUMNS: list[tuple[str, dict[str, Any]]] = [
    ("quasi", {"kind": "categorical", "hierarchy": NESTED}),
    ("quasi", {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5, 10], "origin": 1}}),
    ("quasi", {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [0.5, 2.5]}}),
    ("quasi", {"kind": "categorical", "hierarchy": {"build": "prefixes", "lengths": [3, 1]}}),
    ("quasi", {"kind": "categorical", "hierarchy": {"build": "dates", "levels": ["month", "year"]}}),
    ("quasi", {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [5, 10]}}),
    ("quasi", {"kind": "numeric", "step": 0.5, "bottom": -1.5, "top": 2}),
    ("quasi", {"kind": "numeric", "publish": "mean", "range": [-10, 10]}),
    ("quasi", {"kind": "date", "step": 7, "range": [date(2020, 1, 1), date(2021, 1, 1)]}),
    ("quasi", {"kind": "date", "step": "month", "publish": "bounds"}),
    ("sensitive", {"distance": "hierarchical", "hierarchy": NESTED, "t": "1/7"}),
    ("sensitive", {"distance": "ordered", "order": ["1", "2"], "t": 0.125}),
    ("sensitive", {"distance": "numeric", "range": [0, 1.5], "t": 0.2}),
    ("sensitive", {"distance": "matrix", "matrix": {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}, "l": 2}),
]


def paths(tree: tclose.Hierarchy) -> set[tuple[str, ...]]:
    """The way up from each leaf: a tree but for the order of its siblings."""
    ways = set()
    for leaf in tree.leaf_nodes.tolist():
        way = []
        while leaf >= 0:
            way.append(tree.labels[leaf])
            leaf = tree.parents[leaf]
        ways.add(tuple(way))
    return ways


@pytest.mark.parametrize(("role", "keys"), COLUMNS)
def test_round_trip_of_a_column(role: str, keys: dict[str, Any]) -> None:
    schema = Schema.from_dict(base(**{role: {"a b.c": keys}}))
    again = Schema.from_dict(tomllib.loads(schema.to_toml()))
    assert again.as_dict() == schema.as_dict()
    column = again.quasi[0] if role == "quasi" else again.sensitive[0]
    original = schema.quasi[0] if role == "quasi" else schema.sensitive[0]
    assert column.column == "a b.c"
    if isinstance(original.hierarchy, tclose.Hierarchy):
        assert isinstance(column.hierarchy, tclose.Hierarchy)
        assert paths(column.hierarchy) == paths(original.hierarchy)
    if isinstance(original.hierarchy, Intervals):
        assert isinstance(column.hierarchy, Intervals)
        assert column.hierarchy.build(["1", "7"]).labels == original.hierarchy.build(["1", "7"]).labels


@pytest.mark.parametrize("name", ['"; DROP TABLE x', "=1+1", "<b>", "a\nb", "ключ", "", "a.b", "'", '"', "\\", "#"])
def test_round_trip_of_a_hostile_name(name: str) -> None:
    schema = Schema.from_dict(base(quasi={name: {"kind": "numeric"}}, identifiers=[name + "!"]))
    again = Schema.from_dict(tomllib.loads(schema.to_toml()))
    assert again == schema


def test_a_matrix_file(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text(",a,b\na,0,1\nb,1,0\n")
    keys = base(sensitive={"ill": {"distance": "matrix", "matrix": "costs.csv", "t": 0.2}})
    schema = Schema.from_dict(keys, tmp_path)
    assert schema.sensitive[0].matrix is not None
    assert schema.sensitive[0].matrix.values == ("a", "b")
    assert schema.as_dict(tmp_path)["sensitive"]["ill"]["matrix"] == "costs.csv"


# What is wrong


def base(**changes: Any) -> dict[str, Any]:
    """The smallest good schema, changed."""
    keys: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    return keys | {"sensitive": {"ill": {"distance": "equal", "t": 0.5}}} | changes


def quasi(**keys: Any) -> dict[str, Any]:
    return {"quasi": {"age": {"kind": "numeric"} | keys}}


def sensitive(**keys: Any) -> dict[str, Any]:
    return {"sensitive": {"ill": {"distance": "equal"} | keys}}


KINDS = "numeric, categorical, date, text, digits"
DISTANCES = "equal, ordered, numeric, hierarchical, matrix"
TREE = {"distance": "hierarchical"}
A_MATRIX = {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}

# What is wrong, the keys, and what the message must say: where, and what is allowed.
WRONG: list[tuple[str, dict[str, Any], list[str]]] = [
    ("unknown key", {"quasy": {}}, ["'quasy'", "quasi", "sensitive", "missing_values"]),
    ("unknown key of a quasi-identifier", quasi(stepp=5), ["[quasi.age]", "'stepp'", "step", "publish"]),
    ("unknown key of a sensitive attribute", sensitive(tt=1), ["[sensitive.ill]", "'tt'", "order"]),
    ("unknown kind", quasi(kind="nummeric"), ["[quasi.age]", "kind", KINDS]),
    ("kind not a text", quasi(kind=["numeric"]), ["[quasi.age]", "kind", KINDS]),
    ("no kind", {"quasi": {"age": {}}}, ["[quasi.age]", "kind is required", "digits"]),
    ("unknown distance", sensitive(distance="euclid"), ["[sensitive.ill]", "distance", DISTANCES]),
    ("no distance", {"sensitive": {"ill": {"t": 0.2}}}, ["[sensitive.ill]", "distance is required", "matrix"]),
    ("t above 1", sensitive(t=1.01), ["[sensitive.ill]", "t must be from 0 to 1", "1.01"]),
    ("t below 0", sensitive(t=-0.1), ["[sensitive.ill]", "t must be from 0 to 1"]),
    ("t not a number", sensitive(t="much"), ["[sensitive.ill]", "t must be a number", "1/3"]),
    ("t over zero", sensitive(t="1/0"), ["[sensitive.ill]", "t must be a number"]),
    ("t infinite", sensitive(t=float("inf")), ["[sensitive.ill]", "t must be"]),
    ("t not any number", sensitive(t=float("nan")), ["[sensitive.ill]", "t must be"]),
    ("t true", sensitive(t=True), ["[sensitive.ill]", "t must be a number"]),
    ("k 0", {"k": 0}, ["k must be a whole number from 1 up"]),
    ("k negative", {"k": -3}, ["k must be a whole number from 1 up"]),
    ("k a float", {"k": 2.5}, ["k must be a whole number from 1 up"]),
    ("k a text", {"k": "5"}, ["k must be a whole number from 1 up"]),
    ("k true", {"k": True}, ["k must be a whole number from 1 up"]),
    ("no quasi-identifier", {"quasi": {}}, ["quasi-identifier", "[quasi.age]"]),
    ("quasi a list", {"quasi": ["age"]}, ["quasi", "[quasi.NAME]"]),
    ("a column not a table", {"quasi": {"age": "numeric"}}, ["[quasi.age]", "table"]),
    ("identifier and quasi", {"identifiers": ["age"]}, ["'age'", "identifiers", "quasi"]),
    ("identifier twice", {"identifiers": ["x", "x"]}, ["'x'", "identifiers"]),
    ("keep and sensitive", {"keep": ["ill"]}, ["'ill'", "keep", "sensitive"]),
    ("unit and quasi", {"unit": "age"}, ["'age'", "unit", "quasi"]),
    ("identifier and keep", {"identifiers": ["x"], "keep": ["x"]}, ["'x'", "identifiers", "keep"]),
    (
        "quasi and sensitive",
        {"sensitive": {"age": {"distance": "equal", "t": 0.2}}},
        ["'age'", "quasi", "sensitive"],
    ),
    ("bounds over a column", quasi(publish="bounds") | {"keep": ["age_low"]}, ["'age_low'", "bounds"]),
    ("undecided", {"undecided": {"zip": {}, "job": {}}}, ["undecided", "'zip'", "'job'", "[quasi.NAME]", "keep"]),
    ("undecided, a list", {"undecided": ["zip"]}, ["undecided"]),
    ("undecided, a number", {"undecided": 3}, ["undecided"]),
    ("identifiers a text", {"identifiers": "name"}, ["identifiers must be a list"]),
    ("keep of numbers", {"keep": [1]}, ["keep must be a list of texts"]),
    ("unit a list", {"unit": ["a"]}, ["unit must be a text"]),
    ("keep_unchecked a text", {"keep_unchecked": "yes"}, ["keep_unchecked must be true or false"]),
    ("unknown recoding", {"recode": "swap"}, ["recode", "generalize, suppress"]),
    ("unknown policy", {"missing": "impute"}, ["missing", "category, drop, error"]),
    ("delimiter of two", {"delimiter": ", "}, ["delimiter", "one plain character"]),
    ("delimiter a quote", {"delimiter": '"'}, ["delimiter"]),
    ("unknown encoding", {"encoding": "latin-99"}, ["encoding", "utf-8"]),
    ("decimal that is none", {"decimal": ";"}, ["decimal"]),
    ("unknown publish", quasi(publish="median"), ["[quasi.age]", "publish", "interval, bounds, mean"]),
    (
        "publish a category's mean",
        quasi(kind="categorical", publish="mean"),
        ["[quasi.age]", "categorical", "interval"],
    ),
    ("publish a date's mean", quasi(kind="date", publish="mean"), ["[quasi.age]", "date", "interval or bounds"]),
    ("step 0", quasi(step=0), ["[quasi.age]", "'step' must be above 0"]),
    ("step true", quasi(step=True), ["[quasi.age]", "'step'"]),
    ("step in words", quasi(step="month"), ["[quasi.age]", "'step' must be a number"]),
    ("step of a date", quasi(kind="date", step="week"), ["[quasi.age]", "day, month, quarter, year"]),
    ("step of part of a day", quasi(kind="date", step=0.5), ["[quasi.age]", "whole number of days"]),
    ("step of a category", quasi(kind="categorical", step=5), ["[quasi.age]", "'step'", "numeric or date"]),
    ("bottom above top", quasi(bottom=9, top=3), ["[quasi.age]", "'bottom' and 'top' must ascend"]),
    ("bottom of a date", quasi(kind="date", bottom=5), ["[quasi.age]", "must be dates", "2021-03-31"]),
    ("bottom in words", quasi(bottom="low"), ["[quasi.age]", "must be numbers"]),
    ("range of one", quasi(range=[5]), ["[quasi.age]", "'range' must be two values"]),
    ("range falls", quasi(range=[5, 1]), ["[quasi.age]", "'range' must ascend"]),
    ("format of a number", quasi(format="%Y"), ["[quasi.age]", "'format'", "date"]),
    ("format not a text", quasi(kind="date", format=3), ["[quasi.age]", "'format'"]),
    ("suppress with step", quasi(step=5) | {"recode": "suppress"}, ["[quasi.age]", "suppress", "step"]),
    ("tree for a number", quasi(hierarchy={"a": ["1"]}), ["[quasi.age]", "intervals", "categorical"]),
    ("tree for digits", quasi(kind="digits", hierarchy={"a": ["1"]}), ["[quasi.age]", "digits"]),
    ("hierarchy a number", quasi(kind="categorical", hierarchy=3), ["[quasi.age]", "file name, nested tables"]),
    (
        "hierarchy file absent",
        quasi(kind="categorical", hierarchy="no.csv"),
        ["[quasi.age]", "no.csv", "cannot be read"],
    ),
    ("two parents", quasi(kind="categorical", hierarchy={"a": ["1"], "b": ["1"]}), ["[quasi.age]", "parent"]),
    ("leaf twice", quasi(kind="categorical", hierarchy={"a": ["1", "1"]}), ["[quasi.age]", "same value"]),
    ("leaf a number", quasi(kind="categorical", hierarchy={"a": [1]}), ["[quasi.age]", "text"]),
    ("branch a text", quasi(kind="categorical", hierarchy={"a": "1"}), ["[quasi.age]", "list of values"]),
    ("empty branch", quasi(kind="categorical", hierarchy={"a": {}}), ["[quasi.age]", "empty"]),
    (
        "unknown builder",
        quasi(kind="categorical", hierarchy={"build": "clusters"}),
        ["[quasi.age]", "intervals, prefixes, dates"],
    ),
    (
        "builder's unknown key",
        quasi(kind="categorical", hierarchy={"build": "prefixes", "widths": [1]}),
        ["[quasi.age]", "'widths'", "lengths"],
    ),
    (
        "widths that do not nest",
        quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5, 12]}),
        ["[quasi.age]", "'widths'", "multiple"],
    ),
    (
        "lengths that rise",
        quasi(kind="categorical", hierarchy={"build": "prefixes", "lengths": [1, 3]}),
        ["[quasi.age]", "'lengths'", "falling"],
    ),
    (
        "levels out of order",
        quasi(kind="categorical", hierarchy={"build": "dates", "levels": ["year", "month"]}),
        ["[quasi.age]", "'levels'", "month, quarter, year"],
    ),
    ("no hierarchy", sensitive(**TREE), ["[sensitive.ill]", "hierarchical needs 'hierarchy'"]),
    ("no matrix", sensitive(distance="matrix"), ["[sensitive.ill]", "matrix needs 'matrix'"]),
    ("tree for equal", sensitive(hierarchy={"a": ["1"]}), ["[sensitive.ill]", "'hierarchy'", "hierarchical"]),
    ("built tree", sensitive(**TREE, hierarchy={"build": "prefixes", "lengths": [1]}), ["[sensitive.ill]", "file"]),
    ("order and bins", sensitive(distance="ordered", order=["a"], bins=3), ["[sensitive.ill]", "only one of"]),
    ("order with a value twice", sensitive(distance="ordered", order=["a", "a"]), ["[sensitive.ill]", "twice"]),
    ("order a text", sensitive(distance="ordered", order="abc"), ["[sensitive.ill]", "'order' must be a list"]),
    ("order for equal", sensitive(order=["a"]), ["[sensitive.ill]", "'order'", "ordered"]),
    ("bins 0", sensitive(distance="ordered", bins=0), ["[sensitive.ill]", "'bins'", "from 1 up"]),
    ("edges fall", sensitive(distance="ordered", edges=[3, 1]), ["[sensitive.ill]", "'edges'", "ascending"]),
    ("edges a number", sensitive(distance="ordered", edges=3), ["[sensitive.ill]", "'edges'", "ascending"]),
    ("range for ordered", sensitive(distance="ordered", range=[0, 1]), ["[sensitive.ill]", "'range'", "numeric"]),
    ("range falls, sensitive", sensitive(distance="numeric", range=[1, 0]), ["[sensitive.ill]", "'range'"]),
    ("matrix a number", sensitive(distance="matrix", matrix=3), ["[sensitive.ill]", "'values' and 'costs'"]),
    ("matrix absent", sensitive(distance="matrix", matrix="no.csv"), ["[sensitive.ill]", "no.csv", "cannot be read"]),
    (
        "matrix of words",
        sensitive(distance="matrix", matrix=A_MATRIX | {"costs": [["x", 1], [1, 0]]}),
        ["[sensitive.ill]", "matrix", "numbers"],
    ),
    (
        "matrix without rows",
        sensitive(distance="matrix", matrix=A_MATRIX | {"costs": 3}),
        ["[sensitive.ill]", "matrix"],
    ),
    (
        "matrix not a metric",
        sensitive(distance="matrix", matrix=A_MATRIX | {"costs": [[0, 2], [2, 0]]}),
        ["[sensitive.ill]", "matrix", "normalized"],
    ),
    ("l 0", sensitive(l=0), ["[sensitive.ill]", "l.distinct", "from 1 up"]),
    ("l a text", sensitive(l="2"), ["[sensitive.ill]", "distinct, entropy, frequency, recursive"]),
    ("l empty", sensitive(l={}), ["[sensitive.ill]", "distinct, entropy, frequency, recursive"]),
    ("l unknown", sensitive(l={"skew": 2}), ["[sensitive.ill]", "distinct, entropy, frequency, recursive"]),
    ("l entropy below 1", sensitive(l={"entropy": 0.5}), ["[sensitive.ill]", "l.entropy", "at least 1"]),
    ("l recursive of one", sensitive(l={"recursive": {"c": 1}}), ["[sensitive.ill]", "l.recursive", "c and l"]),
    ("l recursive c 0", sensitive(l={"recursive": {"c": 0, "l": 2}}), ["[sensitive.ill]", "l.recursive.c"]),
]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        pytest.param(
            *case[1:],
            id=case[0],
        )
        for case in WRONG
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(base(**keys))
    for part in said:
        assert part in str(caught.value)


def test_k_is_required() -> None:
    keys = base()
    del keys["k"]
    with pytest.raises(SchemaError, match="k is required"):
        Schema.from_dict(keys)


def test_several_problems_are_listed_at_once() -> None:
    keys = base(quasy={}, undecided={"zip": {}}, quasi={"age": {"kind": "x"}, "job": {"kind": "y"}})
    keys |= {"sensitive": {"ill": {"distance": "equal", "t": 2}, "pay": {"distance": "far"}}}
    del keys["k"]
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(keys)
    lines = str(caught.value).splitlines()
    wanted = ["'quasy'", "'zip'", "k is required", "[quasi.age]", "[quasi.job]", "[sensitive.ill]", "[sensitive.pay]"]
    for part in wanted:
        assert sum(part in line for line in lines) == 1, part


def test_k_and_roles_are_listed_with_the_rest() -> None:
    keys = base(k=0, recode="swap", identifiers=["age"], sensitive={"ill": {"distance": "far"}})
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(keys)
    for part in ("[sensitive.ill]", "k must be", "recode", "'age'"):
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["k = ", "k = 5\nk = 6", "[quasi.age]\nkind = 'numeric'\n[quasi.age]\n"])
def test_not_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "schema.toml").write_text(text)
    with pytest.raises(SchemaError, match="not valid TOML"):
        Schema.load(tmp_path / "schema.toml")


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.load(tmp_path / "schema.toml")


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "schema.toml")


# Nothing of the table is read: there is none


def test_a_sensitive_attribute_that_asks_nothing_is_refused_before_reading() -> None:
    schema = Schema.from_dict(base(sensitive={"ill": {"distance": "equal"}}))
    with pytest.raises(SchemaError, match=r"\[sensitive.ill\].*none of t, l, rise and beta"):
        tclose.anonymize("absent.csv", schema)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"k": 0}, "k must be"),
        ({"sensitive": {"ill": 2}}, "t must be"),
        ({"quasi": {"age": {"kind": "x"}}}, "kind must be"),
        ({"identifiers": ["age"]}, "'age'"),
        ({"kk": 2}, "'kk'"),
    ],
)
def test_wrong_keywords_are_refused_before_reading(keys: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"k": 2, "quasi": ["age"], "sensitive": {"ill": 0.2}}
    with pytest.raises(SchemaError, match=said):
        tclose.anonymize("absent.csv", **(given | keys))


def test_schema_and_keywords_together_are_refused() -> None:
    with pytest.raises(SchemaError, match="not both: k"):
        tclose.anonymize("absent.csv", Schema.from_dict(base()), k=5)


def test_neither_schema_nor_keywords() -> None:
    with pytest.raises(SchemaError, match="Give a schema"):
        tclose.anonymize("absent.csv")


MANY = [f"x{number}" for number in range(10_000)]


@pytest.mark.parametrize(
    "keys",
    [
        dict.fromkeys(MANY, 1),
        {"undecided": {name: {} for name in MANY}},
        {"identifiers": MANY, "keep": MANY},
        {"x" * 1_000_000: 1},
    ],
    ids=["unknown", "undecided", "twice", "long"],
)
def test_what_is_wrong_is_said_at_no_great_length(keys: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, **keys})
    assert len(str(caught.value)) < 10_000
    if len(keys) > 1:
        assert str(caught.value).splitlines()[-1] == "and 9980 more."


def test_a_schema_of_python_is_refused_at_no_great_length_either() -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(2, (), identifiers=tuple(MANY), keep=tuple(MANY))
    assert len(str(caught.value)) < 10_000


# Caps on belief


def test_caps_are_read_exactly_and_written_back() -> None:
    tree = {"lung": ["flu", "cold"], "skin": ["rash"]}
    keys = {"distance": "hierarchical", "hierarchy": tree, "rise": 0.1, "beta": "4/3", "enhanced": True, "levels": True}
    schema = Schema.from_dict(base(sensitive={"ill": keys}))
    caps = schema.sensitive[0].caps
    assert caps is not None
    assert (caps.rise, caps.beta, caps.enhanced, caps.levels) == (Fraction(1, 10), Fraction(4, 3), True, True)
    assert Schema.from_dict(schema.as_dict()) == schema
    assert schema.unprotected == ()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rise": 1.5}, r"\[sensitive.ill\]: rise must be from 0 to 1"),
        ({"rise": -0.1}, "rise must be from 0 to 1"),
        ({"rise": "much"}, "rise must be a number"),
        ({"beta": 0}, "beta must be above 0"),
        ({"beta": True}, "beta must be a number"),
        ({"t": 0.2, "enhanced": True}, "'enhanced' makes beta stricter, and there is none"),
        ({"beta": 1, "enhanced": "yes"}, "enhanced must be true or false"),
        ({"rise": 0.1, "levels": True}, "'levels' is for distance hierarchical"),
    ],
)
def test_caps_that_mean_nothing_are_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict(base(sensitive={"ill": {"distance": "equal", **keys}}))


def test_levels_without_a_cap_are_refused() -> None:
    keys = {"distance": "hierarchical", "hierarchy": {"lung": ["flu"], "skin": ["rash"]}, "t": 0.2, "levels": True}
    with pytest.raises(SchemaError, match="'levels' extends rise and beta"):
        Schema.from_dict(base(sensitive={"ill": keys}))


@pytest.mark.parametrize("key", ["rise", "beta"])
def test_methods_that_do_not_promise_caps_refuse_them(key: str) -> None:
    schema = Schema.from_dict(base(k=2, recode="suppress", sensitive={"ill": {"distance": "equal", key: "1/2"}}))
    for method in ("k-approx", "two-diversity"):
        with pytest.raises(SchemaError, match=f"does not guarantee {key}"):
            tclose.anonymize("absent.csv", schema, method=method)
