"""What caps allow, beside what attackers reach: in the attack, on the pages and in the report."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.evaluation.attacks.allowed_rise import allowed_words
from tclose.schema.schema import Schema

TREE = {"lung": ["flu", "cold"], "skin": ["rash", "acne"]}


def people(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ill = rng.permutation(["flu"] * (n // 2) + ["cold"] * (n // 4) + ["rash"] * (n // 8) + ["acne"] * (n // 8))
    return pl.DataFrame({"who": rng.integers(0, n // 2, n), "age": rng.integers(18, 80, n), "ill": ill})


def schema(**keys: Any) -> Schema:
    ill = {"distance": "hierarchical", "hierarchy": TREE, **keys.pop("ill")}
    kept = {} if "unit" in keys else {"identifiers": ["who"]}
    return Schema.from_dict({"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": ill}, **kept, **keys})


@pytest.mark.filterwarnings("ignore:An identifier repeats")
@pytest.mark.parametrize(
    ("ill", "rise", "ratio"),
    [
        ({"rise": 0.1}, Fraction(1, 10), Fraction(9, 5)),  # 1/8 may become 9/40
        ({"beta": 1}, Fraction(1, 2), Fraction(2)),  # a half may become all
        ({"rise": 0.2, "beta": 0.5}, Fraction(1, 5), Fraction(3, 2)),
        ({"beta": "1/5", "levels": True}, Fraction(1, 10), Fraction(6, 5)),
        ({"rise": 1}, Fraction(7, 8), Fraction(8)),
    ],
)
def test_the_most_that_caps_allow(ill: dict[str, Any], rise: Fraction, ratio: Fraction) -> None:
    found = tclose.attack(people(), schema(ill=ill), method="mondrian", seed=1)
    allowed = found.allowed["ill"]
    assert (allowed.counted, allowed.rise, allowed.ratio) == ("rows", rise, ratio)
    assert allowed.reached is not None
    assert allowed.reached <= allowed.rise
    assert found.after is not None
    assert found.after.skewness["ill"].worst_rise == pytest.approx(float(allowed.reached))
    assert tclose.attack(people(), schema(ill=ill)).allowed["ill"].reached is None
    assert found.as_dict()["allowed"]["ill"]["rise"] == float(rise)


def test_in_persons() -> None:
    asked = schema(ill={"rise": 0.2}, unit="who", unit_rows="all")
    frame = people()
    release = tclose.anonymize(frame, asked, method="mondrian", seed=1)
    allowed = tclose.attack(frame, release).allowed["ill"]
    assert (allowed.counted, allowed.rise) == ("persons", Fraction(1, 5))
    assert str(allowed.reached) == release.record.persons["rise"]["ill"]["exact"]
    assert "that a person has a row of a value of 'ill' may rise by 20.0 points" in allowed_words({"ill": allowed})[0]
    page = tclose.report_html(frame, release, queries=0)
    assert "20.0 points in persons" in page
    assert "those of at least 3 persons" in page
    with pytest.raises(tclose.SchemaError, match="Candidates deal out the values of single rows"):
        tclose.attack(frame, release, candidates=5)


@pytest.mark.filterwarnings("ignore:An identifier repeats")
def test_pages_know_the_caps() -> None:
    frame, asked = people(), schema(ill={"t": 0.5, "rise": 0.25})
    words = "By its caps the belief in a value of &#x27;ill&#x27; may rise by 25.0 points at most"
    compared = tclose.compare(frame, asked, methods=["mondrian"], t=["0.5"], queries=0)
    assert words in compared.html()
    assert compared.as_dict()["allowed"]["ill"]["rise"] == 0.25
    assert words in tclose.suggest(frame, asked, method="mondrian", t=["0.2", "0.4", "0.8"], queries=0).html()
    release = tclose.anonymize(frame, asked, method="mondrian", seed=1)
    page = tclose.report_html(frame, release, queries=0)
    assert words in page
    assert "allowed by caps" in page


def test_bins_have_caps_and_their_values_none() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 80, 60), "pay": rng.integers(0, 1000, 60)})
    pay = {"distance": "ordered", "bins": 4, "rise": 0.5}
    asked = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"pay": pay}})
    assert tclose.attack(frame, asked, method="mondrian").allowed == {}
