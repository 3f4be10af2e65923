"""The report of a release: it tells what was reached, and gives nobody away."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.evaluation.report import report_page
from tclose.evaluation.report.public_report import public_report_html
from tclose.evaluation.report.report_page import degrees, report_html
from tclose.evaluation.report.report_values import by_tenths, distributions
from tclose.evaluation.utility.utility import beside
from tclose.pages.card import promise_rows
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.source import read
from tclose.verification.published_loss import published_loss
from tests.evaluation.choosing.test_compare import small_table
from tests.pages.test_pages import checked
from tests.seeds import for_seeds

N = 400
KEYS: dict[str, Any] = {
    "k": 4,
    "identifiers": ["name"],
    "keep": ["ward"],
    "keep_unchecked": True,
    "quasi": {"age": {"kind": "numeric"}, "street": {"kind": "text"}, "born": {"kind": "date"}},
    "sensitive": {
        "ill": {"distance": "equal", "t": 0.6},
        "pay": {"distance": "numeric", "t": 0.6},
        "code": {"distance": "ordered", "order": [f"RANK-{place:03}-QX" for place in range(40)], "t": 0.7},
    },
}


def planted() -> tuple[pl.DataFrame, Schema, set[str]]:
    """A table with something of its own in every column and row, and all that must never be told."""
    rng = np.random.default_rng(4)
    rare = [f"RARE-{row}-ZZ" for row in range(9)] + ["SELDOM-ZZ"] * 9
    ill = [*rare, *rng.choice(["flu", "cold"], N - len(rare)).tolist()]
    columns: dict[str, list[Any]] = {
        "name": [f"Name-{row:04}-ZZ" for row in range(N)],
        "ward": [f"Ward-{row:04}-ZZ" for row in range(N)],
        "age": [7_000_013 + 17 * int(step) for step in rng.permutation(N)],
        "street": [f"S{row:04}QZ" for row in rng.permutation(N)],
        "born": [f"19{10 + row % 80:02}-{1 + row % 12:02}-{1 + row % 28:02}" for row in rng.permutation(N)],
        "ill": ill,
        "pay": [913_000.25 + 31 * int(step) for step in rng.permutation(N)],
        "code": [f"RANK-{int(place):03}-QX" for place in rng.integers(0, 40, N)],
    }
    secret = {str(value) for name, values in columns.items() for value in values if name != "ill"} | set(rare)
    return pl.DataFrame(columns), Schema.from_dict(KEYS), secret


def quietly(frame: pl.DataFrame, schema: Schema, **rest: Any) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        return tclose.anonymize(frame, schema, method="mondrian", **rest)


def test_no_raw_row_and_no_rare_value_gets_out() -> None:
    frame, schema, secret = planted()
    seed = 987_654_321_012
    release = quietly(frame, schema, seed=seed, allow_single_class=True)
    for shown in (report_html(frame, release, queries=50), release._repr_html_()):
        found = [value for value in secret if value in shown]
        assert found == []
        assert str(seed) not in shown
        assert f"{seed:,}" not in shown
        assert release.record.input_sha256 not in shown
        assert not re.search(r"\brows? \d+,", shown.replace(",", ""))
    page = report_html(frame, release, queries=50)
    assert "flu" in page  # that the values are looked for where they would be
    assert "other values (10)" in page
    assert "lowest tenth" in page


def test_nine_rows_are_too_few_and_ten_are_named() -> None:
    rng = np.random.default_rng(1)
    ill = ["nine"] * 9 + ["tenrows"] * 10 + ["flu"] * 181
    frame = pl.DataFrame({"age": rng.integers(0, 50, 200), "ill": ill})
    schema = Schema.from_dict(
        {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.5}}}
    )
    release = quietly(frame, schema, seed=1)
    (found,) = distributions(schema, release.measured)
    assert found.names == ("flu", "tenrows", "other values (1)")
    assert found.whole == pytest.approx((181 / 200, 10 / 200, 9 / 200))
    stricter = quietly(frame, Schema.from_dict({**schema.as_dict(), "k": 11}), seed=1)
    (found,) = distributions(stricter.schema, stricter.measured)
    assert found.names == ("flu", "other values (2)")


def test_the_farthest_classes_are_shown_as_they_are() -> None:
    frame, schema = small_table()
    release = quietly(frame, schema, seed=1)
    found = {each.column: each for each in distributions(schema, release.measured)}["ill"]
    aligned = release.aligned().with_columns(each=pl.Series(release.classes))
    whole = dict(aligned["ill"].value_counts(normalize=True).iter_rows())
    distances = sorted(
        (
            sum(abs(group["ill"].eq(value).mean() - share) for value, share in whole.items()) / 2
            for _, group in aligned.group_by("each")
        ),
        reverse=True,
    )
    assert [distance for _, distance, _ in found.classes] == pytest.approx(distances[:3])
    assert dict(zip(found.names, found.whole, strict=True)) == pytest.approx(whole)
    for size, distance, shares in found.classes:
        assert size >= schema.k
        assert sum(abs(a - b) for a, b in zip(shares, found.whole, strict=True)) / 2 == pytest.approx(distance)


@for_seeds(40)
def test_tenths_are_in_order_and_of_a_tenth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.permutation(1000).astype(np.int32) if seed % 2 else rng.integers(0, 7, 500).astype(np.int32)
    groups, names = by_tenths(codes)
    order = np.argsort(codes, kind="stable")
    assert (np.diff(groups[order]) >= 0).all()
    assert len(names) == groups.max() + 1
    if seed % 2:
        assert np.bincount(groups).tolist() == [100] * 10


def test_bins_and_missing_values_are_groups_of_their_own() -> None:
    """Five bins are no tenths, and whoever has no value is not among the highest."""
    pay = pl.Series("pay", [None if n % 10 == 0 else n for n in range(200)])
    frame = pl.DataFrame({"age": [n % 7 for n in range(200)], "pay": pay})
    keys = {"k": 2, "missing": "category", "quasi": {"age": {"kind": "numeric"}}}
    binned = Schema.from_dict({**keys, "sensitive": {"pay": {"distance": "ordered", "bins": 5, "t": 0.9}}})
    (found,) = distributions(binned, quietly(frame, binned, seed=1, allow_single_class=True).measured)
    assert found.names == ("lowest group", "2nd group", "3rd group", "4th group", "highest group", "missing")
    assert found.whole == pytest.approx((0.18,) * 5 + (0.1,))
    assert found.note == "The values of 'pay' in 5 groups, from the lowest to the highest."
    plain = Schema.from_dict({**keys, "sensitive": {"pay": {"distance": "ordered", "t": 0.9}}})
    (found,) = distributions(plain, quietly(frame, plain, seed=1, allow_single_class=True).measured)
    assert found.names[0] == "lowest tenth"
    assert found.names[-2:] == ("highest tenth", "missing")
    assert found.whole[-1] == pytest.approx(0.1)


def test_attacks_that_are_known_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = small_table()
    release = quietly(frame, schema, seed=1)
    told: list[float | None] = []
    found = tclose.attack(frame, release, progress=lambda stage, loss, done: told.append(done))
    assert told == [place / len(schema.sensitive) for place in range(len(schema.sensitive))]
    whole = report_html(frame, release, queries=20)
    monkeypatch.setattr(report_page, "attack", None)
    assert report_html(frame, release, queries=20, attacks=found) == whole


def test_how_far_columns_are_generalized() -> None:
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric", "range": [0, 100]}, "sex": {"kind": "categorical"}}}
    frame = pl.DataFrame({"age": [0, 0, 10, 30, 40, 90], "sex": ["f", "f", "f", "m", "m", "m"]})
    shown = pl.DataFrame(
        {"age": ["0", "0", "[10, 30]", "[10, 30]", "[40, 90]", "[40, 90]"], "sex": ["f", "f", "*", "*", "m", "m"]}
    )
    both = beside(frame, shown, Schema.from_dict(keys), aligned=True)
    assert degrees(both, "age") == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert degrees(both, "sex") == pytest.approx([2 / 3, 0, 0, 1 / 3])


@pytest.mark.parametrize("publish", ["interval", "bounds"])
def test_hidden_tails_are_not_said_to_be_kept(publish: str) -> None:
    ages = [*range(51, 111), *([20] * 20), *([30] * 20)]
    frame = pl.DataFrame({"age": ages, "ill": ["a", "b"] * 50})
    age = {"kind": "numeric", "top": 50, "publish": publish}
    keys = {"k": 5, "quasi": {"age": age}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    release = quietly(frame, Schema.from_dict(keys), seed=1)
    shown = list(map(str, release.table["age_low" if publish == "bounds" else "age"].to_list()))
    assert shown.count(">50" if publish == "interval" else "50") == 60
    found = published_loss(read(release.table), release.schema).columns["age"]
    assert found is not None
    assert found.degrees == (40, 0, 60, 0)
    assert degrees(beside(frame, release), "age") == pytest.approx([0.4, 0, 0.6, 0])
    public = public_report_html(release.table, release.schema, certificate=release.certificate)
    for page in (public, report_html(frame, release, queries=0)):
        assert "counts as more, whatever its loss" in page


def test_what_was_asked_stands_beside_what_was_reached() -> None:
    keys = {
        "k": 3,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": "1/3", "l": {"distinct": 2, "recursive": {"c": 9, "l": 2}}}},
    }
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.integers(0, 60, 120), "ill": rng.choice(["a", "b", "c"], 120)})
    release = quietly(frame, Schema.from_dict(keys), seed=1)
    rows = {name: (asked, reached) for name, asked, reached in promise_rows(release.certificate.fields)}
    assert rows["k, rows of the smallest class"] == ("at least 3", str(release.measured.k))
    assert rows["t of 'ill'"][0] == "at most 0.333333 (1/3)"
    assert f"({release.measured.t['ill']})" in rows["t of 'ill'"][1]
    assert rows["l of 'ill', distinct"] == ("at least 2", str(release.measured.l["ill"].distinct))
    assert rows["l of 'ill', recursive"][0] == "c = 9, l = 2"
    page = report_html(frame, release, queries=0)
    assert all(name.replace("'", "&#x27;") in page for name in rows)


def test_means_have_no_loss_that_may_be_given_away() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.integers(0, 60, 120), "ill": rng.choice(["a", "b"], 120)})
    keys = {"k": 3, "quasi": {"age": {"kind": "numeric", "publish": "mean"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.4}}}  # fmt: skip  # noqa: E501
    release = quietly(frame, Schema.from_dict(keys), seed=1)
    public = public_report_html(release.table, release.schema, certificate=release.certificate)
    for page in (public, release._repr_html_()):
        assert "<b>none</b>" in page
        assert f"{release.loss:.3f}" not in page
    assert "How far each column" not in public
    assert "Published as the mean" in public
    assert f"{release.loss:.3f}" in report_html(frame, release, queries=20)


def test_a_table_without_sensitive_attributes_has_a_report_too() -> None:
    frame = pl.DataFrame({"age": np.arange(40)})
    release = quietly(frame, Schema.from_dict({"k": 4, "quasi": {"age": {"kind": "numeric"}}}), seed=1)
    pages = (
        report_html(frame, release, queries=0),
        public_report_html(release.table, release.schema, certificate=release.certificate),
    )
    assert all("the farthest" not in page and "Sensitive values" not in page for page in pages)


def test_names_cannot_break_out_of_the_page() -> None:
    rng = np.random.default_rng(2)
    evil = "<script>alert(1)</script>"
    values = rng.choice(["<b>x</b>", '"&'], 120)
    frame = pl.DataFrame({evil: rng.integers(0, 60, 120), "</svg>" + evil: values})
    keys = {
        "k": 3,
        "quasi": {evil: {"kind": "numeric"}},
        "sensitive": {"</svg>" + evil: {"distance": "equal", "t": 0.4}},
    }
    release = quietly(frame, Schema.from_dict(keys), seed=1)
    for page in (report_html(frame, release, queries=20), release._repr_html_()):
        assert "script" not in checked(page).tags


def test_rows_left_out_are_counted_with_what_they_tell() -> None:
    from tests.algorithms.test_rows_left_out import outliers, schema_of

    frame = outliers()
    release = tclose.anonymize(frame, schema_of(suppress_rows=0.05), method=tclose.Mondrian(textbook=True), seed=1)
    page = tclose.report_html(frame, release, queries=50)
    assert "24 rows are left out. Of someone who is missing, the belief" in page
    assert "456" in page


@pytest.mark.filterwarnings("ignore::tclose.errors.RepeatedIdentifierWarning")
def test_dropped_rows_are_not_counted_in_it() -> None:
    frame, _ = small_table()
    keys = {"k": 4, "missing": "drop", "quasi": {"age": {"kind": "numeric"}}, "identifiers": ["job", "zip", "pay"],
            "sensitive": {"ill": {"distance": "equal", "t": 0.4}}}  # fmt: skip
    release = quietly(frame, Schema.from_dict(keys), seed=1)
    assert release.record.dropped_rows == 6
    text = " ".join(checked(report_html(frame, release, queries=20)).text)
    assert "234" in text
    assert "240" not in text
    assert "dropped" not in text


def test_it_stands_beside_the_release(tmp_path: Path) -> None:
    frame, schema = small_table()
    release = quietly(frame, schema, seed=1)
    release.write(tmp_path / "r.csv")
    assert "What is not promised" in tclose.report_html(frame, release, queries=0)
