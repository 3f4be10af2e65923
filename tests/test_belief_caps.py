"""Caps on belief from the schema to the certificate, the verdict and the report."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose import pipeline
from tclose.algorithms.requirement import Requirement
from tclose.errors import VerificationError
from tclose.evaluation.choosing.what_binds import _changes
from tclose.evaluation.report.cap_words import allowed_rise
from tclose.evaluation.report.report_words import decided, summary
from tclose.pages.card import promise_rows
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read

TREE = {"lung": ["flu", "cold"], "skin": ["rash", "acne"]}
BY_TREE = {"distance": "hierarchical", "hierarchy": TREE}


def people(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ill = rng.choice(["flu", "flu", "cold", "rash", "acne"], n)
    return pl.DataFrame({"age": rng.integers(18, 80, n), "job": rng.choice(list("abcd"), n), "ill": ill})


def schema_of(**asked: Any) -> Schema:
    quasi = {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}
    return Schema.from_dict({"k": 3, "quasi": quasi, "sensitive": {"ill": {**BY_TREE, **asked}}})


CAPPED = {"rise": 0.15, "beta": "3/2", "enhanced": True, "levels": True}


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    return tclose.anonymize(people(), schema_of(**CAPPED), method="mondrian", seed=1)


def test_a_cap_alone_is_enough(release: tclose.Release) -> None:
    told = release.certificate.as_dict()
    assert told["required"]["rise"] == {"ill": {"exact": "3/20", "value": 0.15}}
    assert told["required"]["beta"] == {"ill": {"exact": "3/2", "value": 1.5, "enhanced": True}}
    assert "levels" in told["columns"]["ill"]
    reached = release.measured.rises["ill"]
    assert 0 < reached.rise <= Fraction(3, 20)
    assert told["reached"]["rise"]["ill"]["exact"] == str(reached.rise)
    assert told["reached"]["beta"]["ill"] == {
        "exact": str(reached.beta),
        "value": float(reached.beta),
        "enhanced": True,
    }
    assert release.measured.classes > 1


def test_keywords_take_caps() -> None:
    asked = {"ill": {"distance": "equal", "rise": 0.2}}
    with pytest.warns(tclose.InferredSchemaWarning):
        found = tclose.anonymize(people(), quasi=["age", "job"], sensitive=asked, k=3, method="mondrian")
    assert found.measured.rises["ill"].rise <= Fraction(1, 5)
    with pytest.raises(tclose.SchemaError, match="rise must be from 0 to 1"):
        tclose.anonymize("absent.csv", quasi=["age"], sensitive={"ill": {"rise": 2}}, k=3)


def test_a_schema_without_caps_has_the_certificate_it_had() -> None:
    told = tclose.anonymize(people(), schema_of(t=0.4), method="mondrian", seed=1).certificate.as_dict()
    assert set(told["required"]) == {"k", "t", "l"}
    assert set(told["reached"]) == {"k", "t", "l"}


def test_t_alone_lets_a_share_rise_further(release: tclose.Release) -> None:
    loose = tclose.anonymize(people(), schema_of(t=0.4), method="mondrian", seed=1)
    assert tclose.assess(loose.table, schema_of(t=0.4)).disclosure["ill"].rise > Fraction(3, 20)
    verdict = tclose.verify(loose.table, schema_of(t=0.4, rise=0.15))
    assert any(problem.startswith("rise of 'ill'") for problem in verdict.problems)


def test_verify_recomputes_them(release: tclose.Release, tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    release.write(path)
    assert tclose.verify(path, schema_of(**CAPPED)).certificate
    told = tclose.verify(path, schema_of(**CAPPED)).as_dict()
    assert told["rise"]["ill"]["exact"] == str(release.measured.rises["ill"].rise)
    forged = release.certificate.as_dict()
    forged["reached"]["rise"]["ill"] = {"exact": "1/100", "value": 0.01}
    assert not tclose.verify(release.table, schema_of(**CAPPED), certificate=forged).holds
    forged = release.certificate.as_dict()
    forged["required"]["beta"]["ill"] = {"exact": "1", "value": 1.0, "enhanced": True}
    assert not tclose.verify(release.table, schema_of(**CAPPED), certificate=forged).holds


def test_other_caps_than_those_of_the_schema_are_another_certificate(release: tclose.Release) -> None:
    for asked in (CAPPED | {"rise": 0.3}, CAPPED | {"levels": False}, {"rise": 0.15}):
        verdict = tclose.verify(release.table, schema_of(**asked), certificate=release.certificate)
        assert verdict.certificate is False


def test_a_disagreement_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "largest_rises", lambda tally, paths: (Fraction(0), Fraction(0)))
    with pytest.raises(VerificationError, match="'ill': the shares of its values rise otherwise"):
        tclose.anonymize(people(), schema_of(rise=0.3), method="mondrian", seed=1)


def test_what_is_allowed_and_reached_is_told_in_points(release: tclose.Release) -> None:
    words = summary(release.schema, release.measured)
    assert "at most 15 percentage points more than from the whole table; the most reached is" in words
    assert "more than 2.5 times as often as the table, and frequent values less: at most 1 - ln p times" in words
    rise = tclose.assess(release.table, release.schema).disclosure["ill"].rise
    assert f"rises by at most 15.0, and the most reached is {float(100 * rise):.1f}." in words
    assert "rise of 'ill'; beta of 'ill'" in " ".join(decided(release.schema))
    rows = promise_rows(release.certificate.as_dict())
    assert any("at most 15 points (3/20)" in row for row in rows)
    assert any("at most 2.5 times (beta = 3/2)" in row[1] for row in rows)


def test_beta_alone_is_told_in_points_and_caps_on_bins_are_not_told_of_values() -> None:
    counts = {"a": 60, "b": 30, "c": 10}
    ages = [37 * each % 100 for each in range(100)]
    frame = pl.DataFrame({"age": ages, "ill": [name for name, n in counts.items() for _ in range(n)]})
    schema = Schema.from_dict(
        {
            "k": 3,
            "quasi": {"age": {"kind": "numeric"}},
            "sensitive": {"ill": {"distance": "equal", "beta": 1, "enhanced": True}},
        }
    )
    measured = tclose.anonymize(frame, schema, method="mondrian").measured
    # a: at most 0.6 (1 - ln 0.6) = 0.906..., so 30.6 points more; b: 30 points; c: 10 points.
    assert allowed_rise(schema.sensitive[0], measured) == "+30.6 points"
    binned = {"pay": {"distance": "ordered", "edges": [30, 60], "rise": 0.2, "beta": 2}}
    schema = Schema.from_dict({"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": binned})
    release = tclose.anonymize(
        pl.DataFrame({"age": list(range(100)), "pay": [7 * each % 100 for each in range(100)]}),
        schema,
        method="mondrian",
    )
    words = summary(schema, release.measured)
    assert "believes in a bin of values of 'pay' at most 20 percentage points" in words
    assert "the share of a single bin rises by at most 20.0" in words
    assert any("the share of a bin of values" in row[0] for row in promise_rows(release.certificate.as_dict()))


def test_what_binds_knows_caps(release: tclose.Release) -> None:
    table = encode(read(people()), schema_of(**CAPPED))
    changes = _changes(table, Requirement.of(schema_of(**CAPPED), table), ["age", "job"])
    assert "without rise and beta of 'ill'" in [change.words for change in changes]
    assert release.binding is not None
    assert release.binding.held.attributes["ill"] > 0


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ({"rise": 0.03}, "Raise rise, lower k, or use fewer"),
        ({"t": 0.03, "beta": "1/10"}, "Raise t or beta, lower k, or use fewer"),
        ({"t": 0.03, "l": 2}, "Raise t, lower k, lower l, or use fewer"),
    ],
)
def test_a_high_loss_names_what_was_asked(asked: dict[str, Any], advice: str) -> None:
    with pytest.warns(tclose.HighLossWarning, match=advice):
        tclose.anonymize(people(), schema_of(**asked), method="mondrian", allow_single_class=True)
