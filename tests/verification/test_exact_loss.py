"""The loss of a release by its definition, against what methods go by, and against mistakes in that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.release import recode
from tclose.schema.schema import Schema
from tclose.table import axes
from tclose.table.source import Source
from tclose.verification.exact_loss import LossRange, ReleasedRows, exact_loss

PLACES = {"north": {"n": ["n1", "n2"]}, "south": ["s1", "s2", "s3"], "east": []}
QUASI: dict[str, dict[str, Any]] = {
    "numeric": {"age": {"kind": "numeric"}, "zip": {"kind": "text", "weight": 3}},
    "steps and tails": {"age": {"kind": "numeric", "step": 7, "bottom": 20, "top": 60, "range": [0, 120]}},
    "tails": {"age": {"kind": "numeric", "bottom": 25, "top": 40}, "day": {"kind": "date", "step": "quarter"}},
    "bounds": {"age": {"kind": "numeric", "publish": "bounds", "bottom": 30, "top": 50}},
    "means": {"age": {"kind": "numeric", "publish": "mean", "bottom": 30, "top": 50}, "zip": {"kind": "digits"}},
    "days": {"day": {"kind": "date", "step": 30}, "zip": {"kind": "text", "finest": 3}},
    "trees": {"place": {"kind": "categorical", "hierarchy": PLACES}, "age": {"kind": "numeric", "coarsest": 30}},
    "cut trees": {"place": {"kind": "categorical", "hierarchy": PLACES, "finest": 1}, "zip": {"kind": "categorical"}},
    "built": {
        "age": {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5, 20]}},
        "zip": {"kind": "categorical", "hierarchy": {"build": "prefixes", "lengths": [4, 2]}},
        "day": {"kind": "categorical", "hierarchy": {"build": "dates"}},
    },
}


def make_table(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    gone = pl.int_range(n) % 13 == 0
    return pl.DataFrame(
        {
            "age": rng.integers(15, 70, n),
            "zip": [f"{code:05}" for code in rng.integers(10100, 10900, n)],
            "day": [date.fromordinal(737000 + int(day)) for day in rng.integers(0, 1500, n)],
            "place": rng.choice(["n1", "n2", "s1", "s2", "s3", "east"], n),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    ).with_columns(pl.when(gone).then(None).otherwise(pl.col("age")).alias("age"))


def release_by(quasi: dict[str, Any], **keys: Any) -> tclose.Release:
    table = make_table().select(*quasi, "ill")
    asked = {"k": 3, "missing": "category", "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 0.6}}}
    return tclose.anonymize(table, asked | keys, method="mondrian", allow_single_class=True, seed=1)


def loss_of(release: tclose.Release, quasi: dict[str, Any]) -> LossRange:
    rows, labels = np.arange(60), release.partition.labels  # type: ignore[union-attr]
    taken = ReleasedRows(rows, rows, labels)
    return exact_loss(
        Source.of(make_table().select(*quasi, "ill")), Source.of(release.aligned()), release.schema, taken
    )


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("name", QUASI)
def test_it_is_the_loss_that_methods_go_by(name: str) -> None:
    release = release_by(QUASI[name])
    found = loss_of(release, QUASI[name])
    assert found.least == found.most
    assert found.least == pytest.approx(release.loss, abs=1e-12)
    assert found.least > 0


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("keys", [{"recode": "suppress"}, {"suppress_rows": 0.2}, {"missing": "drop"}])
def test_hidden_cells_and_rows_that_are_left_out(keys: dict[str, Any]) -> None:
    release_by({"age": {"kind": "numeric", "weight": 2}, "zip": {"kind": "digits"}}, **keys)  # it checks itself


def test_by_hand() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}, "place": {"kind": "categorical"}}})
    original = Source.of(pl.DataFrame({"age": [0, 5, 10, 7], "place": [*"abcd"]}))
    shown = Source.of(pl.DataFrame({"age": ["[0, 5]", "[0, 5]", "10"], "place": ["*", "*", "c"]}))
    taken = ReleasedRows(np.arange(3), np.arange(4), np.array([0, 0, 1]))
    found = exact_loss(original, shown, schema, taken)  # twice (1/2 + 1) / 2, 0, and 1 for the row that is left out
    assert (found.least, found.most) == (0.625, 0.625)


def test_a_star_may_be_a_value_and_a_label_two_nodes() -> None:
    tree = {"x": {"x": ["a", "b"], "y": ["c"]}, "z": ["d"]}
    quasi = {"q": {"kind": "categorical"}, "p": {"kind": "categorical", "hierarchy": tree}}
    original = Source.of(pl.DataFrame({"q": ["*", "b"], "p": ["a", "b"]}))
    shown = Source.of(pl.DataFrame({"q": ["*", "b"], "p": ["x", "x"]}))
    taken = ReleasedRows(np.arange(2), np.arange(2), np.array([0, 1]))
    found = exact_loss(original, shown, Schema.from_dict({"k": 1, "quasi": quasi}), taken)
    assert (found.least, found.most) == ((0 + 2 / 4) / 2, (1 / 2 + 3 / 4) / 2)


def _halved(cost: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, low, high: cost(self, low, high) / 2


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_mistakes_in_what_methods_go_by_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, name in ((axes.SpanAxis, "numeric"), (axes.TreeAxis, "trees"), (axes.SpanAxis, "means")):
        with monkeypatch.context() as patch:
            patch.setattr(kind, "cost", _halved(kind.cost))
            with pytest.raises(tclose.VerificationError, match=r"The loss is .* by what methods go by, and .* by the"):
                release_by(QUASI[name])


def _hide_missing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(axes, "_if_missing", lambda first, last: "*")


def _hide_missing_means(patch: pytest.MonkeyPatch) -> None:
    told = recode._means
    patch.setattr(recode, "_means", lambda *given: [each or "*" for each in told(*given)])


@pytest.mark.parametrize(("publish", "mistake"), [("interval", _hide_missing), ("mean", _hide_missing_means)])
def test_a_missing_value_that_is_hidden_needlessly_is_noticed(
    publish: str, mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame({"age": [None] * 3 + [20] * 3, "ill": [*"ababab"]})
    asked = {
        "k": 3,
        "missing": "category",
        "quasi": {"age": {"kind": "numeric", "publish": publish}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.6}},
    }
    assert tclose.anonymize(table, asked, method="mondrian").loss == 0
    mistake(monkeypatch)
    with pytest.raises(tclose.VerificationError, match=r"The loss is 0 by what methods go by, and 0\.5 by the"):
        tclose.anonymize(table, asked, method="mondrian")
