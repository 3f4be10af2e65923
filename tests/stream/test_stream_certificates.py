"""Certificates of classes follow from what is published: nothing in them is about rows that are not out."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.schema.schema import Schema
from tclose.stream import Engine, Outcome
from tclose.stream.diversity_by_class import diversity_by_class
from tests.oracles.stream import distances
from tests.stream.streams import TEMPERS, Halves, frame_of, released, rows_of, run, schema_of

Rows = list[dict[str, Any]]


def stream(schema: Schema, rows: Any, window: int = 60, step: int = 20) -> list[Outcome]:
    return run(Engine(schema, window=window, step=step, method=Halves(), seed=1), rows)


def published(outcomes: list[Outcome]) -> tuple[list[Any], bytes]:
    """Released rows with their classes, and the bytes of their certificates."""
    rows = [row for each in released(outcomes) for row in each.frame.with_columns(c=pl.Series(each.classes)).rows()]
    certificates = [each.certificate(place) for each in released(outcomes) for place in range(len(each))]
    return rows, "\n".join(map(json.dumps, certificates)).encode()


def entries(outcomes: list[Outcome]) -> list[Any]:
    """What the ledger says."""
    return [each.entry(place) for each in released(outcomes) for place in range(len(each))]


def rows_as_given(rng: np.random.Generator, temper: str, n: int) -> Rows:
    frame = frame_of(rows_of(rng, temper, n, 4, 1), rng)
    return [{name: str(value) for name, value in row.items()} for row in frame.to_dicts()]


class TestRejected:
    def test_they_are_not_counted(self) -> None:
        """400 rows in a window and 12 rejected ones among them: nobody can tell."""
        rng = np.random.default_rng(1)
        good = rows_as_given(rng, "even", 800)
        wrong = [{**row} for row in good]
        for place in sorted(rng.choice(400, 12, replace=False).tolist(), reverse=True):
            wrong.insert(place, {"age": "old", "s0": "0"})
        schema = schema_of(["0.3"], k=5)
        one, other = (stream(schema, rows, 400, 400) for rows in (good, wrong))
        assert entries(other)[0]["window"] == {"first": 0, "last": 411, "rows": 400}
        assert sum(len(each.numbers) for outcome in other for each in outcome.rejected) == 12
        assert published(one) == published(other)
        assert b'"first"' not in published(other)[1]


class TestReached:
    def test_t_is_told_where_the_whole_window_is_released_together(self) -> None:
        """Whoever has the output alone counts the same."""
        schema = schema_of(["0.3"], k=5)
        for seed in range(8):
            rng = np.random.default_rng(seed)
            outcomes = stream(schema, frame_of(rows_of(rng, TEMPERS[seed], 260, 4, 1), rng), 60, 60)
            rows, certificates = published(outcomes)
            told = {each["class"]: each for each in map(json.loads, certificates.splitlines())}
            n_told = 0
            for number, certificate in told.items():
                own = [row[1:-1] for row in rows if row[-1] == number]
                assert certificate["k"] == len(own)
                if "t" in certificate:
                    first, last = certificate["window"]["classes"]
                    window = [row[1:-1] for row in rows if first <= row[-1] <= last]
                    assert certificate["window"]["rows"] == len(window) == 60
                    assert [Fraction(certificate["t"]["s0"]["exact"])] == distances(own, window, [4])
                    n_told += 1
            assert n_told >= len(told) / 2

    def test_else_the_ledger_has_it(self) -> None:
        schema = schema_of(["0.3"], k=5)
        rng = np.random.default_rng(1)
        outcomes = stream(schema, frame_of(rows_of(rng, "even", 260, 4, 1), rng))
        for each in released(outcomes):
            for place in range(len(each)):
                certificate, entry = each.certificate(place), each.entry(place)
                assert ("t" in certificate) == ("window" in certificate) == each.is_whole_window
                assert set(entry["t"]) == {"s0"}
        assert not all(each.is_whole_window for each in released(outcomes))

    def test_a_row_that_is_withheld_keeps_t_back(self) -> None:
        """The window has it, and it is never published."""
        keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
        schema = Schema.from_dict({**keys, "sensitive": {"ill": {"distance": "equal", "t": "0.6", "l": 2}}})
        frame = pl.DataFrame({"age": range(40), "ill": ["flu"] * 19 + ["cold"] + ["flu", "cold"] * 10})
        outcomes = run(Engine(schema, window=20, step=20, seed=1), frame)
        withheld = [number for outcome in outcomes for each in outcome.withheld for number in each.numbers.tolist()]
        for each in released(outcomes):
            inside = [number for number in withheld if each.window.first <= number <= each.window.last]
            assert not (inside and each.is_whole_window)

    def test_required_and_method(self) -> None:
        schema = schema_of(["0.3"], k=5)
        rng = np.random.default_rng(1)
        outcomes = stream(schema, frame_of(rows_of(rng, "even", 100, 4, 1), rng))
        certificate = released(outcomes)[0].certificate(0)
        asked = {"k": 5, "t": {"s0": {"exact": "3/10", "value": 0.3}}, "l": {}}
        assert certificate["required"] == asked
        assert certificate["method"] == "halves"


class TestDiversity:
    def test_bins_depend_on_the_window(self) -> None:
        """How many of them a class meets is told where the window is out, and the order of rows tells none."""
        keys = {"k": 5, "quasi": {"age": {"kind": "numeric"}}}
        schema = Schema.from_dict({**keys, "sensitive": {"pay": {"distance": "ordered", "bins": 3, "t": 1}}})
        rng = np.random.default_rng(1)
        frame = pl.DataFrame({"age": rng.integers(18, 90, 200), "pay": rng.integers(0, 1000, 200)})
        for step in (20, 40):
            for each in released(run(Engine(schema, window=40, step=step, method="mondrian", seed=1), frame)):
                assert each.certificate(0)["l"].keys() == ({"pay"} if each.is_whole_window else set())
                assert all(one.frame["pay"].is_sorted() for one in each)

    @pytest.mark.parametrize("seed", range(5))
    def test_by_its_definition(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        labels = np.sort(np.append(np.arange(7), rng.integers(0, 7, 60)))
        codes = rng.integers(0, 5, len(labels))
        asked = Schema.from_dict(
            {
                "k": 1,
                "quasi": {"q": {"kind": "text"}},
                "sensitive": {"s": {"distance": "equal", "l": {"recursive": {"c": 2, "l": 3}}}},
            }
        ).sensitive[0]
        found = diversity_by_class(codes, labels, asked.l)
        for label in range(7):
            counts = sorted(np.bincount(codes[labels == label]).tolist(), reverse=True)
            counts = [count for count in counts if count]
            shares = np.array(counts) / sum(counts)
            told = found[label]
            assert told["distinct"] == len(counts)
            assert told["frequency"] == sum(counts) / counts[0]
            assert told["entropy"] == pytest.approx(float(np.prod(shares**-shares)), abs=1e-8)
            above = None if len(counts) < 3 else counts[0] / sum(counts[2:])
            assert told["recursive"] == {"l": 3, "c_above": above}


def other_input(rows: Rows, outcomes: list[Outcome], rng: np.random.Generator) -> Rows:
    """The rows with something changed that may not show: ages inside what is released, the order, what is rejected."""
    changed = [{**row} for row in rows]
    for each in released(outcomes):
        for one in each:
            ages = [int(rows[number]["age"]) for number in one.numbers]
            for number, age in zip(one.numbers.tolist(), ages, strict=True):
                if min(ages) < age < max(ages):
                    changed[number]["age"] = str(rng.integers(min(ages), max(ages) + 1))
    for held in (number for outcome in outcomes for each in outcome.withheld for number in each.numbers.tolist()):
        changed[held]["s0"] = str(rng.integers(0, 4))
    for _ in range(int(rng.integers(0, 4))):
        one, two = rng.integers(0, len(changed), 2).tolist()
        changed[one], changed[two] = changed[two], changed[one]
    for _ in range(int(rng.integers(0, 4))):
        changed.insert(int(rng.integers(0, len(changed))), {"age": "old", "s0": "0"})
    return changed


@pytest.mark.parametrize("pairs", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_the_same_released_rows_have_the_same_certificates(pairs: int) -> None:
    """Two inputs with the same released rows in the same classes: not a byte is different, whatever the ledger says."""
    n_same, n_hidden = 0, 0
    for seed in range(pairs):
        rng = np.random.default_rng(seed)
        schema = schema_of([str(rng.choice(["0.05", "0.3"]))], k=int(rng.integers(2, 5)))
        rows = rows_as_given(rng, TEMPERS[seed % len(TEMPERS)], int(rng.integers(15, 80)))
        step = int(rng.choice([5, 10, 20]))
        one = stream(schema, rows, 20, step)
        other = stream(schema, other_input(rows, one, rng), 20, step)
        if published(one)[0] == published(other)[0]:
            assert published(one)[1] == published(other)[1], seed
            n_same += 1
            n_hidden += entries(one) != entries(other)
    assert n_same > pairs / 4
    assert n_hidden > pairs / 10
