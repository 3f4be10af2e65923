"""suggest: bounds choose t and k, exactly; the knee of built curves is only a mark; the loss never rises."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.evaluation.choosing.knee import LEAST_FALL, MARGIN, find_knee
from tclose.evaluation.choosing.risk_bounds import Bounds
from tclose.evaluation.choosing.suggest import GRID, grid
from tclose.evaluation.choosing.suggest_words import knee_sentence, title, verdict
from tclose.evaluation.choosing.sweep import REFINED, Sweep
from tclose.evaluation.choosing.trials import Trial
from tclose.schema.changes import with_t
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
        tclose.compare(frame, schema, methods=["mondrian"], t=[run.t or 0], queries=0).runs[0].loss
        for run in found.runs
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


def rises_by_counting(frame: pl.DataFrame, labels: Sequence[int], columns: Sequence[str]) -> dict[str, Fraction]:
    """The largest share in a class minus the share in the table, straight from the definition."""
    found = {}
    for column in columns:
        values = frame[column].to_list()
        rises = []
        for label in set(labels):
            inside = [value for value, own in zip(values, labels, strict=True) if own == label]
            rises += [
                Fraction(inside.count(each), len(inside)) - Fraction(values.count(each), len(values)) for each in inside
            ]
        found[column] = max(rises)
    return found


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_the_chosen_t_gives_the_release_that_was_measured() -> None:
    """The rises of the run are those of the release that `anonymize` makes, counted anew."""
    frame, schema = small_table()
    found = tclose.suggest(
        frame,
        schema,
        method="mondrian",
        t=["0.1", "0.2", "0.45", "0.9"],
        max_rise="0.4",
        max_risk="0.2",
        queries=0,
        seed=3,
    )
    assert found.chosen is not None
    run = found.runs[found.chosen]
    assert (found.k, found.schema_k, run.k) == (5, 4, 5)
    promised = dataclasses.replace(with_t(schema, found.t), k=found.k)
    release = tclose.anonymize(frame, promised, method="mondrian", seed=3)
    counted = rises_by_counting(frame, release.classes.tolist(), ["ill", "pay"])
    assert counted == dict(run.rises)
    assert max(counted.values()) <= Fraction("0.4")
    assert release.measured.k >= 5
    looser = [each for each in found.runs if (each.t or 0) > (run.t or 0) and each.taken_from is None]
    assert looser, "a bound that nothing breaks shows nothing"
    assert all(each.rise > Fraction("0.4") for each in looser)
    for each in found.runs:
        assert float(each.rise) == pytest.approx(each.gains.rise, abs=1e-12)


def test_more_t_are_tried_where_a_bound_is_crossed() -> None:
    frame, schema = small_table()
    asked = ["0.1", "0.2", "0.9"]
    plain = tclose.suggest(frame, schema, method="mondrian", t=asked, queries=0)
    bounded = tclose.suggest(frame, schema, method="mondrian", t=asked, max_rise="0.3", queries=0)
    assert len(plain.runs) == 3 < len(bounded.runs) <= 3 + REFINED
    losses = [run.loss for run in bounded.runs]
    assert losses == sorted(losses, reverse=True)
    assert [run.t for run in bounded.runs] == sorted(run.t or Fraction(0) for run in bounded.runs)
    assert all((run.t or 0) * 1000 % 1 == 0 for run in bounded.runs)


def test_more_t_are_tried_between_one_class_and_too_large_a_rise() -> None:
    """Of a method that finds one class below t = 0.12, and whose beliefs rise by t - 0.03 beyond."""

    class Ground:
        def run(self, _algorithm: object, _schema: object, t: Fraction, _control: object) -> Trial:
            if t < Fraction("0.12"):
                return Trial("m", t, 5, loss=1.0, classes=1)
            return Trial("m", t, 5, loss=float(1 - t), classes=4, rises={"ill": t - Fraction("0.03")})

    method: Any = None
    ground: Any = Ground()
    found = Sweep(ground, method, lambda _t: method, None, Control(), lambda *_: None)
    found.go([Fraction("0.1"), Fraction("0.15"), Fraction("0.3")], REFINED)
    bounds = Bounds.of(max_rise="0.1")
    assert bounds.choose(tuple(found.runs)) is None
    found.refine(bounds)
    assert [run.t for run in found.runs if run.rise <= Fraction("0.1")][-1] == Fraction("0.125")
    chosen = bounds.choose(tuple(found.runs))
    assert chosen is not None
    assert found.runs[chosen].t == Fraction("0.125")


@for_seeds(40)
def test_bounds_choose_by_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    runs = tuple(
        Trial(
            "m", Fraction(place + 1, 20), 5, loss=float(rng.integers(0, 6)) / 5, classes=int(rng.integers(1, 4)),
            rises={"ill": Fraction(int(rng.integers(0, 6)), 10)},
            taken_from=Fraction(1, 50) if rng.random() < 0.2 else None,
        )
        for place in range(n)
    )  # fmt: skip
    rise, loss = Fraction(int(rng.integers(0, 6)), 10), Fraction(int(rng.integers(0, 6)), 5)

    def right(run: Trial, rise: Fraction | None, loss: Fraction | None) -> bool:
        useful = run.taken_from is None and not (run.classes == 1 and run.loss > 0)
        return (
            useful and (rise is None or run.rises["ill"] <= rise) and (loss is None or run.loss <= float(loss) + 1e-9)
        )

    for bounds, pick in ((Bounds(rise=rise), max), (Bounds(loss=loss), min), (Bounds(rise, None, loss), max)):
        places = [place for place, run in enumerate(runs) if right(run, bounds.rise, bounds.loss)]
        assert bounds.choose(runs) == (pick(places) if places else None)
    assert Bounds(risk=Fraction(1, 5)).choose(runs) is None


@pytest.mark.parametrize("risk", ["1", "0.5", "0.34", "1/3", "0.2", "0.19", "0.01"])
def test_k_is_the_least_that_keeps_the_risk(risk: str) -> None:
    k = Bounds.of(max_risk=risk).k
    assert k is not None
    assert Fraction(1, k) <= Fraction(risk)
    assert k == 1 or Fraction(1, k - 1) > Fraction(risk)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"max_rise": 10}, "max_rise must be a share from 0 to 1"),
        ({"max_rise": "-0.1"}, "max_rise must be a share from 0 to 1"),
        ({"max_risk": 1.5}, "max_risk must be a share from 0 to 1"),
        ({"max_risk": 0}, "max_risk must be above 0"),
        ({"max_loss": "1.01"}, "max_loss must be a share from 0 to 1"),
        ({"max_loss": "a lot"}, "max_loss must be a number"),
        ({"max_loss": float("nan")}, "max_loss must be a number"),
        ({"max_rise": True}, "max_rise must be a number"),
    ],
)
def test_what_is_no_share_is_refused_with_a_sentence(wrong: dict[str, Any], told: str) -> None:
    frame, schema = small_table()
    with pytest.raises(tclose.SchemaError, match=told):
        tclose.suggest(frame, schema, **wrong)


def test_a_risk_below_one_row_of_the_table_is_infeasible() -> None:
    frame, schema = small_table()
    with pytest.raises(tclose.InfeasibleError, match="k = 1000 asks for more"):
        tclose.suggest(frame, schema, max_risk="0.001")


def test_the_risk_stands_for_k_where_none_is_given() -> None:
    frame = pl.DataFrame({"age": [20, 21, 40, 41, 60, 61] * 4, "ill": ["a", "b", "c"] * 8})
    with pytest.warns(tclose.InferredSchemaWarning):
        found = tclose.suggest(
            frame, quasi=["age"], sensitive={"ill": 0.5}, max_risk=0.25, method="mondrian", t=[0.3, 0.5, 0.9], queries=0
        )
    assert found.k == 4
    assert found.t is None


def test_the_words_say_what_the_numbers_say() -> None:
    found = samples.suggestion()
    assert found.t is None
    assert found.marks == {"knee": 2, "up to 5 points": 0, "up to 10 points": 1, "up to 20 points": 2}
    assert verdict(found) == (
        "From t = 0.05 to 0.5 the loss goes from 0.800 to 0.150, and the largest rise of a belief from 5.0 points to "
        "50.0 points (in 'ill'). The knee is at t = 0.2: up to there a looser t lowers the loss by 0.400 for every "
        "0.1, beyond it by 0.017; there a belief rises by up to 20.0 points (in 'ill'). Nothing is suggested without a "
        "bound on what people risk or analysts lose. Give max_rise or max_loss (--max-rise, --max-loss)."
    )
    assert "Suggested" not in found.html()
    assert "not a proof" in found.html()


def test_a_bound_on_the_rise_chooses_the_loosest_t_and_says_what_comes_next() -> None:
    found = samples.suggestion(max_rise="0.12", max_risk="0.1")
    assert (found.t, found.k) == (Fraction("0.1"), 10)
    told = verdict(found)
    assert told.startswith(
        "t = 0.1 is the loosest of the 5 t tried at which no belief rises by more than 12.0 points: the largest rise "
        "is 10.0 points (in 'ill'), and the loss is 0.500. At t = 0.2, the next looser, a belief rises by 20.0 points"
    )
    assert "It is not promised" in told
    assert "k = 10 is the least k that keeps the risk of a row at or below 10 %" in told
    assert "the schema asks for 5" in told
    assert title(found) == "Suggested: t = 0.1, k = 10"


def test_a_looser_t_with_the_same_classes_is_named() -> None:
    """Its line in the table keeps the bound too, which would belie that the chosen t is the loosest."""
    found = samples.suggestion(max_rise="0.12")
    chosen = found.runs[1]
    again = dataclasses.replace(chosen, t=Fraction("0.15"), taken_from=chosen.t)
    told = verdict(dataclasses.replace(found, runs=(*found.runs[:2], again, *found.runs[2:])))
    assert "At t = 0.15 nothing better was found, so the same classes stand there. At t = 0.2, the next looser" in told


def test_a_bound_on_loss_chooses_the_strictest_t() -> None:
    found = samples.suggestion(max_loss="0.4")
    assert found.t == Fraction("0.2")
    assert verdict(found).startswith(
        "t = 0.2 is the strictest of the 5 t tried that keeps the loss at or below 0.4: it is 0.200, and a belief "
        "rises by up to 20.0 points (in 'ill'). At t = 0.1, the next stricter, the loss is 0.500."
    )


def test_bounds_that_nothing_keeps_say_what_each_allows() -> None:
    found = samples.suggestion(max_rise="0.1", max_loss="0.3")
    assert found.t is None
    assert verdict(found) == (
        "The loosest t tried at which no belief rises by more than 10.0 points is 0.1, and there the loss is 0.500. "
        "The strictest t tried that loses 0.3 or less is 0.2, and there a belief rises by up to 20.0 points (in 'ill')."
    )
    assert "the least of the largest rises is 5.0 points (in 'ill'), at t = 0.05" in verdict(
        samples.suggestion(max_rise="0.01")
    )
    assert "the least loss is 0.150" in verdict(samples.suggestion(max_loss="0.1"))


def test_the_risk_alone_says_nothing_of_t() -> None:
    found = samples.suggestion(max_risk="0.05")
    assert (found.t, found.k) == (None, 20)
    assert "k = 20 is the least k" in verdict(found)
    assert "Nothing is suggested" in verdict(found)


def test_without_a_knee_none_is_made_up() -> None:
    found = samples.suggestion((0.8, 0.75, 0.6, 0.4, 0.2))
    assert "knee" not in found.marks
    assert "no knee: the loss falls without a bend" in knee_sentence(found)
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told["t"] is told["knee"]["t"] is None
    assert "does not fall" in knee_sentence(samples.suggestion((0.5,) * 5))


def test_json_has_bounds_and_exact_rises() -> None:
    told = samples.suggestion(max_rise="0.12").as_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["bounds"] == {"max_rise": {"exact": "3/25", "value": 0.12}, "max_risk": None, "max_loss": None}
    assert told["t"] == {"exact": "1/10", "value": 0.1}
    assert told["runs"][1]["rises"] == {"ill": {"exact": "1/10", "value": 0.1}}
