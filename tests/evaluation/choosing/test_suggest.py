"""suggest: the knee of built curves, no knee where there is none, and a loss that never rises."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.evaluation.choosing.knee import LEAST_FALL, MARGIN, find_knee
from tclose.evaluation.choosing.suggest import GRID, grid
from tclose.evaluation.choosing.suggest_page import sides, verdict
from tests.evaluation.choosing.test_compare import small_table
from tests.pages import samples
from tests.seeds import for_seeds


def test_the_knee_of_a_bent_line_is_its_bend() -> None:
    for bend in range(1, 10):
        curve = [(x / 10, max(1 - x / bend, 0.0) + (0.02 if x <= bend else 0.02 * (10 - x) / 10)) for x in range(11)]
        assert find_knee(curve)[0] == bend


def test_the_knee_does_not_depend_on_units() -> None:
    curve = [(x, 1 / (1 + x)) for x in range(10)]
    scaled = [(100 + 7 * x, 5 + 30 * y) for x, y in curve]
    assert find_knee(curve)[0] == find_knee(scaled)[0]
    assert find_knee(curve)[1] == pytest.approx(find_knee(scaled)[1])


@for_seeds(60)
def test_it_is_the_point_farthest_from_the_chord(seed: int) -> None:
    """By plain geometry: the foot of the perpendicular, on axes of length 1."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(1000, 12, replace=False)) / 1000
    y = np.sort(rng.random(12))[::-1]
    place, depth = find_knee(list(zip(x.tolist(), y.tolist(), strict=True)))
    across, up = (x - x[0]) / (x[-1] - x[0]), (y - y[-1]) / (y[0] - y[-1])
    signed = (1 - across - up) / np.sqrt(2)  # below the line from (0, 1) to (1, 0)
    assert depth == pytest.approx(signed.max() * np.sqrt(2), abs=1e-9)
    if signed.max() * np.sqrt(2) < MARGIN:
        assert place is None
    else:
        assert place == signed.argmax()


@pytest.mark.parametrize(
    "curve",
    [
        [(0, 1.0), (1, 0.5), (2, 0.0)],  # straight
        [(0, 1.0), (1, 0.9), (2, 0.0)],  # bent the other way
        [(0, 0.5), (1, 0.5), (2, 0.5)],  # flat
        [(0, 0.5), (1, 0.4), (2, 0.6)],  # rising
        [(0, 0.5), (1, 0.4), (2, 0.5 - LEAST_FALL / 2)],  # hardly falling
        [(0, 1.0), (1, 0.5 - MARGIN / 2.1), (2, 0.0)],  # hardly bent
    ],
)
def test_there_is_not_always_a_knee(curve: list[tuple[float, float]]) -> None:
    assert find_knee(curve)[0] is None


def test_loss_never_rises_and_everything_is_kept() -> None:
    frame, schema = small_table()
    found = tclose.suggest(frame, schema, method="mondrian", t=["0.5", "0.2", "0.3", "0.4", "0.6"], queries=50)
    assert [float(run.t or 0) for run in found.runs] == [0.2, 0.3, 0.4, 0.5, 0.6]
    losses = [run.loss for run in found.runs]
    assert losses == sorted(losses, reverse=True)
    for run in found.runs:
        assert run.reached is not None
        assert all(run.reached[name] <= float(run.t or 0) for name in ("ill", "pay", "both"))
        assert run.sizes[0] >= schema.k
    alone = [
        tclose.compare(frame, schema, methods=["mondrian"], t=[run.t], queries=0).runs[0].loss for run in found.runs
    ]
    assert all(run.loss <= loss + 1e-12 for run, loss in zip(found.runs, alone, strict=True) if not np.isnan(loss))


def test_one_column_alone_leaves_the_others_as_they_are() -> None:
    frame, schema = small_table()
    found = tclose.suggest(frame, schema, method="mondrian", column="pay", t=["0.1", "0.3", "1"], queries=0)
    assert found.column == "pay"
    loosest = found.runs[-1].reached
    assert loosest is not None
    assert loosest["ill"] <= 0.4
    assert found.as_dict()["column"] == "pay"


def test_it_can_look_at_queries() -> None:
    frame, schema = small_table()
    found = tclose.suggest(frame, schema, method="mondrian", by="queries", t=["0.2", "0.4", "0.6"], queries=60)
    assert find_knee([(float(run.t or 0), run.query_error or 0.0) for run in found.runs]) == (found.knee, found.depth)
    with pytest.raises(tclose.SchemaError, match="without queries"):
        tclose.suggest(frame, schema, by="queries", queries=0)


def test_a_sweep_that_is_stopped_ends_with_what_it_has() -> None:
    frame, schema = small_table()
    control = Control()

    def stop_at_fourth(stage: str, loss: float | None, done: float | None) -> None:
        if stage == "t = 0.075":
            control.end()

    found = tclose.suggest(frame, schema, method="mondrian", queries=0, control=control, progress=stop_at_fourth)
    assert [run.t for run in found.runs] == list(GRID[:4])
    control = Control()
    control.end()
    with pytest.raises(tclose.InfeasibleError, match="stopped"):
        tclose.suggest(frame, schema, method="mondrian", queries=0, control=control)


def test_what_cannot_be_met_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = small_table(3)
    with pytest.raises(tclose.InfeasibleError):
        tclose.suggest(frame, schema, method="mondrian", queries=0)
    frame, schema = small_table()
    monkeypatch.setattr("tclose.evaluation.choosing.trials.TrialTable._query_error", lambda *_: None)
    with pytest.raises(tclose.InfeasibleError, match="has the answer 0"):
        tclose.suggest(frame, schema, method="mondrian", by="queries")
    with pytest.raises(tclose.SchemaError, match="three"):
        tclose.suggest(frame, schema, t=["0.1", "0.2"])


def test_grids_hold_their_ends() -> None:
    assert grid(Fraction("0.01"), Fraction("0.6")) == [Fraction("0.01"), *GRID, Fraction("0.6")]
    assert len(grid(Fraction("0.11"), Fraction("0.12"))) == 3


def test_the_words_say_what_the_numbers_say() -> None:
    found = samples.suggestion()
    assert found.t == Fraction("0.2")
    assert verdict(found) == (
        "t = 0.2 stands out. Up to there a looser t lowers the loss by 0.400 for every 0.1, from 0.800 at t = 0.05 to "
        "0.200; beyond it by only 0.017, to 0.150 at t = 0.5."
    )
    stricter, looser = sides(found)
    assert "At t = 0.1, one step stricter: analysts lose 0.300 more" in stricter
    assert "10.0 points lower" in stricter
    assert "At t = 0.35, one step looser: analysts lose 0.030 less" in looser
    assert "not a proof" in found.html()


def test_without_a_knee_none_is_made_up() -> None:
    found = samples.suggestion((0.8, 0.75, 0.6, 0.4, 0.2))
    assert found.t is None
    assert "no knee" in verdict(found)
    assert sides(found) == []
    assert "Suggested" not in found.html()
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["t"] is None
    assert "does not fall" in verdict(samples.suggestion((0.5,) * 5))
