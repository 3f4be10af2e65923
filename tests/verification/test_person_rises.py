"""Shares of persons: the verifier against plain counting, at and next to thresholds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.judge_release import judge
from tests.oracles import persons as oracle
from tests.seeds import for_seeds

TREE = {"lung": ["flu", "cold"], "skin": ["rash", "acne"]}
BY_TREE = {"distance": "hierarchical", "hierarchy": TREE}


def schema(k: int = 1, **asked: Any) -> Schema:
    quasi = {"age": {"kind": "numeric"}}
    keys = {"k": k, "unit": "who", "unit_rows": "all", "quasi": quasi, "sensitive": {"ill": {**BY_TREE, **asked}}}
    return Schema.from_dict(keys)


def table(rows: list[tuple[int, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["who", "age", "ill"], orient="row")


def four_with_hiv() -> pl.DataFrame:
    """Classes of four persons with one HIV row each and one person with 96 rows of flu."""
    rows = []
    for age in (20, 30, 40):
        rows += [(10 * age + person, age, "HIV") for person in range(4)]
        rows += [(10 * age + 9, age, "flu")] * 96
    return table(rows)


def by_equal(**asked: Any) -> Schema:
    keys = {"k": 5, "unit": "who", "unit_rows": "all", "quasi": {"age": {"kind": "numeric"}}}
    return Schema.from_dict({**keys, "sensitive": {"ill": {"distance": "equal", **asked}}})


def test_t_is_0_by_rows_where_four_of_five_persons_have_hiv() -> None:
    frame = four_with_hiv()
    report = tclose.assess(frame, by_equal(t=0))
    assert (report.t["ill"], report.k, report.persons) == (Fraction(0), 5, 15)
    assert report.disclosure["ill"].rise == 0  # of rows, 4 of 100 in every class and in the table
    assert report.person_rises["ill"].rise == 0  # of persons, 4 of 5 in both
    narrow = frame.filter((pl.col("age") == 20) | (pl.col("ill") == "flu"))
    report = tclose.assess(narrow, by_equal(t=1))
    assert report.person_rises["ill"].rise == 1 - Fraction(3, 7)  # of flu, which three of seven persons have
    assert report.as_dict()["in_persons"]["rise"]["ill"]["exact"] == "4/7"


def test_rows_of_one_person_hide_the_others() -> None:
    """By rows the class has HIV as rarely as the table; by persons four of five have it, and one of five elsewhere."""
    rows = [(person, 20, "HIV") for person in range(4)] + [(4, 20, "flu")] * 96
    rows += [(10, 30, "HIV")] * 4 + [(10 + person, 30, "flu") for person in range(1, 5) for _ in range(24)]
    frame = table(rows)
    keys = by_equal(t=0, rise=0.2)
    found = judge(Source.of(frame.drop("who")), keys, Source.of(frame))
    assert found.t["ill"] == 0
    assert found.persons == 5
    assert found.person_rises["ill"].rise == Fraction(4, 5) - Fraction(5, 10) == Fraction(3, 10)
    assert found.problems == [
        "rise of 'ill' in persons: the share of a value in some class is 3/10 = 0.3 above that in the table, and rise "
        "is 1/5 = 0.2."
    ]
    assert judge(Source.of(frame.drop("who")), by_equal(t=0, rise=0.3), Source.of(frame)).holds


@for_seeds(80)
def test_against_plain_counting(seed: int) -> None:
    random = Random(seed)
    n = random.randint(2, 30)
    ages = [random.randint(20, 22) for _ in range(n)]
    rows = [(random.randint(0, n // 2), random.choice(["flu", "cold", "rash", "acne"])) for _ in range(n)]
    frame = table([(who, age, ill) for (who, ill), age in zip(rows, ages, strict=True)])
    tree = TREE if seed % 2 else None
    rise, beta = oracle.largest_rise(rows, ages, tree), oracle.largest_beta(rows, ages, tree)
    for less in (Fraction(0), Fraction(1, 10**9)):
        for key, most in (("rise", rise), ("beta", beta)):
            if most <= less:
                continue
            asked = schema(1, **{key: str(most - less), "levels": bool(tree)})
            found = judge(Source.of(frame.drop("who")), asked, Source.of(frame))
            assert (found.person_rises["ill"].rise, found.person_rises["ill"].beta) == (rise, beta)
            assert found.holds == (less == 0)
            assert found.persons == min(oracle.persons(one) for one in oracle.grouped(rows, ages))


def test_where_every_row_is_a_person_they_are_those_of_rows() -> None:
    frame = table([(row, 20 + row % 3, ["flu", "cold", "rash"][row % 2 + row % 5 // 4]) for row in range(30)])
    in_persons = judge(Source.of(frame.drop("who")), schema(rise=1, beta=20), Source.of(frame)).person_rises["ill"]
    in_rows = judge(Source.of(frame.drop("who")), replace(schema(rise=1, beta=20), unit=None, unit_rows=None))
    assert in_rows.measured is not None
    assert (in_persons.rise, in_persons.beta) == (
        in_rows.measured.rises["ill"].rise,
        in_rows.measured.rises["ill"].beta,
    )


def test_the_enhanced_form_counts_persons_too() -> None:
    rows = [(who, 20, "flu") for who in range(5)] + [(who, 30, "cold") for who in range(5, 10)]
    frame = table(rows + [(who, 30, "cold") for who in range(5, 10)])
    asked = schema(beta=5, enhanced=True)
    (problem,) = judge(Source.of(frame.drop("who")), asked, Source.of(frame)).problems
    assert problem.startswith(
        "beta of 'ill' in persons: the share p of a value in the table is more than 1 - ln p times"
    )


def test_a_file_alone_says_what_it_cannot_show() -> None:
    frame = four_with_hiv()
    asked = by_equal(t=0, rise=0.1)
    alone = tclose.verify(frame.drop("who"), asked)
    assert (alone.holds, alone.persons, alone.k) == (True, None, 100)
    assert alone.unchecked["persons"] == (
        "k, and the caps of 'ill', are promised in persons, and only the original says whose a row is"
    )
    assert alone.as_dict()["counted"] == "rows"
    both = tclose.verify(frame.drop("who"), asked, original=frame)
    assert (both.holds, both.k, "persons" in both.unchecked) == (True, 5, False)
    assert both.as_dict()["in_persons"]["rise"]["ill"] == {"exact": "0", "value": 0.0}
    assert not tclose.verify(frame.drop("who"), replace(asked, k=6), original=frame).holds


def test_an_original_that_does_not_say_whose_a_row_is() -> None:
    frame = four_with_hiv().with_columns(who=pl.when(pl.col("who") == 200).then(None).otherwise(pl.col("who")))
    found = judge(Source.of(frame.drop("who")), by_equal(t=0), Source.of(frame))
    assert found.problems == [
        "Column 'who' is the unit, and 1 of 300 rows have none. Fill it in, or leave those rows out."
    ]


@pytest.mark.parametrize("left_out", [0, 1])
def test_one_row_of_each_is_checked(left_out: int) -> None:
    frame = table([(who, 20, ill) for who in range(4) for ill in ("flu", "cold")])
    asked = replace(schema(t=1), unit_rows="one")
    rows = pl.Series([0, 2, 4, 6][left_out:]).to_numpy()
    problems = judge(Source.of(frame[rows.tolist()].drop("who")), asked, Source.of(frame), rows).problems
    assert problems == (["Of 1 of the persons no row is released, and one of each is to be kept."] if left_out else [])
    twice = pl.Series([0, 1, 2, 4, 6]).to_numpy()
    problems = judge(Source.of(frame[twice.tolist()].drop("who")), asked, Source.of(frame), twice).problems
    assert problems == ["Of 1 of the persons several rows are released, and one of each is to be kept."]
