"""Every cell about another tool has its source, or says that nobody looked."""

from __future__ import annotations

import re

from docs.generate.marked import DOCS

PAGE = DOCS / "against-the-others.md"


def unsourced(text: str) -> list[str]:
    """The cells about others without a source that is listed."""
    sources = {*re.findall(r"^(\d+)\. ", text, re.MULTILINE)}
    found = []
    for line in text.split("\n"):
        if not line.startswith("| ") or line.startswith("| |"):
            continue
        for cell in line.strip("|").split("|")[2:]:
            named = [number for group in re.findall(r"\[([\d, ]+)\]", cell) for number in group.split(", ")]
            if cell.strip() != "not checked" and not (named and {*named} <= sources):
                found.append(cell.strip())
    return found


def test_every_cell_has_its_source() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"\[[\d, ]+\]", text)) > 60
    assert unsourced(text) == []


def test_a_cell_without_a_source_is_found() -> None:
    rows = "| k | yes | yes [1] |\n| t | yes | no |\n| l | yes | yes [7] |\n"
    text = f"| | tclose | other |\n|---|---|---|\n{rows}\n1. A page\n"
    assert unsourced(text) == ["no", "yes [7]"]
