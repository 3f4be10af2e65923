"""The campaign of mutants: what it changes, what it draws from, and that its judge sees what is wrong."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.campaigns.corpus import corpus, release
from benchmarks.campaigns.mutant_verdict import differs, wrong_with
from benchmarks.campaigns.mutants import PACKAGE, Mutant, all_mutants, mutated, statements
from tclose.table.encode import EncodedTable, Spans

NAME = "matrix and joint by tight"


def test_it_draws_from_all_that_makes_releases() -> None:
    found = all_mutants()
    files = {mutant.file for mutant in found}
    assert len(found) > 1000
    assert {
        "table/encode.py",
        "table/axes.py",
        "distances/tree.py",
        "kernels/closeness.py",
        "release/recode.py",
    } <= files
    assert sum(file.endswith("_loops.py") for file in files) > 10
    assert not any(file.startswith(("verification/", "schema/")) for file in files)


def test_a_mutant_is_one_change() -> None:
    mutant = next(each for each in all_mutants() if each.file == "kernels/closeness.py" and "swapped" in each.what)
    right = ast.unparse(ast.parse((PACKAGE / mutant.file).read_text(encoding="utf-8"))).splitlines()
    changed = [one for one, other in zip(right, mutated(mutant).splitlines(), strict=True) if one != other]
    assert len(changed) == 1


def test_statements_are_found_by_their_lines() -> None:
    source = "A = 1\ndef f(x=2):\n    for i in range(3):\n        x += (4 +\n              5)\n    return x\n"
    tree = ast.parse(source)
    spans = statements(tree)
    found = {node.value: spans[node] for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert found == {1: None, 2: None, 3: (3, 3), 4: (4, 5), 5: (4, 5)}
    lines = {"one": {3}, "other": {5, 6}}
    assert Mutant("f.py", 0, 4, "", (4, 5)).reached_by(lines) == ["other"]
    assert Mutant("f.py", 0, 1, "", None).reached_by(lines) == ["one", "other"]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("right")
    assert release(corpus()[NAME], folder, NAME) == "released"
    return folder


def changed(right: Path, folder: Path, **change: Any) -> Path:
    """A copy in which a file is another."""
    for path in right.iterdir():
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for name, edit in change.items():
        path = next(each for each in folder.iterdir() if each.name.endswith(f".{name}") and each.name != "table.csv")
        path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def test_nothing_is_wrong_with_a_right_release(right: Path, tmp_path: Path) -> None:
    assert wrong_with(corpus()[NAME], right, NAME) is None
    assert not differs(corpus()[NAME], changed(right, tmp_path), right, NAME)


def test_a_cell_that_is_not_true_is_seen(right: Path, tmp_path: Path) -> None:
    folder = changed(right, tmp_path, csv=lambda text: text.replace('"[', '"[9', 1))
    assert differs(corpus()[NAME], folder, right, NAME)
    assert "untrue" in str(wrong_with(corpus()[NAME], folder, NAME))


def test_a_certificate_that_is_not_true_is_seen(right: Path, tmp_path: Path) -> None:
    def edit(text: str) -> str:
        told = json.loads(text)
        told["reached"]["t"]["ill"] = {"exact": "0", "value": 0.0}
        return json.dumps(told)

    folder = changed(right, tmp_path, **{"certificate.json": edit})
    found = wrong_with(corpus()[NAME], folder, NAME)
    assert found is not None
    assert "certificate: t of ill" in str(found)
    assert not found.is_loss


def test_a_loss_that_is_not_true_is_seen(right: Path, tmp_path: Path) -> None:
    folder = changed(right, tmp_path, **{"told.json": lambda text: json.dumps(json.loads(text) | {"loss": 0.01})})
    found = wrong_with(corpus()[NAME], folder, NAME)
    assert found is not None
    assert found.is_loss


def test_hiding_what_a_class_has_in_common_is_no_wrong_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = EncodedTable.spans

    def too_wide(table: EncodedTable, *given: Any) -> Spans:
        return [(low, np.maximum(high, 1)) for low, high in spans(table, *given)]

    case, name = corpus()["numeric by mondrian"], "numeric by mondrian"
    assert release(case, tmp_path, name) == "released"
    needed = json.loads((tmp_path / f"{name}.told.json").read_text(encoding="utf-8"))["loss"]
    monkeypatch.setattr(EncodedTable, "spans", too_wide)
    assert release(case, tmp_path, name) == "released"
    assert json.loads((tmp_path / f"{name}.told.json").read_text(encoding="utf-8"))["loss"] > needed
    assert wrong_with(case, tmp_path, name) is None
