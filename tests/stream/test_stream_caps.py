"""Caps on belief over a stream: against the window itself, in every case and at the end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.errors import SchemaError, VerificationError
from tclose.schema.schema import Schema
from tclose.stream import Engine, Outcome
from tests.oracles import belief
from tests.seeds import for_seeds
from tests.stream.streams import TEMPERS, passed, released, rows_of, run

WINDOW, STEP = 40, 10


def schema(**asked: Any) -> Schema:
    ill = {"distance": "ordered", "order": [str(value) for value in range(4)], **asked}
    return Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": ill}})


def stream(seed: int, temper: str, n: int = 150) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ill = [row[0] for row in rows_of(rng, temper, n, 4, 1)]
    return pl.DataFrame({"age": rng.integers(18, 90, n), "ill": ill})


def reached(frame: pl.DataFrame, outcomes: list[Outcome]) -> tuple[Fraction, Fraction]:
    """The largest rise and beta of a class against its own window, by plain counting."""
    values, rises, betas = frame["ill"].to_list(), [Fraction(0)], [Fraction(0)]
    for each in released(outcomes):
        window = values[each.window.first : each.window.last + 1]
        classes = [[values[row] for row in each.numbers[each.classes == number]] for number in np.unique(each.classes)]
        rises.append(belief.largest_rise(window, classes))
        betas.append(belief.largest_beta(window, classes))
    return max(rises), max(betas)


@for_seeds(24)
def test_every_class_keeps_the_caps_of_its_window(seed: int) -> None:
    frame = stream(seed, TEMPERS[seed % len(TEMPERS)])
    choices: list[dict[str, Any]] = [
        {"rise": 0.3},
        {"beta": 1, "enhanced": bool(seed % 2)},
        {"t": 0.4, "rise": 0.5, "beta": 2},
    ]
    caps = choices[seed % 3]
    method = ("sabre-ak", "mondrian", "tight", "clusters")[seed % 4]
    budget: Any = ("printed", "window")[seed // 4 % 2]
    asked = schema(**caps)
    outcomes = run(Engine(asked, window=WINDOW, step=STEP, method=method, seed=seed, budget=budget), frame)
    rise, beta = reached(frame, outcomes)
    assert rise <= Fraction(str(caps.get("rise", 1)))
    assert "beta" not in caps or beta <= Fraction(str(caps["beta"]))
    counts = passed(asked, frame, WINDOW, outcomes)
    assert counts["released"] + counts["withheld"] == len(frame)


@for_seeds(16)
def test_the_checker_decides_at_and_just_below_what_is_reached(seed: int) -> None:
    frame = stream(seed, TEMPERS[seed % len(TEMPERS)])
    loose = schema(t=1)
    outcomes = run(Engine(loose, window=WINDOW, step=STEP, method="mondrian", seed=seed), frame)
    rise, beta = reached(frame, outcomes)
    for key, most in (("rise", rise), ("beta", beta)):
        if most > Fraction(1, 10**9):
            assert not broken(loose, frame, outcomes, **{key: most})
            assert broken(loose, frame, outcomes, **{key: most - Fraction(1, 10**9)})


def broken(loose: Schema, frame: pl.DataFrame, outcomes: list[Outcome], **caps: Any) -> bool:
    """Whether the checker finds that a class breaks caps, the certificates being those of a schema with them."""
    asked = replace(loose, sensitive=(replace(loose.sensitive[0], **caps),))
    required = {key: {"ill": {"exact": str(most), "value": float(most)}} for key, most in caps.items()}
    changed = [
        replace(outcome, released=tuple(_asking(each, required) for each in outcome.released)) for outcome in outcomes
    ]
    try:
        passed(asked, frame, WINDOW, changed)
    except VerificationError as error:
        if "than rise allows" in str(error) or "than beta allows" in str(error):
            return True
        raise
    return False


def _asking(each: Any, required: dict[str, Any]) -> Any:
    return replace(each, required={**each.required, **required})


def test_all_three_cases_are_met() -> None:
    """Under a tight cap rows are kept back, released as they are, and withheld."""
    met: dict[str, int] = {}
    for seed in range(8):
        frame = stream(seed, "plateaus", 300)
        engine = Engine(schema(rise=0.2), window=WINDOW, step=STEP, method="mondrian", seed=seed)
        passed(schema(rise=0.2), frame, WINDOW, run(engine, frame))
        for name, count in engine.counts.items():
            met[name] = met.get(name, 0) + count
    assert min(met["case_1"], met["case_2"], met["case_3"], met["withheld"], met["released"]) > 0


def test_certificates_say_what_was_asked() -> None:
    asked, frame = schema(rise=0.3, beta=1, enhanced=True), stream(1, "even")
    engine = Engine(asked, window=WINDOW, step=STEP, method="mondrian", seed=1)
    outcomes = run(engine, frame)
    told = released(outcomes)[0].certificate(0)
    assert told["required"]["rise"] == {"ill": {"exact": "3/10", "value": 0.3}}
    assert told["required"]["beta"] == {"ill": {"exact": "1", "value": 1.0, "enhanced": True}}
    assert engine.certificate()["required"]["rise"] == told["required"]["rise"]
    for other in (schema(rise=0.2, beta=1, enhanced=True), schema(rise=0.3, beta=1), schema(rise=0.3)):
        with pytest.raises(VerificationError, match=r"does not say what was asked|allows"):
            passed(other, frame, WINDOW, outcomes)


def test_what_only_a_table_can_keep_is_refused() -> None:
    keys = {"unit": "who", "unit_rows": "all"}
    asked = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, **keys})
    with pytest.raises(SchemaError, match="`unit_rows` is not for streams: a person may have further rows"):
        Engine(asked, window=10, step=5)
    with pytest.raises(SchemaError, match="A stream does not know whether a unit will have further rows"):
        Engine(replace(asked, unit_rows=None), window=10, step=5)
