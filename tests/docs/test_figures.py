"""Figures on the pages come from results: one that differs, that has no source, or that is typed in is found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate import results
from docs.generate.marked import DOCS, ROOT
from docs.generate.result_tables import BLOCK, TABLES, filled, pages_with_figures
from docs.generate.results import RESULTS, NoSourceError, origin_problem, result
from docs.generate.take_results import take
from tests.docs.typed_figures import sentence_figures, typed_tables

# Pages, and sections of pages, whose figures still have no source: this list may only become shorter.
NO_SOURCE_YET: dict[str, tuple[str, ...] | None] = {}
OTHERWISE = ("papers-004.md", "reference/", "gallery/", "changelog.md")  # made by programs of their own, or no page


def pages() -> Iterator[tuple[str, str]]:
    """Every page that should have no figure of its own, by name, and its text without what has no source yet."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        name = page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name
        excused = NO_SOURCE_YET.get(name, ())
        if name.startswith(OTHERWISE) or excused is None:
            continue
        sections = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        yield name, "".join(each for each in sections if each.partition("\n")[0].removeprefix("## ") not in excused)


def of_sentences() -> dict[str, dict[str, set[str]]]:
    """By page and section, the figures of sentences to which `sentences.json` gives an origin."""
    return {
        page: {section: {each for entry in entries for each in entry["figures"]} for section, entries in parts.items()}
        for page, parts in result("sentences")["pages"].items()
    }


def test_pages_have_blocks_of_figures() -> None:
    shown = {block[1] for page, _ in pages_with_figures() for block in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown == {*TABLES}


def test_every_result_is_used_and_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def noted(name: str) -> dict[str, object]:
        asked.add(name)
        return result(name)

    monkeypatch.setattr(results, "result", noted)
    for make in TABLES.values():
        make()
    assert {path.stem for path in RESULTS.glob("*.json")} <= asked | {"sentences"}
    assert {path.stem for path in results.COUNTS.glob("*.json")} <= asked
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


def test_an_empty_block_is_filled_and_takes_nothing_after_it() -> None:
    made = TABLES["bounds"]()
    empty = "<!-- figures: bounds -->\n<!-- end -->\n\nwords\n\n<!-- figures: bounds -->\n1.23\n<!-- end -->\n"
    block = f"<!-- figures: bounds -->\n{made}\n<!-- end -->\n"
    assert filled(empty) == f"{block}\nwords\n\n{block}"


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
    found = {name: lines for name, text in pages() if (lines := typed_tables(text))}
    assert found == {}, "put the figures into docs/results, and the table between marks: docs/writing-docs.md"


def test_every_figure_in_a_sentence_has_a_source() -> None:
    given = of_sentences()
    found: dict[str, dict[str, set[str]]] = {}
    for name, text in pages():
        for section, figure in sentence_figures(text):
            found.setdefault(name, {}).setdefault(section, set()).add(figure)
    assert found == given, "give each figure an origin in docs/results/sentences.json: docs/writing-docs.md"


def test_every_figure_of_a_sentence_says_how_it_was_measured_or_why_it_is_none() -> None:
    for page, parts in result("sentences")["pages"].items():
        for section, entries in parts.items():
            assert all(len({"command", "not_measured"} & {*entry}) == 1 for entry in entries), (page, section)


def test_what_has_no_source_yet_is_there() -> None:
    for name, sections in NO_SOURCE_YET.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        assert all(f"## {section}\n" in text for section in sections or ()), name
        parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        parts = [each for each in parts if sections is None or each.partition("\n")[0].removeprefix("## ") in sections]
        assert any(typed_tables(each) for each in parts), f"{name} can be taken off the list"


@pytest.mark.parametrize(
    "row",
    [
        "| x | 0.123 |",
        "| x | **0.086** |",
        "| x | 1,560 |",
        "| x | 4.4 s |",
        "| x | 20 % |",
        "| x | 8/14/12 |",
        "| x | 0.544; 1,560; 0.043 |",
        "| x | +0.082 (4%) |",
        "| x | 104 | 40 | 40 |",
        "| x | 2.0 |",
    ],
)
def test_a_table_that_is_typed_in_is_found(row: str) -> None:
    columns = row.count("|") - 1
    text = f"\n{'| a ' * columns}|\n{'|---' * columns}|\n{row}\n"
    assert typed_tables(text) == [2]
    assert typed_tables(f"\n<!-- not measured: an example -->{text}") == []
    assert typed_tables(f"\n<!-- figures: x -->{text}<!-- end -->\n") == []


def test_a_table_of_words_is_none_of_figures() -> None:
    rows = "| `--max-risk 0.2` | the least k at which the chance is above 20 % |\n| `0.123` | k = 5, t = 0.2 |"
    assert typed_tables(f"\n| a | b |\n|---|---|\n{rows}\n") == []


def test_a_figure_in_a_sentence_is_found() -> None:
    text = "# A\n\nIt loses 0.123 at t = 0.35 and takes 4 s, `0.555` s.\n\n## B\n\n"
    text += "<!-- figures: x -->\n| 0.5 |\n<!-- end -->\n"
    assert list(sentence_figures(text)) == [("", "0.123"), ("", "4 s")]
    assert list(sentence_figures(text + "\nHere 0.123 and 0.50 are new.\n"))[2:] == [("B", "0.123"), ("B", "0.50")]
    assert list(sentence_figures(text.replace("0.5 |", "0.123 |") + "\nNot 0.123.\n"))[2:] == []
