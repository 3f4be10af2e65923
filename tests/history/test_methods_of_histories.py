"""Every method that can promise what a schema asks forms the classes of new persons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import REGISTRY, find
from tclose.algorithms.capable import is_capable
from tclose.history.history_check import check_history
from tclose.history.history_state import HistoryState
from tclose.history.intersection_attack import attack_history
from tclose.history.republication import follow
from tclose.schema.schema import Schema
from tclose.table.source import Source

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
KEYS: dict[str, Any] = {
    "k": 2,
    "unit": "who",
    "quasi": {"town": {"kind": "text"}, "sex": {"kind": "categorical"}},
    "sensitive": {"pay": {"distance": "ordered", "t": 0.5}},
}
DIVERSE = {"sensitive": {"pay": {"distance": "equal", "l": {"frequency": 2}}}}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in REGISTRY if name != "mondrian"]
)
def test_any_method_continues_a_history(name: str) -> None:
    schemas = [Schema.from_dict(KEYS), Schema.from_dict(KEYS | DIVERSE)]
    schemas += [replace(each, recode="suppress") for each in schemas]
    schema = next((each for each in schemas if is_capable(find(name), each)), None)
    if schema is None:
        assert name == "k-approx"  # which promises nothing of sensitive attributes
        return
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "who": np.arange(16),
            "town": rng.choice(["011", "012", "021"], 16),
            "sex": rng.choice(["f", "m"], 16),
            "pay": np.arange(16) % 2 + 1,
        }
    )
    state = HistoryState.empty()
    for size in (10, 16):
        source = Source.of(table.head(size))
        release, state = follow(state, b"k" * 32, source, schema, find(name), seed=1, allow_single_class=True)
        assert release.certificate["method"]["name"] == name
    assert release.record.notes["history"]["added"] == 6
    assert check_history(state).holds
    assert attack_history(state, 2).below_k == 0
