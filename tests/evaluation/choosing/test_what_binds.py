"""what_binds: a change that is known to gain most is found, time is kept, and wrong tables are refused."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.release.binding import Gain
from tests.seeds import for_seeds
from tests.small_tables import small_table

MEDIANS = tclose.Mondrian(textbook=True)
KEYS: dict[str, Any] = {
    "k": 4,
    "quasi": {"block": {"kind": "numeric"}, "noise": {"kind": "numeric"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.5}},
}


def blocks(n: int = 160) -> pl.DataFrame:
    """Rows in blocks of eight, each with both illnesses; only `noise` tells the rows of a block apart."""
    rng = np.random.default_rng(2)
    return pl.DataFrame({"block": np.arange(n) // 8, "noise": rng.permutation(n), "ill": ["a", "b"] * (n // 2)})


def gains_of(frame: pl.DataFrame, keys: dict[str, Any], **options: Any) -> dict[str, Gain]:
    release = tclose.anonymize(frame, keys, method=MEDIANS, seed=1, allow_single_class=True)
    measured = tclose.what_binds(frame, release, method=MEDIANS, **options).measured
    assert measured is not None
    return {gain.change: gain for gain in measured.gains}


def test_a_coarsest_is_among_the_changes() -> None:
    keys = {**KEYS, "quasi": {"block": {"kind": "numeric", "coarsest": 0}, "noise": {"kind": "numeric"}}}
    assert "without `coarsest` of 'block'" in gains_of(blocks(), keys)
    assert not any("coarsest" in change for change in gains_of(blocks(), KEYS))


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_the_column_that_costs_most_gains_most() -> None:
    found = gains_of(blocks(), KEYS)
    assert next(iter(found)) == "without 'noise'"
    gain = found["without 'noise'"]
    assert gain.loss_after == 0.0 < gain.loss_before
    assert (gain.classes_after, gain.k_after) == (20, 8)
    assert set(found) == {"without 'noise'", "without 'block'", "t of 'ill' 0.75 instead of 0.5", "k = 2 instead of 4"}


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_a_gain_is_that_of_a_release_with_the_change() -> None:
    frame = blocks()
    found = gains_of(frame, KEYS, seed=1)
    plain = tclose.anonymize(frame, KEYS, method=MEDIANS, seed=1)
    loose = tclose.anonymize(frame, {**KEYS, "k": 2}, method=MEDIANS, seed=1)
    gain = found["k = 2 instead of 4"]
    assert [gain.loss_before, gain.loss_after] == pytest.approx([plain.loss, loose.loss])
    assert (gain.k_before, gain.k_after) == (plain.measured.k, loose.measured.k)
    assert (gain.classes_before, gain.classes_after) == (plain.measured.classes, loose.measured.classes)
    without = tclose.anonymize(
        frame.drop("block"), {**KEYS, "quasi": {"noise": {"kind": "numeric"}}}, method=MEDIANS, seed=1
    )
    assert found["without 'block'"].loss_after == pytest.approx(without.loss)
    assert plain.binding is not None
    assert found["without 'block'"].loss_before == pytest.approx(2 * plain.binding.losses["noise"])


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_large_tables_are_sampled_and_time_is_kept() -> None:
    frame = blocks(1600)
    release = tclose.anonymize(frame, KEYS, method="mondrian", seed=1)
    measured = tclose.what_binds(frame, release, method="mondrian", rows=200).measured
    assert measured is not None
    assert (measured.rows, measured.of_rows, measured.method) == (200, 1600, "mondrian")
    began = time.monotonic()
    nothing = tclose.what_binds(frame, release, seconds=0).measured
    assert time.monotonic() - began < 5
    assert nothing is not None
    assert nothing.gains == ()
    assert len(nothing.untried) == 4
    control = Control()
    control.end()
    stopped = tclose.what_binds(frame, release, control=control).measured
    assert stopped is not None
    assert stopped.gains == ()


def test_other_tables_and_wrong_numbers_are_refused() -> None:
    frame = blocks()
    release = tclose.anonymize(frame, KEYS, method="mondrian", seed=1)
    with pytest.raises(tclose.TableError, match="other rows"):
        tclose.what_binds(frame[:80], release)
    with pytest.raises(tclose.TcloseError, match=r"\(df, release"):
        tclose.what_binds(release, frame)  # type: ignore[arg-type]
    with pytest.raises(tclose.SchemaError, match="rows must be 1"):
        tclose.what_binds(frame, release, rows=0)


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@for_seeds(30)
def test_every_kind_of_table_has_its_changes(seed: int) -> None:
    frame, schema = small_table(seed)
    try:
        release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    except tclose.InfeasibleError:
        return
    found = tclose.what_binds(frame, release, method="mondrian").measured
    assert found is not None
    asked = len(schema.quasi) if len(schema.quasi) > 1 else 0
    asked += sum(each.t is not None and each.t < 1 for each in schema.sensitive) + len(
        [each for each in schema.joint if each.t < 1]
    )
    asked += sum(each.l is not None for each in schema.sensitive) + (schema.k > 1)
    assert len(found.gains) + len(found.untried) == asked
    losses = [gain.loss_after - gain.loss_before for gain in found.gains]
    assert losses == sorted(losses)
