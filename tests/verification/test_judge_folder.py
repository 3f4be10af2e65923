"""A release in parts is judged as the same release at once is."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification import judge_folder
from tclose.verification.judge_folder import judge_frames
from tclose.verification.judge_release import judge
from tclose.verification.published_loss import published_loss

KEYS: dict[str, Any] = {
    "k": 3, "missing": "category", "keep": ["town"],
    "quasi": {
        "age": {"kind": "numeric", "publish": "bounds", "top": 60}, "zip": {"kind": "text"},
        "job": {"kind": "categorical", "hierarchy": {"u": ["a", "b"], "v": ["c", "d"]}},
    },
    "sensitive": {
        "ill": {"distance": "hierarchical", "hierarchy": {"x": ["p", "q"], "y": ["r"]}, "t": 0.3,
                "l": {"distinct": 2, "entropy": 2, "recursive": {"c": 2, "l": 2}, "frequency": 2}, "rise": 0.2,
                "beta": 0.5, "levels": True},
        "pay": {"distance": "ordered", "bins": 3, "t": 0.2}, "score": {"distance": "numeric", "t": 0.2},
        "mood": {"distance": "equal", "t": 0.2, "beta": 1, "enhanced": True},
    },
    "joint": {"both": {"columns": ["ill", "pay"], "t": 0.3}},
}  # fmt: skip


def made(seed: int, n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def pick(values: list[Any]) -> list[Any]:
        return [values[place] for place in rng.integers(0, len(values), n)]

    low = rng.integers(10, 14, n)
    return pl.DataFrame(
        {
            "age_low": low.astype(str), "age_high": pick(["20", "60", None]), "zip": pick(["021**", "02139", "*****"]),
            "job": pick(["u", "*", "a"]), "ill": pick(["p", "q", "r", None]), "pay": pick([1, 2, 3, 4]),
            "score": pick([1.5, 2.0, 3.25]), "mood": pick(["good", "bad", ""]), "town": pick(["t", "u", None]),
        }
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_in_parts_as_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_folder, "BUCKET_ROWS", 1 + seed * 5)
    keys: dict[str, Any] = KEYS | {"k": 1 + seed % 3}
    if seed % 4 == 0:
        keys |= {"missing": "drop"}
    schema, frame = Schema.from_dict(keys), made(seed)
    released = {name for each in schema.quasi for name in each.released}
    assert released <= {*frame.columns}, released
    at_once = judge(Source.of(frame), schema)
    parts = [partial(lambda each: each, part) for part in frame.iter_slices(7 + seed)]
    found, whole = judge_frames(parts, len(frame), schema)
    assert found.problems == at_once.problems
    assert found.measured is not None
    assert at_once.measured is not None
    assert found.measured.as_dict() == at_once.measured.as_dict()
    assert found.measured.kept_groups == at_once.measured.kept_groups
    assert whole.loss.as_dict() == published_loss(Source.of(frame), schema).as_dict()


def test_what_cannot_be_measured_is_said() -> None:
    schema, frame = Schema.from_dict(KEYS), made(1)
    for wrong in (frame.drop("zip"), frame.with_columns(name=pl.lit("x")), frame.with_columns(ill=pl.lit("no such"))):
        at_once = judge(Source.of(wrong), schema)
        parts = [partial(lambda each: each, part) for part in wrong.iter_slices(20)]
        found, _ = judge_frames(parts, len(wrong), schema)
        assert at_once.problems
        assert found.problems == at_once.problems


def test_several_spellings_over_parts_are_found() -> None:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"a": {"kind": "categorical"}}})
    frames = [partial(pl.DataFrame, {"a": [""]}), partial(pl.DataFrame, {"a": pl.Series([None], dtype=pl.String)})]
    assert "several spellings" in judge_frames(frames, 2, schema)[0].problems[0]


def test_limits_of_columns_are_judged_in_all_files(tmp_path: Path) -> None:
    schema = {"k": 1, "quasi": {"age": {"kind": "numeric", "coarsest": 20}, "zip": {"kind": "text", "finest": 4}}}
    for number, ages in enumerate((["[20, 45]", "[20, 40]"], ["*", "30"], ["[1, 2]"])):
        frame = pl.DataFrame({"age": ages, "zip": ["0213*"] * len(ages)})
        frame.write_parquet(tmp_path / f"part-{number}.parquet")
    assert tclose.verify(tmp_path, schema).problems == ("'age': 2 rows are coarser than its `coarsest` allows.",)
    frame.with_columns(zip=pl.lit("02139")).write_parquet(tmp_path / "part-3.parquet")
    assert tclose.verify(tmp_path, schema).problems[1] == "'zip': 1 row is finer than its `finest` allows."


@pytest.mark.parametrize("n_values", [15, 16])
def test_joints_of_many_columns_as_at_once(n_values: int) -> None:
    """In mixed radix of 16, the first of 17 columns would be a multiple of 2^64, and vanish."""
    rows = np.arange(240)
    names = [f"c{place}" for place in range(17)]
    columns = {name: rows % n_values if place else rows // n_values for place, name in enumerate(names)}
    frame = pl.DataFrame({"age": np.array(["1", "2"])[(rows // n_values) // 8], **columns})
    keys = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "joint": {"all": {"columns": names, "t": 1}},
            "sensitive": {name: {"distance": "equal", "t": 1} for name in names}}  # fmt: skip
    schema = Schema.from_dict(keys)
    at_once = judge(Source.of(frame), schema)
    parts = [partial(frame.slice, first, 80) for first in (0, 80, 160)]
    found, _ = judge_frames(parts, len(frame), schema)
    assert found.t == at_once.t
    assert found.t["all"] > 0
