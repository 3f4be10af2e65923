"""What certificates, cards and reports say of persons with several rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.evaluation.report.report_words import decided, summary
from tclose.pages.card import promise_rows
from tclose.schema.schema import Schema
from tclose.verification.verdict import Verdict


def visits(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    ill = rng.choice(["flu", "flu", "cold", "rash"], n)
    return pl.DataFrame({"who": rng.integers(0, n // 2, n), "age": rng.integers(18, 80, n), "ill": ill})


def schema(**keys: Any) -> Schema:
    ill = {"distance": "equal", "t": 0.6, "rise": 0.3, "beta": 3}
    quasi = {"age": {"kind": "numeric"}}
    return Schema.from_dict(
        {"k": 3, "unit": "who", "unit_rows": "all", "quasi": quasi, "sensitive": {"ill": ill}} | keys
    )


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    return tclose.anonymize(visits(), schema(), method="mondrian", seed=1)


def test_only_what_was_asked_is_certified(release: tclose.Release) -> None:
    told = release.certificate.as_dict()
    assert told["required"]["counted"].startswith("k, rise and beta in persons")
    assert told["required"]["rise"] == {"ill": {"exact": "3/10", "value": 0.3}}
    assert set(told["reached"]) == {"k", "t", "l"}  # of rows, which the file shows
    assert "several rows" in told["unit"]
    assert set(release.record.persons) == {"k", "rise", "beta"}
    assert release.record.persons["k"] >= 3
    assert release.record.as_dict()["persons"] == release.record.persons


def test_a_file_is_verified_with_its_certificate_and_without(release: tclose.Release, tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    release.write(path, keep_order=True)
    alone = tclose.verify(path, schema())
    assert (alone.holds, alone.certificate) == (True, True)
    assert {"persons", "unit"} <= set(alone.unchecked)
    both = tclose.verify(path, schema(), original=visits())
    assert both.holds
    assert both.k == release.record.persons["k"]
    assert "persons" not in both.unchecked
    page = tclose.public_report_html(path, schema())
    assert "k, and the caps of &#x27;ill&#x27;, are promised in persons" in page
    assert "not shown by the release" in page


def checked(release: tclose.Release, asked: Schema, **changed: Any) -> Verdict:
    fields = release.certificate.as_dict()
    fields["required"] |= changed
    return tclose.verify(release.table, asked, certificate=fields)


def test_forged_certificates(release: tclose.Release) -> None:
    assert checked(release, schema()).certificate
    assert not checked(release, schema(), counted="everything in persons").certificate
    assert not checked(release, replace(schema(), unit_rows=None)).certificate
    stricter = checked(release, schema(k=2))
    assert stricter.certificate
    assert "does not show persons" in stricter.unchecked["required"]


def test_words(release: tclose.Release) -> None:
    words = summary(release.schema, release.measured)
    assert "those of at least 3 persons; the release does not show whose a row is" in words
    assert "at most 30 percentage points more than of all persons of the table" in words
    counted = release.record.persons
    words = summary(release.schema, release.measured, counted)
    assert f"those of at least 3 persons; the fewest are {counted['k']}" in words
    assert (
        f"of all persons of the table; the most reached is {100 * counted['rise']['ill']['value']:.1f} points" in words
    )
    rows = promise_rows(release.certificate.as_dict(), counted)
    assert ("k, persons of the class with fewest", "at least 3", str(counted["k"])) in rows
    assert not any("not shown" in row[2] for row in rows)
    told = " ".join(decided(release.schema))
    assert "on the original, where k, rise and beta count persons, by code" in told
    assert "k; t of 'ill'; rise of 'ill'; beta of 'ill'" in told
    claimed = " ".join(decided(release.schema, is_claimed=True))
    assert "rise of" not in claimed
    assert "Not checked here: what is promised in persons" in claimed
    rows = promise_rows(release.certificate.as_dict())
    assert ("k, persons of the class with fewest", "at least 3", "not shown by the release") in rows
    assert any(row[0].startswith("rise of 'ill'") and row[2] == "not shown by the release" for row in rows)


def test_what_binds_names_persons(release: tclose.Release) -> None:
    assert release.binding is not None
    assert release.binding.demands["who"] == "k in persons"
    assert release.binding.demands["ill in persons"] == "rise and beta of 'ill' in persons"
    told = tclose.what_binds(visits(), release, method="mondrian").measured
    assert told is not None
    changes = {gain.change for gain in told.gains}
    assert {"k = 2 instead of 3", "without rise and beta of 'ill in persons'"} <= changes


def test_compare_and_gap() -> None:
    found = tclose.compare(visits(), schema(), methods=["mondrian", "sabre-ak"], t=["0.6"], queries=0)
    assert [run.refused is None for run in found.runs] == [True, False]
    with pytest.raises(tclose.SchemaError, match="`gap` does not take unit_rows"):
        tclose.gap(visits(12), schema())


def test_classes_that_step_makes_alike_keep_the_caps_together() -> None:
    """Two intervals that `step` makes the same are one class to whoever reads the release."""
    rng = np.random.default_rng(2)
    n = 200
    frame = pl.DataFrame(
        {"who": rng.integers(0, 60, n), "age": rng.integers(0, 40, n), "ill": rng.choice(list("abcd"), n)}
    )
    quasi = {"age": {"kind": "numeric", "step": 10}}
    release = tclose.anonymize(frame, schema(k=2, quasi=quasi), method="mondrian", seed=1)
    assert tclose.verify(release.aligned(), release.schema, original=frame).holds
