"""Figures on the pages come from results: a block that differs, or has no source, is found; no table is typed in."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from docs.generate import result_tables
from docs.generate.marked import DOCS, ROOT
from docs.generate.result_tables import BLOCK, TABLES, filled, pages_with_figures
from docs.generate.results import RESULTS, NoSourceError, origin_problem, result
from docs.generate.take_results import take

# Tables with decimals that are still typed in by hand, by page: a number here may only fall.
TYPED_IN = {
    "app.md": 1,
    "attacks.md": 5,
    "benchmarks.md": 30,
    "choosing.md": 1,  # not measured: what an option means
    "methods/milp.md": 1,  # the same
    "republish.md": 1,
    "scale.md": 2,
    "tight.md": 2,
}
MEASURED = re.compile(r"(?<![\w.=\"])\d+\.\d{2,}(?!\w)|\d\.\d s\b|\d %")
OTHERWISE = ("papers-004.md", "reference/", "gallery/")  # made by a program of their own


def tables_with_figures(text: str) -> int:
    """How many tables outside of generated blocks hold what looks measured."""
    lines = BLOCK.sub("", text).split("\n")
    found, within = 0, False
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            within = False
        elif not within and MEASURED.search(re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", line)) and place:
            found, within = found + 1, True
    return found


def test_pages_have_blocks_of_figures() -> None:
    shown = {block[1] for page, _ in pages_with_figures() for block in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown == {*TABLES}


def test_every_result_is_used_and_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def noted(name: str) -> dict[str, object]:
        asked.add(name)
        return result(name)

    monkeypatch.setattr(result_tables, "result", noted)
    for make in TABLES.values():
        make()
    assert {path.stem for path in RESULTS.glob("*.json")} <= asked
    for name in asked:
        result(name)


def test_a_figure_that_differs_is_found() -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert filled(text) == text
    block = BLOCK.search(text)
    assert block is not None
    figure = re.search(r"\d+\.\d", block[3])
    assert figure is not None
    changed = text.replace(block[3], block[3].replace(figure[0], f"{float(figure[0]) + 1:.1f}", 1))
    assert filled(changed) == text != changed


def test_a_block_without_a_source_is_found() -> None:
    with pytest.raises(NoSourceError, match="nothing"):
        filled("<!-- figures: nothing -->\n1.23\n<!-- end -->")
    with pytest.raises(NoSourceError, match="no result"):
        result("nothing")


def test_a_result_without_an_origin_is_found() -> None:
    path = RESULTS / "x.json"
    machine = {"cores": 2, "python": "3", "versions": {}}
    assert origin_problem({"date": "2026-11-17", "machine": machine}, path) is None
    assert origin_problem({"machine": machine}, path) == "x.json does not say date."
    assert origin_problem({"date": "2026-11-17"}, path) == "x.json does not say cores, python, versions."
    assert origin_problem({"origin": "elsewhere", "entered": "2026-11-17"}, path) is None
    assert "when it was entered" in str(origin_problem({"origin": "elsewhere"}, path))


def test_results_are_taken_with_their_day(tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    (tmp_path / "kept").mkdir()
    source = tmp_path / "measured" / "speed.json"
    source.write_text('{"seconds": 1.5}')
    os.utime(source, (1_700_000_000, 1_700_000_000))
    taken = take("speed", tmp_path / "measured", tmp_path / "kept")
    assert json.loads(taken.read_text()) == {"date": "2023-11-14", "seconds": 1.5}
    source.write_text('{"date": "2020-01-01", "seconds": 1.5}')
    assert json.loads(take("speed", tmp_path / "measured", tmp_path / "kept").read_text())["date"] == "2020-01-01"


def test_no_table_of_figures_is_typed_in() -> None:
    found = {}
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        name = page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name
        if not name.startswith(OTHERWISE):
            found[name] = tables_with_figures(page.read_text(encoding="utf-8"))
    more = {name: count for name, count in found.items() if count > TYPED_IN.get(name, 0)}
    assert more == {}, "put the figures into docs/results, and the table between marks: docs/writing-docs.md"


def test_a_table_that_is_typed_in_is_found() -> None:
    assert tables_with_figures("\n| a | b |\n|---|---|\n| x | 0.123 |\n\ntext 0.123\n\n| t = 0.2 | `0.123` |\n") == 1
