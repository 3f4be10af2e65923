"""What reports say is true of the release at hand, and each says at its top whether it may be given away."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.evaluation.report.public_report import AWAY, public_report_html
from tclose.evaluation.report.report_page import PRIVATE, report_html, run_words
from tclose.evaluation.report.report_words import decided, summary
from tclose.release.certificate import certificate_path
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tests.pages.test_pages import checked
from tests.strategies import run

DAY = date(2026, 1, 31)
ROOT = Path(__file__).resolve().parents[3]


def people(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    ages = rng.integers(20, 60, n)
    ill = np.where(ages < 40, "flu", rng.choice(["flu", "cold", "rash"], n))
    return pl.DataFrame({"age": ages, "number": np.arange(n), "ill": ill})


def release_of(**keys: Any) -> Release:
    base: dict[str, Any] = {
        "k": 5,
        "keep": ["number"],
        "keep_unchecked": True,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.5}},
    }
    given = {key: value for key, value in (base | keys).items() if value is not None}
    return tclose.anonymize(people(), Schema.from_dict(given), method="mondrian", seed=987_654_321)


def texts(release: Release) -> dict[str, str]:
    public = public_report_html(release.table, release.schema, certificate=release.certificate, day=DAY)
    pages = {"public": public, "private": report_html(people(), release, queries=0, day=DAY)}
    return {name: " ".join(checked(page).text) for name, page in pages.items()}


def test_a_report_says_first_whether_it_may_be_given_away() -> None:
    found = texts(release_of(keep=None, keep_unchecked=None, identifiers=["number"]))
    for name, words, other in (("public", AWAY, PRIVATE), ("private", PRIVATE, AWAY)):
        assert words in found[name]
        assert other not in found[name]
        assert found[name].index(words) < found[name].index("Report of 2026-01-31") < 500


def test_unchecked_columns_come_first_everywhere() -> None:
    release = release_of()
    told = "not checked: with these columns the smallest group has 1 row, and 200 of 200 rows are alone"
    assert next(iter(release.certificate.fields)) == "keep"
    assert release.certificate["keep"].startswith(told)
    assert repr(release).startswith(f"Release(kept columns {told}")
    card = re.sub("<style>.*?</style>", "", release._repr_html_(), flags=re.S)
    assert card.index("Kept columns not checked") < card.index("200 rows")
    for text in texts(release).values():
        assert text.index("Kept columns not checked") < 100
        assert told in text
        assert "sees groups of at least 1 row, and 200 of 200 rows are alone" in text
        assert "now none is" not in text
        assert "Not checked: whether &#x27;number&#x27;" in text or "Not checked: whether 'number'" in text


def test_unchecked_columns_come_first_in_verdicts_and_measures(tmp_path: Path) -> None:
    release, data, schema = release_of(), tmp_path / "data.csv", tmp_path / "schema.toml"
    path, told = tmp_path / "release.csv", "kept columns not checked: with these columns"
    release.write(path)
    people().write_csv(data)
    schema.write_text(release.schema.to_toml(), encoding="utf-8")
    verdict = tclose.verify(path, schema)
    assert repr(verdict).startswith(f"Verdict({told} the smallest group has 1 row")
    assert next(iter(verdict.as_dict().items()))[0] == "warning"
    commands: dict[str, list[str | Path]] = {
        "verify": [path],
        "utility": [data, path, "--queries", "0"],
        "suggest": [data, "--method", "mondrian", "--queries", "0"],
        "compare": [data, "--methods", "mondrian", "--queries", "0"],
    }
    for name, given in commands.items():
        shown = run(name, *given, "-s", schema)
        assert shown.code == 0
        assert shown.out.startswith("Kept columns not checked: with these columns"), name
        fields = json.loads(run(name, *given, "-s", schema, "--json").out)
        assert next(iter(fields)) == "warning", name
        assert fields["warning"].startswith(told)
    found = tclose.compare(people(), release.schema, methods=["mondrian"], queries=0, jobs=1)
    for page in (found.html(), found._repr_html_()):
        assert "Kept columns not checked" in " ".join(checked(page).text)[:200]
    swept = tclose.suggest(people(), release.schema, method="mondrian", queries=0)
    assert "Kept columns not checked" in " ".join(checked(swept.html()).text)[:200]
    plain = release_of(keep=None, keep_unchecked=None, identifiers=["number"])
    assert "warning" not in tclose.verify(plain.table, plain.schema).as_dict()
    assert repr(tclose.verify(plain.table, plain.schema)).startswith("Verdict(holds=True")


def test_checked_columns_are_said_to_be_checked() -> None:
    frame = people().with_columns(number=pl.lit("same"))
    keys = {"k": 5, "keep": ["number"], "quasi": {"age": {"kind": "numeric"}}}
    release = tclose.anonymize(frame.drop("ill"), Schema.from_dict(keys), method="mondrian", seed=1)
    assert next(iter(release.certificate.fields)) == "certificate"
    assert release.certificate["keep"].startswith("checked")
    assert "and 0 of 200 rows are alone" in summary(release.schema, release.measured)
    assert "Not checked: whether 'number'" not in " ".join(decided(release.schema))


def test_the_worst_class_is_given_in_numbers() -> None:
    release = release_of()
    aligned = release.aligned().with_columns(each=pl.Series(release.classes))
    whole = dict(aligned["ill"].value_counts(normalize=True).iter_rows())
    changes = [
        (group["ill"].eq(value).mean() or 0.0) - share
        for _, group in aligned.group_by("each")
        for value, share in whole.items()
    ]
    words = summary(release.schema, release.measured)
    assert f"{float(release.measured.t['ill']):.3g} in 'ill' (asked: at most 0.5)" in words
    assert f"up by {100 * max(changes):.1f} points at most" in words
    assert f"down by {-100 * min(changes):.1f} points at most" in words
    assert "nearly" not in words


def test_only_what_was_asked_is_said_to_be_decided() -> None:
    age = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    words = " ".join(decided(Schema.from_dict(age)))
    assert "method: k." in words
    assert "t of" not in words
    assert "l of" not in words
    assert "Not checked: whether every person has one row." in words
    asked = {"ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "equal", "l": 2}, "job": {"distance": "equal"}}
    words = " ".join(decided(Schema.from_dict(age | {"sensitive": asked, "unit": "id"})))
    assert "method: k; t of 'ill'; l of 'pay'." in words
    assert "Nothing was asked of 'job'" in words
    assert "checked on the original" in words


def test_no_text_recommends_to_leave_columns_unchecked() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "src").rglob("*.py")]
    advice = re.compile(r"(\bset|needs?|use|or|with) `?keep_unchecked", re.IGNORECASE)
    assert [page.name for page in pages if advice.search(page.read_text(encoding="utf-8"))] == []


def test_a_refusal_of_kept_columns_does_not_name_the_way_round() -> None:
    with pytest.raises(tclose.InfeasibleError, match="quasi-identifiers, or leave them out") as caught:
        release_of(keep_unchecked=None)
    assert "keep_unchecked" not in str(caught.value)


def test_reports_name_file_digest_day_and_version(tmp_path: Path) -> None:
    release = release_of()
    written = release.write(tmp_path / "out.csv")
    public = public_report_html(tmp_path / "out.csv", release.schema, day=DAY)
    private = report_html(people(), release, queries=0, certificate=written.certificate, day=DAY)
    for page in (public, private):
        for told in ("out.csv", written.certificate["sha256"], "2026-01-31", f"tclose {tclose.__version__}"):
            assert told in page
    assert public_report_html(tmp_path / "out.csv", release.schema, day=DAY) == public


def test_the_public_report_is_made_of_nothing_but_what_is_published(tmp_path: Path) -> None:
    release = release_of()
    release.write(tmp_path / "out.csv")
    page = public_report_html(tmp_path / "out.csv", release.schema)
    assert f"{release.loss:.3f}" in page  # here the released values tell it
    for private in (str(release.record.seed), release.record.input_sha256, "In the original", "before"):
        assert private not in page
    with pytest.raises(tclose.VerificationError, match="there is none"):
        public_report_html(release.table, release.schema)
    fields = json.loads(certificate_path(tmp_path / "out.csv").read_text())
    certificate_path(tmp_path / "out.csv").write_text(json.dumps({**fields, "rows": 7}))
    with pytest.raises(tclose.VerificationError, match="no report is made"):
        public_report_html(tmp_path / "out.csv", release.schema)


def test_what_a_method_says_of_its_run() -> None:
    assert run_words({}) == []
    assert "stopped" in run_words({"stopped_early": True})[0]
    assert "at least 0.25" in run_words({"optimal": False, "loss_at_least": 0.25})[0]
    assert "by counting" in run_words({"optimal": True, "proved_by": "counting"})[0]


def public_text(path: Path, schema: Schema, certificate: dict[str, Any] | None = None) -> str:
    return " ".join(checked(public_report_html(path, schema, certificate=certificate, day=DAY)).text)


def test_claims_are_not_told_as_facts(tmp_path: Path) -> None:
    path, release = tmp_path / "release.csv", release_of(keep=None, keep_unchecked=None, unit="number")
    fields = release.write(path).certificate.as_dict()
    forged = {
        **fields,
        "method": {"name": "exact, proven optimal", "parameters": {"all": "perfect" * 200}},
        "versions": {**fields["versions"], "tclose": "9.9 (by ISO)"},
    }
    text = public_text(path, release.schema, forged)
    facts, claims = text.split("The certificate claims, and the file cannot show:")
    claims, after = claims.split("What an attacker can do")
    for claim in (
        "proven optimal",
        "9.9 (by ISO)",
        "one row a unit, checked",
        "order: random",
        "formulas: as they are",
    ):
        assert claim in claims
        assert claim not in facts + after
    assert "checked on the original" not in text
    assert "Not checked here: whether every unit has one row" in facts
    assert "k rows are fewer than k persons" in after
    assert text.count("perfect") < 100
    assert "File: release.csv" in facts
    in_memory = public_report_html(release.table, release.schema, certificate=fields, day=DAY)
    told = " ".join(checked(in_memory).text)
    assert "File: release.csv" not in told
    assert "a table was given, and not its file" in told
    mine = " ".join(checked(report_html(people(), release, queries=0, day=DAY)).text)
    assert "That every unit has one row was checked on the original" in mine
    assert "Method: mondrian" in mine


def test_words_of_a_certificate_of_version_1_are_not_printed(tmp_path: Path) -> None:
    path, release = tmp_path / "release.csv", release_of()
    fields = release.write(path).certificate.as_dict()
    words = "t and l hold for classes, not for groups that also agree on these columns"
    old = {**fields, "certificate": 1, "loss": 0.5}
    old["keep"] = f"not checked: with these columns groups may be smaller than k; {words}"
    text = public_text(path, release.schema, old)
    assert "groups may be smaller than k" not in text
    assert f"200 of 200 rows are alone; {words}" in text
    with pytest.raises(tclose.VerificationError, match="keep differ"):
        public_text(path, release.schema, {**old, "keep": "not checked: nobody can be found"})


def test_a_stricter_promise_is_told_throughout(tmp_path: Path) -> None:
    """As after `anonymize --k 10 --t ill=0.45`, with the report made by the schema file."""
    strict, path = release_of(k=10, sensitive={"ill": {"distance": "equal", "t": 0.45}}), tmp_path / "release.csv"
    strict.write(path)
    loose = release_of().schema
    text = public_text(path, loose)
    assert "asked 10" in text
    assert "at least 10" in text
    assert "asked: at most 0.45" in text
    assert "asked 5" not in text
    assert "at most 0.5 " not in text
    assert "at most 0.5)" not in text
    assert "it is stricter than the schema, and the table keeps it" in text
    own = public_text(path, strict.schema)
    more = "Of what was asked: it is stricter than the schema, and the table keeps it."
    assert own.split() == text.replace(more, "").split()
