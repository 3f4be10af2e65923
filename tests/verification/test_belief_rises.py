"""Rise and beta of released classes against their definitions, at the threshold and next to it."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.assessment import assess_source
from tclose.verification.belief_rises import is_at_most_log, log_bounds
from tclose.verification.judge_release import judge
from tclose.verification.measure_release import measure
from tests.oracles import belief

TREE = {"cancer": ["lung", "skin"], "other": ["flu", "rash"]}
GROUP = {"lung": "cancer", "skin": "cancer", "flu": "other", "rash": "other"}
STEP = Fraction(1, 10**9)


def schema_of(**caps: Any) -> Schema:
    keys = {"distance": "hierarchical", "hierarchy": TREE, **caps}
    return Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "categorical"}}, "sensitive": {"ill": keys}})


def random_table(seed: int) -> tuple[pl.DataFrame, list[str], list[list[str]]]:
    random = Random(seed)
    n = random.randint(2, 40)
    ill = [random.choice(["lung", "flu", "flu", "flu", "rash", "skin"]) for _ in range(n)]
    classes = [random.randint(0, random.choice([0, 1, 4])) for _ in range(n)]
    parts = [[value for value, own in zip(ill, classes, strict=True) if own == each] for each in sorted(set(classes))]
    return pl.DataFrame({"q": [f"c{each}" for each in classes], "ill": ill}), ill, parts


@pytest.mark.parametrize("levels", [False, True])
def test_measured_as_defined(levels: bool) -> None:
    verdicts = []
    for seed in range(80):
        frame, ill, parts = random_table(seed)
        schema = schema_of(rise="1/2", beta=1, enhanced=True, **({"levels": True} if levels else {}))
        found = measure(Source.of(frame), schema).rises["ill"]
        sets = [(ill, parts)]
        if levels:
            sets.append(([GROUP[each] for each in ill], [[GROUP[each] for each in part] for part in parts]))
        assert found.rise == max(belief.largest_rise(*each) for each in sets)
        assert found.beta == max(belief.largest_beta(*each) for each in sets)
        met = {
            "rise": found.rise <= Fraction(1, 2),
            "beta": found.beta <= 1,
            "enhanced": found.beta <= 1 and all(belief.is_enhanced(*each) for each in sets),
        }
        assert found.meets == met
        verdicts.append(tuple(met.values()))
    assert len(set(verdicts)) > 3


def test_thresholds_at_equality_and_next_to_it() -> None:
    for seed in range(40):
        frame, ill, parts = random_table(seed)
        rise, beta = belief.largest_rise(ill, parts), belief.largest_beta(ill, parts)
        for key, reached in (("rise", rise), ("beta", beta)):
            if reached <= STEP:
                continue
            assert judge(Source.of(frame), schema_of(**{key: str(reached)})).holds
            found = judge(Source.of(frame), schema_of(**{key: str(reached - STEP)}))
            assert [problem.split(":")[0] for problem in found.problems] == [f"{key} of 'ill'"]


def test_an_enhanced_cap_forbids_what_beta_allows() -> None:
    """Half of the table is flu: 1 - ln(1/2) = 1.69, so a class may not have 0.85 or more of it, whatever beta is."""
    frame = pl.DataFrame({"q": ["a"] * 10 + ["b"] * 10, "ill": ["flu"] * 9 + ["rash"] + ["flu"] + ["rash"] * 9})
    assert judge(Source.of(frame), schema_of(beta=1)).holds
    found = judge(Source.of(frame), schema_of(beta=1, enhanced=True))
    assert "1 - ln p" in found.problems[0]
    less = frame.with_columns(ill=pl.Series(["flu"] * 8 + ["rash"] * 2 + ["flu"] * 2 + ["rash"] * 8))
    assert judge(Source.of(less), schema_of(beta=1, enhanced=True)).holds


def test_a_table_of_one_value_keeps_every_cap() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b"], "ill": ["flu"] * 3})
    assert judge(Source.of(frame), schema_of(rise=0, beta="1/1000", enhanced=True, levels=True)).holds


def test_a_cap_holds_for_missing_values_too() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "ill": [None, "flu", "flu", "flu"]})
    keys = schema_of(rise="0.2").as_dict() | {"missing": "category"}
    assert "rise of 'ill'" in judge(Source.of(frame), Schema.from_dict(keys)).problems[0]


def test_logarithms_are_enclosed() -> None:
    random = Random(7)
    for _ in range(200):
        of = 1 + Fraction(random.randint(1, 10**6), random.choice([1, 7, 10**3, 10**6]))
        bounds = [log_bounds(of, terms) for terms in (4, 16, 64)]
        with localcontext() as context:
            context.prec = 60
            exact = Fraction((Decimal(of.numerator) / Decimal(of.denominator)).ln())
        for low, high in bounds:
            assert low - Fraction(1, 10**50) < exact < high + Fraction(1, 10**50)
        assert bounds[0][1] - bounds[0][0] > bounds[2][1] - bounds[2][0]


def test_a_number_next_to_a_logarithm_is_told_apart() -> None:
    """Decimals of a logarithm, cut off and rounded up after many digits."""
    for of in (Fraction(2), Fraction(3, 2), Fraction(10**6), Fraction(10**6 + 1, 10**6)):
        for digits in (20, 45, 90):
            with localcontext() as context:
                context.prec = 200
                logarithm = Fraction((Decimal(of.numerator) / Decimal(of.denominator)).ln())
            below = Fraction(logarithm.numerator * 10**digits // logarithm.denominator, 10**digits)
            assert is_at_most_log(below, of)
            assert not is_at_most_log(below + Fraction(1, 10**digits), of)


def test_assess_reports_what_classes_disclose() -> None:
    deltas = set()
    for seed in range(60):
        frame, ill, parts = random_table(seed)
        found = assess_source(Source.of(frame), schema_of(rise=1)).disclosure["ill"]
        assert found.alpha == belief.alpha(parts)
        assert found.rise == belief.largest_rise(ill, parts)
        assert found.beta == belief.largest_beta(ill, parts)
        assert found.enhanced_beta == (found.beta if belief.is_enhanced(ill, parts) else None)
        assert found.log_ratio == pytest.approx(belief.log_ratio(ill, parts), abs=1e-12)
        expected = belief.delta(ill, parts)
        assert (found.delta is None) == (expected is None)
        assert expected is None or found.delta == pytest.approx(expected, abs=1e-12)
        deltas.add(found.delta is None)
    assert deltas == {True, False}


def test_assess_tells_it_as_json() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "ill": ["flu", "flu", "flu", "rash"]})
    told = tclose.assess(frame, schema_of(rise=1)).as_dict()["disclosure"]["ill"]
    assert told == {
        "alpha": {"exact": "1", "value": 1.0},
        "rise": {"exact": "1/4", "value": 0.25},
        "beta": {"exact": "1", "value": 1.0},
        "enhanced_beta": None,
        "delta": None,
        "log_ratio": {"of": "2", "value": pytest.approx(0.6931471805599453)},
    }
