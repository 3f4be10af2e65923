"""A verifier that believes nothing: every field of a certificate is forged, and each forgery is caught or listed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.release.certificate import certificate_path
from tclose.release.certificate_check import CLAIMED, OF_A_FILE, check_certificate
from tclose.schema.schema import Schema
from tclose.table.source import read
from tclose.verification.judge_release import check_release
from tclose.verification.published_loss import published_loss

TREE = {"u": ["a", "b"], "v": ["c", "d"]}
FULL: dict[str, Any] = {
    "k": 3,
    "missing": "category",
    "keep": ["town"],
    "keep_unchecked": True,
    "unit": "id",
    "quasi": {
        "age": {"kind": "numeric", "step": 5, "top": 60},
        "zip": {"kind": "text"},
        "job": {"kind": "categorical", "hierarchy": TREE},
    },
    "sensitive": {
        "ill": {
            "distance": "hierarchical", "hierarchy": {"cough": ["flu", "cold"], "skin": ["rash"]}, "t": 0.6,
            "l": {"distinct": 2, "entropy": "3/2", "recursive": {"c": 9, "l": 2}},
            "rise": 0.5, "beta": "3/2", "enhanced": True, "levels": True,
        },
        "pay": {"distance": "ordered", "bins": 4, "t": 0.6},
    },
    "joint": {"both": {"columns": ["ill", "pay"], "t": 0.7}},
}  # fmt: skip
STARRED: dict[str, Any] = {
    "k": 3, "recode": "suppress", "quasi": {"zip": {"kind": "digits"}, "job": {"kind": "categorical"}},
    "identifiers": ["id", "age", "town", "pay"], "sensitive": {"ill": {"distance": "equal", "t": 0.6}},
}  # fmt: skip
EXACT = "exact, optimal"


def people(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "id": [f"p{row}" for row in range(n)],
            "age": rng.integers(15, 80, n),
            "zip": [f"{number:05}" for number in rng.integers(2100, 2199, n)],
            "job": rng.choice(list("abcd"), n),
            "town": rng.choice(["x", "y"], n),
            "ill": rng.choice(["flu", "cold", "rash"], n),
            "pay": rng.integers(0, 900, n),
        }
    )


def written(keys: dict[str, Any], folder: Path) -> tuple[Path, Schema, dict[str, Any]]:
    schema = Schema.from_dict(keys)
    path = folder / "release.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_args, **_keys: None)
        tclose.anonymize(people(), schema, method="mondrian", seed=1).write(path)
    return path, schema, json.loads(certificate_path(path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=[pytest.param("full", marks=pytest.mark.slow), "starred"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return written(FULL if request.param == "full" else STARRED, tmp_path_factory.mktemp("release"))


def places(given: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a certificate, inner ones too."""
    yield at
    for key, value in given.items() if isinstance(given, dict) else enumerate(given) if isinstance(given, list) else ():
        yield from places(value, (*at, key))


def forgeries(value: Any) -> list[Any]:
    """Other values for a place."""
    found: list[Any] = [None, EXACT, 50, 0, -1, 0.5, [], {}, True, {"optimal": True}, "1/1000"]
    if isinstance(value, bool | int | float):
        found += [value + 1, value - 1, value * 2, value / 3, str(value), float(value), 10**400]
    if isinstance(value, str):
        found += [value + " ", value.upper(), "", value[:-1]]
    if isinstance(value, dict):
        found += [{**value, "optimal": True}, dict(list(value.items())[1:])]
    if isinstance(value, list):
        found += [[*value, "x"], value[1:]]
    return [each for each in found if json.dumps(each) != json.dumps(value)]


def put(certificate: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(certificate)
    inner: Any = changed
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return changed


def test_the_certificate_itself_fits(release: Any) -> None:
    path, schema, certificate = release
    verdict = tclose.verify(path, schema)
    assert verdict.holds
    assert verdict.certificate
    assert certificate["formulas"] == "as they are"
    assert set(verdict.unchecked) == set(CLAIMED) - {"history"} - (set() if "unit" in certificate["unit"] else {"unit"})
    assert verdict.as_dict()["unchecked"] == verdict.unchecked


def test_every_field_forged_in_several_ways_is_caught_or_listed(release: Any) -> None:
    path, schema, certificate = release
    source = read(path)
    measured, forged, passed = check_release(source, schema), 0, set()
    for at in places(certificate):
        inner: Any = certificate
        for key in at:
            inner = inner[key]
        for value in forgeries(inner) if at else []:
            found = check_certificate(
                partial(published_loss, source, schema), schema, measured, put(certificate, at, value), path
            )
            forged += 1
            if found.fits:
                assert at[0] in found.unchecked, (at, value)
                passed.add(at[0])
            else:
                assert found.problems, (at, value)
    assert forged > 500
    assert passed <= {*CLAIMED, "required"}


def test_no_field_may_be_missing_or_added(release: Any) -> None:
    path, schema, certificate = release
    for name in certificate:
        verdict = tclose.verify(path, schema, certificate={k: v for k, v in certificate.items() if k != name})
        assert not verdict.holds, name
        assert name in verdict.problems[0] or "not a certificate" in verdict.problems[0]
    for more in ({"optimal": True}, {"suppressed": 0}, {"exact, optimal": "yes"}, {"\x1b[31m": 1}, {"x" * 500: 1}):
        verdict = tclose.verify(path, schema, certificate={**certificate, **more})
        assert len(verdict.problems) == 1
        assert "has what no certificate of this schema has" in verdict.problems[0]
        assert "\x1b" not in verdict.problems[0]
        assert len(verdict.problems[0]) < 200


def test_no_inner_field_may_be_missing(release: Any) -> None:
    path, schema, certificate = release
    source = read(path)
    measured, deleted = check_release(source, schema), 0
    for at in places(certificate):
        if not at or isinstance(at[-1], int):
            continue
        changed: Any = copy.deepcopy(certificate)
        inner = changed
        for key in at[:-1]:
            inner = inner[key]
        del inner[at[-1]]
        found = check_certificate(partial(published_loss, source, schema), schema, measured, changed, path)
        assert (found.problems and not found.fits) or at[0] in found.unchecked, at
        deleted += 1
    assert deleted > 40


def test_the_forgery_of_the_review(tmp_path: Path) -> None:
    """l = 50, loss 0, optimal, unit checked: it said that it fits."""
    path, schema, certificate = written(
        {key: value for key, value in FULL.items() if key != "unit"} | {"identifiers": ["id"]}, tmp_path
    )
    forged = copy.deepcopy(certificate)
    forged["required"]["l"]["ill"]["distinct"] = "50"
    forged["loss"] = 0
    forged["method"]["optimal"] = True
    forged["unit"] = "one row a unit, checked"
    certificate_path(path).write_text(json.dumps(forged))
    verdict = tclose.verify(path, schema)
    assert not verdict.holds
    assert "required, loss, method, unit differ" in verdict.problems[0]


def test_rows_that_may_be_left_out_are_as_in_the_schema_whatever_else_is_stricter(tmp_path: Path) -> None:
    keys = {**STARRED, "suppress_rows": 0.1}
    path, schema, fields = written(keys, tmp_path)
    stricter = copy.deepcopy(fields)
    stricter["required"]["t"]["ill"] = {"exact": "29/50", "value": 0.58}  # as --t would ask
    assert tclose.verify(path, schema, certificate=stricter).holds
    for of_rows in ({}, {"suppress_rows": {"exact": "0", "value": 0.0}}):
        forged = copy.deepcopy(fields)
        del forged["required"]["suppress_rows"]
        forged["required"] |= of_rows
        verdict = tclose.verify(path, schema, certificate=forged)
        assert "required differ" in verdict.problems[0]


def test_what_is_asked_may_be_stricter_than_the_schema_if_the_table_keeps_it(tmp_path: Path) -> None:
    """As after `anonymize --k --t`, where the schema in the file asks for less."""
    path, schema, certificate = written(FULL, tmp_path)
    loose = Schema.from_dict({**FULL, "k": 2})
    verdict = tclose.verify(path, loose)
    assert verdict.holds
    assert "stricter than the schema" in verdict.unchecked["required"]
    strict = Schema.from_dict({**FULL, "k": 4})
    assert not tclose.verify(path, strict, certificate=certificate).holds
    beyond = put(certificate, ("required", "k"), certificate["reached"]["k"] + 1)
    assert "promises more than the table keeps" in tclose.verify(path, schema, certificate=beyond).problems[0]
    reached = Fraction(certificate["reached"]["t"]["ill"]["exact"]) - Fraction(1, 10**9)
    told = {"exact": str(reached), "value": float(reached)}
    beyond = put(certificate, ("required", "t", "ill"), told)
    assert "promises more than the table keeps" in tclose.verify(path, schema, certificate=beyond).problems[0]


HOSTILE: dict[str, Callable[[str], str]] = {
    "not a number": lambda text: text.replace('"rows": 120', '"rows": NaN'),
    "infinite": lambda text: text.replace('"rows": 120', '"rows": Infinity'),
    "too large a number": lambda text: text.replace('"rows": 120', '"rows": 1e999'),
    "a number of many digits": lambda text: text.replace('"rows": 120', '"rows": ' + "9" * 10_000),
    "twice the same": lambda text: text.replace('"rows": 120', '"rows": 120, "rows": 120'),
    "deep": lambda text: text.replace('"rows": 120', '"rows": ' + "[" * 100_000 + "]" * 100_000),
    "rather deep": lambda text: text.replace('"rows": 120', '"rows": ' + "[" * 300 + "]" * 300),
    "a list": lambda text: f"[{text}]",
    "nothing": lambda _text: "",
    "null": lambda _text: "null",
    "no JSON": lambda text: text[:-10],
    "version 3": lambda text: text.replace('"certificate": 2', '"certificate": 3'),
    "version true": lambda text: text.replace('"certificate": 2', '"certificate": true'),
    "a fraction of a power": lambda text: text.replace('"exact": "3/5"', '"exact": "1e-999999999"'),
    "a lone surrogate": lambda text: text.replace('"rows": 120', '"rows": "\\ud800"'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_certificates_are_one_sentence(name: str, tmp_path: Path) -> None:
    path, schema, _ = written(FULL, tmp_path)
    text = certificate_path(path).read_text(encoding="utf-8")
    changed = HOSTILE[name](text)
    assert changed != text
    certificate_path(path).write_text(changed, encoding="utf-8")
    verdict = tclose.verify(path, schema)
    assert verdict.certificate is False
    assert len(verdict.problems) == 1
    assert verdict.problems[0].count("\n") == 0
    assert len(verdict.problems[0]) < 250


def test_what_is_no_file_is_no_certificate(tmp_path: Path) -> None:
    path, schema, certificate = written(FULL, tmp_path)
    circular: dict[str, Any] = dict(certificate)
    circular["rows"] = circular
    for wrong in ("/dev/zero", str(tmp_path), tmp_path / "absent.json", circular, {"rows": object()}, {1: 2}):
        verdict = tclose.verify(path, schema, certificate=wrong)  # type: ignore[arg-type]
        assert verdict.certificate is False
        assert "not a certificate" in verdict.problems[0]


def test_a_table_in_memory_has_no_file_to_compare(tmp_path: Path) -> None:
    path, schema, certificate = written(STARRED, tmp_path)
    frame = pl.read_csv(path, infer_schema=False)
    verdict = tclose.verify(frame, schema, certificate=certificate)
    assert verdict.holds
    assert {"file", "sha256"} <= set(verdict.unchecked)
    fields = {name: value for name, value in certificate.items() if name not in OF_A_FILE}
    assert tclose.verify(frame, schema, certificate=fields).holds
    assert "lacks order, formulas, file, sha256" in tclose.verify(path, schema, certificate=fields).problems[0]


def test_version_1_is_read_and_what_is_not_trusted_is_listed(tmp_path: Path) -> None:
    path, schema, certificate = written(FULL, tmp_path)
    old = {**certificate, "certificate": 1, "loss": 0.3}
    old["keep"] = (
        "not checked: with these columns groups may be smaller than k; t and l hold for classes, not for groups that "
        "also agree on these columns"
    )
    del old["formulas"]
    old["method"] = {**certificate["method"], "optimal": True, "loss_at_least": 0.1, "stopped_early": True}
    certificate_path(path).write_text(json.dumps(old))
    verdict = tclose.verify(path, schema)
    assert verdict.holds
    assert {"loss", "method", "versions", "order"} <= set(verdict.unchecked)
    assert "version 1" in verdict.unchecked["loss"]
    for at, value in ((("rows",), 121), (("reached", "k"), 9), (("keep",), "checked: fine"), (("loss",), "none"),
                      (("keep",), old["keep"] + " Nobody can be found."), (("keep",), old["keep"][4:]),
                      (("keep",), ["not checked"]), (("formulas",), "none"),
                      (("columns", "age", "step"), 1), (("sha256",), "0" * 64)):  # fmt: skip
        assert not tclose.verify(path, schema, certificate=put(old, at, value)).holds, at


def test_a_cell_that_no_release_has_is_told(tmp_path: Path) -> None:
    path, schema, certificate = written(STARRED | {"recode": "generalize", "quasi": {
        "zip": {"kind": "digits"}, "job": {"kind": "categorical", "hierarchy": TREE}}}, tmp_path)  # fmt: skip
    frame = pl.read_csv(path, infer_schema=False)
    job = frame["job"].to_list()
    changed = frame.with_columns(job=pl.Series(["SECRET" if each == job[0] else each for each in job]))
    verdict = tclose.verify(changed, schema, certificate=certificate)
    assert not verdict.holds
    assert any("that no release by this schema has" in problem for problem in verdict.problems)
    assert not any("SECRET" in problem for problem in verdict.problems)
