"""Every link of a page leads somewhere: to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from docs.generate.marked import DOCS, ROOT, anchor

PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")


@cache
def anchors(page: Path) -> frozenset[str]:
    """What links to the headings of a page end in; a heading that occurs again has a number."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip()
        name = anchor(plain)
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    lost = []
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))):
        file, _, place = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        leads_to = (page.parent / file).resolve() if file else page
        if not leads_to.exists() or (place and leads_to.suffix == ".md" and place not in anchors(leads_to)):
            lost.append(target)
    return lost


def test_every_link_leads_somewhere() -> None:
    found = {page.relative_to(ROOT).as_posix(): broken(page, page.read_text(encoding="utf-8")) for page in PAGES}
    assert {page: links for page, links in found.items() if links} == {}


def test_a_broken_link_is_found() -> None:
    text = (
        "[a](nothing.md) [b](docs/glossary.md#nowhere) [c](docs/glossary.md#glossary) [d](https://a.org) `[e](no.md)`"
    )
    assert broken(ROOT / "README.md", text) == ["nothing.md", "docs/glossary.md#nowhere"]


def test_pages_name_no_place_of_one_machine() -> None:
    lost = re.compile(r"/(home|root|work|opt)/|C:\\")
    assert [page.name for page in PAGES if lost.search(page.read_text(encoding="utf-8"))] == []
