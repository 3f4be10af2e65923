"""Fixed seeds of the fuzzer, and what it has found before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.cases import make_case
from tests.fuzz.checks import Finding, check
from tests.fuzz.forms import FORMS
from tests.fuzz.found import FOUND, Found
from tests.fuzz.fuzz import script, shrink
from tests.seeds import for_seeds

N_EVERYDAY, N_SLOW = 10, 200


@for_seeds(N_EVERYDAY, 5)
def test_some_seeds(seed: int) -> None:
    assert check(make_case(seed)) == []


@pytest.mark.slow
@for_seeds(N_SLOW)
def test_many_seeds(seed: int) -> None:
    assert check(make_case(1000 + seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1_004_089])  # a bound that is gone where no tail was declared
def test_seeds_at_which_the_judge_itself_failed(seed: int) -> None:
    assert check(make_case(seed)) == []


@pytest.mark.parametrize("found", FOUND, ids=lambda found: str(found.name))
@pytest.mark.everyday(2)
def test_what_was_found(found: Found) -> None:
    assert check(found.case, forms=[form for form in FORMS if form != "polars"]) == []


def test_a_finding_is_made_small() -> None:
    """Whatever has five rows and a column `q0` is taken to be wrong: nothing else may remain."""

    def wrong(case: object) -> list[Finding]:
        columns = [column.name for column in case.columns]  # type: ignore[attr-defined]
        return [Finding("wrong", "")] if len(case.rows) >= 5 and "q0" in columns else []  # type: ignore[attr-defined]

    case = next(case for case in map(make_case, range(100)) if len(case.columns) > 4 and "joint" not in case.schema)
    small = shrink(case, "wrong", checked=wrong)
    assert ([column.name for column in small.columns], len(small.rows)) == (["q0"], 5)
    assert (small.method, small.options, small.schema["k"]) == ("mondrian", {}, 1)
    compile(script(replace(small, seed=7), Finding("wrong", "")), "script", "exec")


def test_a_seed_makes_one_case() -> None:
    assert repr(make_case(17)) == repr(make_case(17))
    assert repr(make_case(17, frozenset())) != repr(make_case(18, frozenset()))
