"""Finds figures on a page that look measured and stand outside of its generated blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.generate.result_tables import BLOCK

NOT_MEASURED = re.compile(r"<!-- not measured: [^>]+ -->")
UNIT = r"(?:%|s|ms|MB|GB|seconds|minutes|hours|times|points|rows a second|classes|cases|stars|inputs|lines)"
NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
# A cell of figures alone: "0.255", "0.3216; 1,560", "8/14/12", "+0.082 (4%)", "27 s, 0.3411", "4 of 12".
CELL = re.compile(rf"\**(?:loss )?{NUMBER}(?: ?{UNIT})?(?:(?:[;,/]| of| and| to)? ?\(?{NUMBER}(?: ?{UNIT})?\)?)*\**")
# In a sentence: two decimals or more, or a number with a unit.
SENTENCE = re.compile(rf"(?<![\w.=\"/-])\d[\d,]*(?:\.\d+)? {UNIT}(?!\w)|(?<![\w.=\"/])\d+\.\d{{2,}}(?![\w.])")
ASKED = re.compile(r"\bt (?:=|<=|from|at|of|to|is) \d[\d., toand]*\d|\bk (?:=|is) \d+|(?:Python|version) [\d.]+\d")
CODE_OR_LINK = re.compile(r"`[^`]*`|\]\([^)]*\)")


def without_generated(text: str) -> list[str]:
    """The lines of a page; those of generated blocks and of code are empty."""

    def emptied(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    text = re.sub(r"^```.*?^```$", emptied, BLOCK.sub(emptied, text), flags=re.DOTALL | re.MULTILINE)
    return text.split("\n")


def typed_tables(text: str) -> list[int]:
    """The lines, from 1, at which tables with cells of figures begin, unless a mark before them says why they may.

    Whole numbers below a thousand are taken for figures only where a row has three of them.
    """
    lines, found, place = without_generated(text), [], 0
    while place < len(lines):
        end = place
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        before = next((line for line in reversed(lines[:place]) if line), "")
        if any(map(_has_figures, lines[place + 2 : end])) and not NOT_MEASURED.fullmatch(before):
            found.append(place + 1)
        place = end + 1
    return found


def _has_figures(row: str) -> bool:
    cells = [CODE_OR_LINK.sub("", cell).strip() for cell in row.strip("|").split("|")]
    figures = [cell for cell in cells[1:] if CELL.fullmatch(cell)]
    return len(figures) > 2 or any(re.search(r"[.,%/]|\d [a-zA-Z]", cell) for cell in figures)


def sentence_figures(text: str) -> Iterator[tuple[str, str]]:
    """Figures in sentences that stand in no generated block of their section: its heading, and the figure."""
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        heading = section.partition("\n")[0].removeprefix("## ") if section.startswith("## ") else ""
        blocks = " ".join(block[2] for block in BLOCK.findall(section))
        shown = set(re.findall(r"[\d.,]*\d(?: %)?", blocks))
        words = " ".join(line for line in without_generated(section) if not line.startswith("|"))
        words = ASKED.sub("", CODE_OR_LINK.sub("", " ".join(words.split())))
        for figure in SENTENCE.findall(words):
            if figure not in shown and figure.split()[0] not in shown:
                yield heading, figure
