"""Every registered method keeps the contract on every awkward table."""

from __future__ import annotations

import pytest

from tclose.algorithms import REGISTRY, find
from tclose.testing import AWKWARD, Case, check_method


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: str(case.name))
def test_contract(name: str, case: Case) -> None:
    check_method(find(name), case)
