"""What must not get out: by memory, by the certificate, by errors, by the order of rows."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tclose
from tclose.datasets import hospital
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema
from tclose.table.source import read
from tclose.verification.judge_release import check_release
from tests.hidden_changes import Forced

SECRET = "a secret that is longer than twelve bytes"


def patients(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "name": [f"person number {row} with a long name" for row in range(n)],
            "age": rng.integers(20, 60, n),
            "note": [f"a long enough diagnosis number {number}" for number in rng.integers(0, 4, n)],
        }
    )


def schema(**keys: Any) -> Schema:
    base: dict[str, Any] = {
        "k": 5,
        "identifiers": ["name"],
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"note": {"distance": "equal", "t": 0.9}},
    }
    return Schema.from_dict(base | keys)


def test_dropped_rows_leave_nothing_in_memory_that_goes_out() -> None:
    frame = patients()
    frame = frame.with_columns(
        note=frame["note"].set(pl.int_range(60, eager=True) == 7, SECRET),
        age=frame["age"].set(pl.int_range(60, eager=True) == 7, None),
    )
    release = tclose.anonymize(frame, schema(missing="drop"))
    for table in (release.table, release.aligned()):
        stream = io.BytesIO()
        table.write_ipc(stream)
        for raw in (stream.getvalue(), pickle.dumps(table)):
            assert SECRET.encode() not in raw
            assert b"person number" not in raw
    arrow = tclose.anonymize(frame.to_arrow(), schema(missing="drop")).table
    assert SECRET.encode() not in pickle.dumps(arrow)


def test_memory_does_not_tell_the_order_of_the_input() -> None:
    """Values of a text column lie in memory sorted, whatever the order of the rows."""
    release = tclose.anonymize(patients(), schema())
    stream = io.BytesIO()
    release.table.write_ipc(stream)
    raw = stream.getvalue()
    places = [raw.index(value.encode()) for value in release.table["note"].unique().sort()]
    assert places == sorted(places)
    assert all(raw.count(value.encode()) == 1 for value in release.table["note"].unique())


def test_the_loss_tells_nothing_about_hidden_extremes() -> None:
    hidden = {"age": {"kind": "numeric", "step": 5, "bottom": 25, "top": 50}}
    told = set()
    for youngest, oldest in ((20, 60), (18, 97), (3, 113)):
        ages = patients()["age"].set(pl.int_range(60, eager=True) == 0, youngest)
        ages = ages.set(pl.int_range(60, eager=True) == 1, oldest)
        release = tclose.anonymize(patients().with_columns(age=ages), schema(quasi=hidden))
        assert not set(release.table["age"].to_list()) & {str(youngest), str(oldest)}
        told.add(json.dumps({key: release.certificate[key] for key in ("loss", "reached", "classes")}))
    assert len(told) == 1


def certificate_of(ages: list[Any], keys: dict[str, Any], labels: list[int]) -> tuple[list[Any], dict[str, Any], float]:
    """The released column, the certificate and the exact loss, whatever the method would have done."""
    frame = pl.DataFrame({"age": ages, "note": ["a", "b"] * (len(ages) // 2)})
    given = schema(identifiers=[], k=2, missing="category", quasi={"age": keys})
    release = tclose.anonymize(frame, given, method=Forced(np.array(labels)), allow_single_class=True)
    return release.aligned()["age"].to_list(), release.certificate.as_dict(), release.loss


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize(
    ("keys", "one", "other"),
    [
        ({"kind": "numeric"}, [20, 30, 40, 50, None, 117], [20, 30, 40, 50, None, 60]),
        ({"kind": "text"}, ["021", "022", "033", "034", "101", "102"], ["021", "022", "022", "034", "101", "102"]),
        ({"kind": "categorical"}, list("abcdef"), list("abcdeg")),
    ],
)
def test_the_certificate_does_not_tell_hidden_values(keys: dict[str, Any], one: list[Any], other: list[Any]) -> None:
    """An age of 117 beside a missing one in a class that is `*` followed from the loss; so did hidden digits."""
    labels = [0, 0, 0, 0, 1, 1] if keys["kind"] == "text" else [0, 0, 1, 1, 2, 2]
    found = [certificate_of(ages, keys, labels) for ages in (one, other)]
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]
    if keys["kind"] != "categorical":
        assert found[0][2] != found[1][2]  # what was certified before


def test_the_loss_of_means_is_not_certified() -> None:
    release = tclose.anonymize(patients(), schema(quasi={"age": {"kind": "numeric", "publish": "mean"}}))
    assert release.certificate["loss"] == {"exact": None, "value": None, "columns": {"age": None}}
    assert 0 < release.loss < 1


def test_a_star_that_spells_missing_is_still_a_released_value() -> None:
    frame = pl.DataFrame({"age": [None] * 4 + ["*"] * 4, "note": list("aabb") + list("abbb")})
    found = check_release(read(frame), schema(k=2, missing="category", missing_values=["*"], identifiers=[]))
    assert (found.classes, found.k) == (2, 4)


def test_errors_carry_no_trace_of_other_libraries() -> None:
    mixed = pd.DataFrame({"name": "x", "age": [1, "SECRETCELL"], "note": "y"})
    with pytest.raises(tclose.TableError) as caught:
        tclose.anonymize(mixed, schema())
    error: BaseException | None = caught.value
    while error is not None:
        assert "SECRETCELL" not in str(error)
        error = error.__cause__ or error.__context__


def test_classes_in_different_tails_stay_apart() -> None:
    ages = [1] * 10 + [50] * 10 + [99] * 10
    frame = pl.DataFrame({"age": ages, "note": list("ab") * 15})
    bounds = {"age": {"kind": "numeric", "bottom": 10, "top": 90, "publish": "bounds"}}
    release = tclose.anonymize(frame, schema(quasi=bounds, identifiers=[]))
    assert release.measured.classes == 3
    assert set(release.table.select("age_low", "age_high").rows()) == {(None, 10), (50, 50), (90, None)}
    assert tclose.assess(release.table, schema(quasi=bounds, identifiers=[])).classes == 3


@pytest.mark.filterwarnings("ignore::tclose.errors.RepeatedIdentifierWarning")
def test_a_time_limit_also_holds_where_every_cut_is_asked_about() -> None:
    frame, made = hospital(4_000, seed=1)
    keys = made.as_dict()
    keys["sensitive"] = {"diagnosis": {"distance": "equal", "t": "12345678901/100000000000"}}
    keys["identifiers"] = [c for c in frame.columns if c not in (*keys["quasi"], "diagnosis")]
    with pytest.warns(tclose.HighLossWarning):
        release = tclose.anonymize(frame, Schema.from_dict(keys), time=0, allow_single_class=True)
    assert release.facts["stopped_early"]


def test_long_fractions_are_exact_too(tmp_path: Path) -> None:
    """A t of many digits is beyond the kernels, and decided by Python's integers."""
    frame = patients()
    loose = tclose.anonymize(frame, schema(sensitive={"note": {"distance": "equal", "t": 0.3}}), method="mondrian")
    nearly = {"note": {"distance": "equal", "t": "300000000000001/1000000000000000"}}
    same = tclose.anonymize(frame, schema(sensitive=nearly), method="mondrian")
    assert np.array_equal(loose.classes, same.classes)
    same.write(tmp_path / "release.parquet")


def test_what_a_notebook_keeps_beside_the_page_tells_neither_seed_nor_cell() -> None:
    frame = patients().with_columns(note=pl.Series(["usual"] * 59 + [SECRET]))
    release = tclose.anonymize(frame, schema(), method="mondrian", seed=918273645)
    shown = [repr(each) for each in (release, beside(frame, release), read(frame))]
    for words in shown:
        assert "918273645" not in words
        assert SECRET not in words
        assert "person number" not in words
