"""Pages as files: well-formed, in one piece, asking nothing of any server, and quiet towards a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tclose.pages.page import Page
from tclose.release.atomic import write_whole
from tests.pages import samples

VOID = {"meta", "link", "br", "path", "rect", "circle", "polygon"}


class Checker(HTMLParser):
    """Every tag is closed by its own, and nothing is fetched from anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset", "action", "data", "poster"), name
            assert name != "href" or value == "data:,"
        if tag not in VOID or tag in ("rect", "circle", "polygon"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def checked(html: str) -> Checker:
    """Read a page, and fail where it is not well-formed."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    return checker


@pytest.mark.parametrize("name", samples.PAGES)
def test_every_page_is_well_formed_and_alone(name: str) -> None:
    html = samples.page(name)
    found = checked(html)
    assert "script" not in found.tags
    assert "svg" in found.tags
    assert html.count("<h1>") == 1
    assert "default-src 'none'" in html
    assert not [url for url in re.findall(r"(?:https?:)?//[^\s\"'<]+", html) if "www.w3.org/2000/svg" not in url]
    assert "url(" not in html
    assert "@import" not in html
    assert "nan" not in " ".join(found.text).lower().split()
    assert "@media print" in html
    assert "prefers-color-scheme:dark" in html


@pytest.mark.parametrize("shown", [samples.comparison(), samples.suggestion(), samples.suggestion((0.5,) * 5)])
def test_a_notebook_stays_as_it_is(shown: object) -> None:
    note: str = shown._repr_html_()  # type: ignore[attr-defined]
    checked(note)
    style = re.findall(r"<style>(.*?)</style>", note, re.DOTALL)[0]
    bare = re.sub(r"@media[^{]*\{", "", style)
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", bare) for part in rule.split(",")]
    assert selectors
    assert not [each for each in selectors if not each.startswith((".tclose", ".tc "))]


def test_a_method_has_the_same_colour_in_every_chart() -> None:
    """Also where another is left out: the third of the samples has no query error."""
    html = samples.comparison().html()
    colours = re.findall(r'class="(line\d)" text-anchor="start">(method-\d+)<', html)
    by_name: dict[str, set[str]] = {}
    for colour, name in colours:
        by_name.setdefault(name, set()).add(colour)
    assert len(by_name) == 12
    assert all(len(found) == 1 for found in by_name.values()), by_name


def test_all_text_is_escaped() -> None:
    page = Page("<b>&")
    evil = '<img src=x onerror="a">'
    page.heading(evil)
    page.text(evil)
    page.points([evil])
    page.tiles([(evil, evil)])
    page.figure("", evil)
    page.table([evil], [[evil]], words=True)
    assert "img" not in checked(page.html()).tags
    assert "".join(checked(page.html()).text).count(evil) == 8


def test_a_page_is_written_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    write_whole(target, "old ü".encode())
    assert target.read_text(encoding="utf-8") == "old ü"

    def refuse(*_places: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="No space"):
        write_whole(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text(encoding="utf-8") == "old ü"
