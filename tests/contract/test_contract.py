"""Every registered method keeps the contract on every awkward table."""

from __future__ import annotations

from collections import Counter

import pytest

from tclose.algorithms import REGISTRY, find
from tclose.testing import AWKWARD, Case, check_method, why_not
from tests.seeds import one_in

VARIANTS = [
    ("mondrian", {"textbook": "true"}),
    ("sabre-ak", {"slack": "true"}),
    ("sabre-knn", {"metric": "loss", "slack": "true"}),
]


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: str(case.name))
@pytest.mark.everyday(120)
def test_contract(name: str, case: Case) -> None:
    method = find(name)
    if reason := why_not(method, case):
        pytest.skip(reason)
    check_method(method, case)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("case", one_in(12, AWKWARD), ids=lambda case: str(case.name))
def test_contract_with_options(variant: tuple[str, dict[str, str]], case: Case) -> None:
    method = find(*variant)
    if reason := why_not(method, case):
        pytest.skip(reason)
    check_method(method, case)


def test_every_method_is_tested_on_many_tables() -> None:
    """On a third at least: those that promise k alone, or k and l, are not asked for more, nor for all limits.

    Tables with an objective are for the few methods that take it.
    """
    by_loss = [case for case in AWKWARD if not case.name.startswith(("queries", "classify"))]
    tested = Counter(name for name in REGISTRY for case in by_loss if why_not(find(name), case) is None)
    assert {name: tested[name] for name in REGISTRY if tested[name] < len(by_loss) // 3} == {}
