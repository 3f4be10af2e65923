"""The public interface: every form of a schema, typed keywords, one order of arguments, methods of one's own."""

from __future__ import annotations

import inspect
import logging
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

ROOT = Path(__file__).resolve().parents[1]
FRAME, SCHEMA = tclose.datasets.census(300, seed=1)
KEYS = SCHEMA.as_dict()
MONDRIAN = {"methods": ["mondrian"], "queries": 0}
FUNCTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "anonymize": (tclose.anonymize, {"method": "mondrian", "seed": 1}),
    "assess": (tclose.assess, {}),
    "compare": (tclose.compare, MONDRIAN),
    "suggest": (tclose.suggest, {"method": "mondrian", "t": ["0.2", "0.3", "0.5"], "queries": 0}),
    "gap": (tclose.gap, {"methods": ["mondrian"], "time": 1}),
    "verify": (tclose.verify, {}),
    "attack": (tclose.attack, {}),
}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "gap"])
def test_a_schema_comes_in_every_form(name: str, tmp_path: Path) -> None:
    function, options = FUNCTIONS[name]
    SCHEMA.save(tmp_path / "schema.toml")
    found = [function(FRAME, schema, **options) for schema in (SCHEMA, KEYS, tmp_path / "schema.toml")]
    found.append(function(FRAME, str(tmp_path / "schema.toml"), **options))
    assert len({_told(each) for each in found}) == 1


def _told(found: Any) -> str:
    if isinstance(found, tclose.Release):
        return str(found.certificate.as_dict())
    told = found.as_dict()
    for run in told.get("runs", []):
        run.pop("seconds", None)
    told.get("best", {}).pop("seconds", None)
    return str(told)


WRONG = [
    *((name, "seed", "x") for name in ("anonymize", "compare", "suggest", "gap", "attack", "utility", "what_binds")),
    *((name, "time", "x") for name in ("anonymize", "compare", "suggest", "gap")),
    *((name, "queries", -1) for name in ("compare", "suggest", "utility")),
    *(("compare", "k", 2.0), ("compare", "jobs", "x"), ("suggest", "by", "lost"), ("anonymize", "start", "x")),
    *(("what_binds", "seconds", "x"), ("what_binds", "rows", 0.5)),
    *((name, "progress", 3) for name in ("anonymize", "compare", "suggest", "gap", "attack", "what_binds")),
    *((name, "control", 3) for name in ("anonymize", "compare", "suggest", "gap", "what_binds")),
    *((name, "show_values", "no") for name in ("anonymize", "assess")),
    *(("anonymize", "allow_single_class", "no"), ("anonymize", "earlier", 3), ("anonymize", "earlier", [None])),
    *(("verify", "in_order", "no"), ("verify", "escaped_formulas", 0), ("attack", "one_class", "no")),
    *(("attack", "candidates", "x"), ("compare", "k", [[2]])),
    *(("utility", key, "x") for key in ("weights", "attributes", "selectivity", "cubes", "aligned", "classifier")),
    *(("utility", "weights", {"age": "x"}), ("utility", "cubes", 3)),
]


@pytest.mark.everyday(len(WRONG))
@pytest.mark.parametrize(("name", "key", "value"), WRONG)
def test_a_wrong_argument_is_named(name: str, key: str, value: object) -> None:
    function: Any = getattr(tclose, name)
    release = tclose.anonymize(FRAME, SCHEMA, method="mondrian", seed=1)
    second = release if name in ("attack", "utility", "what_binds") else SCHEMA
    options = {"methods": ["mondrian"]} if name in ("compare", "gap") else {}
    with pytest.raises((tclose.SchemaError, tclose.TableError, tclose.MeasureError), match=rf"\b{key}\b.* must be"):
        function(FRAME, second, **{**options, key: value})


def test_one_t_k_or_method_needs_no_list() -> None:
    found = tclose.compare(FRAME, SCHEMA, methods="mondrian", t=0.3, k=7, queries=0)
    assert [(run.method, float(run.t or 0), run.k) for run in found.runs] == [("mondrian", 0.3, 7)]
    assert tclose.gap(FRAME.head(12), SCHEMA, methods="mondrian", time=0.1).entries


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("name", ["anonymize", "assess", "compare", "suggest", "gap"])
def test_keywords_stand_for_a_schema(name: str) -> None:
    function, options = FUNCTIONS[name]
    frame = pl.DataFrame({"age": [20, 21, 40, 41, 60, 61] * 2, "ill": ["a", "b"] * 6})
    with pytest.warns(tclose.InferredSchemaWarning):
        function(frame, quasi=["age"], sensitive={"ill": 0.5}, k=2, **options)
    if name == "assess":
        with pytest.warns(tclose.InferredSchemaWarning):
            function(frame, quasi=["age"], sensitive={"ill": 0.5})


@pytest.mark.parametrize("name", ["anonymize", "assess", "compare", "suggest", "gap"])
def test_keywords_are_parameters(name: str) -> None:
    shown = inspect.signature(FUNCTIONS[name][0]).parameters
    assert {"quasi", "sensitive", "k", "missing", "keep"} <= set(shown)
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in shown.values())


def test_a_wrong_keyword_is_named() -> None:
    wrong: Any = {"metod": "tight"}
    with pytest.raises(tclose.SchemaError, match=r"anonymize has no parameter 'metod'.*Did you mean"):
        tclose.anonymize(FRAME, quasi=["age"], k=2, **wrong)
    quasi: Any
    for quasi in (3, [3], "age", {"age": 3}):
        with pytest.raises(tclose.SchemaError, match=r"quasi must (be a list|map each column)"):
            tclose.anonymize(FRAME, quasi=quasi, k=2)
    five: Any = "five"
    with pytest.raises(tclose.SchemaError, match="k must be a whole number"):
        tclose.anonymize(FRAME, quasi=["age"], k=five)


@pytest.mark.slow
def test_a_type_checker_sees_wrong_keywords(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(
        'import tclose\ntclose.anonymize(1, quasi=["a"], sensitive={"b": 0.2}, k=5, method=tclose.Tight("fast"))\n'
        'tclose.compare(1, "a.toml", methods=tclose.Tight(), t="1/3", k=7)\n'
        'tclose.gap(1, "a.toml", methods="mondrian")\n'
    )
    (tmp_path / "wrong.py").write_text(
        "import tclose\n"
        'tclose.anonymize(1, quasi=["a"], k="five")\n'
        'tclose.anonymize(1, quasi=["a"], k=5, metod="tight")\n'
        'tclose.compare(1, quasi=["a"], k=[5], recode="swap")\n'
        'tclose.suggest(1, quasi=["a"], k=5, max_rise=[])\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--strict", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT / "src",
    )
    wrong = [line for line in done.stdout.splitlines() if "error" in line and tmp_path.name in line]
    assert [line.split(":")[1] for line in wrong] == ["2", "3", "4", "5"], done.stdout
    assert "right.py" not in done.stdout


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_the_table_comes_first(name: str) -> None:
    function, options = FUNCTIONS[name]
    with pytest.raises(tclose.TcloseError, match=rf"{name}.*\(df, "):
        function(SCHEMA, FRAME, **options)


def test_the_table_comes_before_the_release() -> None:
    release = tclose.anonymize(FRAME, SCHEMA, method="mondrian")
    for function in (tclose.utility, tclose.report_html, tclose.attack):
        with pytest.raises(tclose.TcloseError, match=r"\(df, release"):
            function(release, FRAME)  # type: ignore[arg-type]


def test_the_old_order_of_attack_says_the_new_one() -> None:
    release = tclose.anonymize(FRAME, SCHEMA, method="mondrian")
    with pytest.raises(tclose.SchemaError, match=r"attack takes \(df, release\)"):
        tclose.attack(FRAME, SCHEMA, release)  # type: ignore[arg-type]


class Plain:
    """A method that is no dataclass."""

    name: ClassVar[str] = "plain"
    capabilities: ClassVar[Capabilities] = Capabilities("one class", "none")

    def __init__(self, width: Any = 3) -> None:
        self.width = width

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        return Partition(np.zeros(len(table), np.int64))


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_a_method_need_not_be_a_dataclass() -> None:
    release = tclose.anonymize(FRAME, SCHEMA, method=Plain(), allow_single_class=True)
    assert release.certificate["method"] == {"name": "plain", "parameters": {"width": 3}}


class Slotted(Plain):
    """A method whose parameters are slots."""

    __slots__ = ("_hidden", "width")


@dataclass
class Mutable(Plain):
    """A method that cannot be hashed."""

    width: int = 4


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_a_method_may_have_slots_and_change() -> None:
    release = tclose.anonymize(FRAME, SCHEMA, method=Slotted(5), allow_single_class=True)
    assert release.certificate["method"]["parameters"] == {"width": 5}
    found = tclose.compare(FRAME, SCHEMA, methods=[Mutable(), Mutable(), Mutable(5)], queries=0)
    assert len(found.runs) == 2


def test_a_stream_takes_a_method_that_is_no_dataclass_and_a_schema_in_any_form(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.toml")
    method = Plain(8)
    engines = [
        tclose.stream.Engine(schema, window=100, step=50, method=method, seed=1)
        for schema in (SCHEMA, KEYS, tmp_path / "schema.toml")
    ]
    told = [engine.certificate() for engine in engines]
    assert told[0] == told[1] == told[2]
    assert told[0]["method"]["parameters"] == {"width": 8}
    halves = [*engines[0].feed(FRAME.head(150))]
    later = tclose.stream.Engine.restore(KEYS, engines[0].checkpoint(), method)
    halves += [*later.feed(FRAME.tail(150)), *later.finish()]
    whole = [*engines[1].feed(FRAME), *engines[1].finish()]
    assert [each.numbers.tolist() for one in halves for each in one.released] == [
        each.numbers.tolist() for one in whole for each in one.released
    ]
    for wrong in ({"window": "x"}, {"seed": "x"}, {"step": 2.5}):
        asked: Any = {"window": 100, "step": 50, **wrong}
        with pytest.raises(tclose.SchemaError, match=rf"{next(iter(wrong))} must be a whole number"):
            tclose.stream.Engine(SCHEMA, **asked)


class Unusual(Plain):
    """A method that is not what the contract says in one way or another."""

    def __init__(self, labels: Any) -> None:
        super().__init__()
        self._labels = labels

    def partition(self, table: EncodedTable, requirement: Requirement, **rest: Any) -> Partition:
        return Partition(self._labels)


@pytest.mark.parametrize(
    "labels",
    [np.full(300, -1), np.full(300, 7), np.zeros(300), np.array([0] * 299 + [2]), np.zeros(300, bool), [0] * 300],
    ids=["none", "a gap", "floats", "a late gap", "flags", "a list"],
)
def test_labels_that_are_no_classes_are_refused_with_a_sentence(labels: Any) -> None:
    with pytest.raises(tclose.SchemaError, match=r"'plain' must number its classes 0, 1, 2"):
        tclose.anonymize(FRAME, SCHEMA, method=Unusual(labels), allow_single_class=True)
    with pytest.raises(tclose.TableError, match="start must be a Partition"):
        tclose.anonymize(FRAME, SCHEMA, method="mondrian", start=Partition(labels))


def test_what_does_not_fit_the_contract_is_refused_with_a_sentence() -> None:
    method: Any = Plain()
    for partition in (3, lambda table: None):
        method.partition = partition
        with pytest.raises(tclose.SchemaError, match=r"'plain': partition must be a function of \(table, requirement"):
            tclose.anonymize(FRAME, SCHEMA, method=method)
    unnamed: Any = Plain()
    unnamed.name = 3
    with pytest.raises(tclose.SchemaError, match="The name of a method must be a text"):
        tclose.anonymize(FRAME, SCHEMA, method=unnamed)


def test_what_is_no_path_is_refused_with_a_sentence(tmp_path: Path) -> None:
    three: Any = 3
    release = tclose.anonymize(FRAME, SCHEMA, method="mondrian", seed=1)
    with pytest.raises(tclose.TableError, match="path must be a path, and this is a int"):
        release.write(three)
    with pytest.raises(tclose.SchemaError, match="keep_order must be true or false"):
        release.write(tmp_path / "release.csv", keep_order=three)
    with pytest.raises(tclose.TableError, match="history must be a path"):
        tclose.republish(FRAME, SCHEMA, history=three)
    with pytest.raises(tclose.SchemaError, match="loaded from a path to TOML"):
        tclose.Schema.load(three)
    with pytest.raises(tclose.SchemaError, match="keys of a schema are a dict"):
        tclose.Schema.from_dict(three)
    with pytest.raises(ValueError, match="distance must be 'equal' or 'ordered'"):
        tclose.emd([1], [1], three)


def test_spark_takes_the_table_first_too() -> None:
    schema: Any = SCHEMA
    with pytest.raises(tclose.SchemaError, match=r"spark.anonymize\(df, schema"):
        tclose.spark.anonymize(SCHEMA, schema)
    with pytest.raises(tclose.TableError, match=r"spark.anonymize\(df, schema"):
        tclose.spark.anonymize(KEYS, FRAME)  # type: ignore[arg-type]


def test_what_is_no_method_is_refused_with_a_sentence() -> None:
    kind: Any = tclose.Mondrian
    with pytest.raises(tclose.SchemaError, match=r"Mondrian is a class. Write Mondrian\(\)"):
        tclose.anonymize(FRAME, SCHEMA, method=kind)
    nothing: Any = object()
    with pytest.raises(tclose.SchemaError, match="has no 'name' and no 'capabilities' and no 'partition'"):
        tclose.anonymize(FRAME, SCHEMA, method=nothing)
    with pytest.raises(tclose.SchemaError, match="parameters that a certificate cannot hold"):
        tclose.anonymize(FRAME, SCHEMA, method=Plain(width=object()))


def test_methods_are_importable_by_their_names() -> None:
    for method in tclose.methods():
        kind = type(tclose.algorithms.find(method["name"]))
        assert getattr(tclose, kind.__name__) is kind


def test_loggers_say_what_is_done_and_never_a_cell(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [4711, 4711, 4712, 4712], "ill": ["secret-a", "secret-b"] * 2})
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    with caplog.at_level(logging.INFO, "tclose"):
        tclose.anonymize(frame, schema, method="mondrian").write(tmp_path / "release.csv")
    told = caplog.text
    assert all(word in told for word in ("read", "encode", "partition", "verified", "wrote 4 rows"))
    assert not any(cell in told for cell in ("4711", "4712", "secret"))


def test_streams_and_histories_log_what_they_do_and_never_a_cell(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    rows = 60
    frame = pl.DataFrame(
        {"who": [f"4711-{row}" for row in range(rows)], "age": [4711, 4712] * (rows // 2), "ill": ["secret-a"] * rows}
    )
    schema = tclose.Schema.from_dict(
        {
            "k": 2,
            "unit": "who",
            "quasi": {"age": {"kind": "numeric"}},
            "sensitive": {"ill": {"distance": "equal", "t": 1}},
        }
    )
    with caplog.at_level(logging.INFO, "tclose"):
        tclose.republish(frame, schema, history=tmp_path / "history", first=True, method="mondrian")
        engine = tclose.stream.Engine(replace(schema, unit=None, identifiers=("who",)), window=40, step=20, seed=1)
        assert [*engine.feed(frame), *engine.finish()]
    assert "release 1 of a history" in caplog.text
    assert re.search(r"step \d+: \d+ rows out, 0 withheld", caplog.text)
    assert not any(cell in caplog.text for cell in ("4711", "4712", "secret"))


def test_the_verdict_says_what_is_wrong() -> None:
    frame = pl.DataFrame({"age": ["20", "20", "[30, 40]"], "ill": ["a", "b", "a"]})
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.1}}}
    verdict = tclose.verify(frame, schema)
    assert not verdict.holds
    assert (verdict.k, verdict.classes, verdict.certificate) == (1, 2, None)
    assert verdict.problems[0].split(",")[0] == "The smallest class has 1 row"
    assert verdict.as_dict()["holds"] is False


def test_truth_is_judged_where_the_original_is_given() -> None:
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    original = pl.DataFrame({"age": [20, 30], "ill": ["a", "b"]})
    released = pl.DataFrame({"age": ["[20, 30]"] * 2, "ill": ["a", "b"]})
    assert tclose.verify(released, schema, original=original).holds
    narrow = released.with_columns(age=pl.lit("[20, 29]"))
    assert "does not cover" in tclose.verify(narrow, schema, original=original).problems[0]
    swapped = released.with_columns(ill=pl.Series(["b", "a"]))
    found = tclose.verify(swapped, schema, original=original, in_order=True)
    assert "released as another value" in found.problems[0]
    assert tclose.verify(swapped, schema, original=original).compared == "matched"  # as a shuffled release would be
