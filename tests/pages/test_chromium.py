"""Every page in a real browser: charts are drawn, nothing overlaps, no complaint, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages import samples
from tests.pages.browser import Browser, browsing

# Of every drawing: how many marks and bars have a size, and the boxes of its words, in its own units.
SEEN = """
return [...document.querySelectorAll('svg')].map(svg => {
  const own = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / own.width;
  const box = each => { const r = each.getBoundingClientRect();
    return [(r.left - own.left) * scale, (r.top - own.top) * scale, r.width * scale, r.height * scale]; };
  const marks = [...svg.querySelectorAll('.mark,.bar,path')].map(box).filter(b => b[2] > 0 || b[3] > 0);
  return {title: svg.getAttribute('aria-label'), wide: svg.viewBox.baseVal.width, high: svg.viewBox.baseVal.height,
          marks: marks, words: [...svg.querySelectorAll('text')].map(each => [each.textContent, ...box(each)])};
})
"""
LOOKS = "const style = getComputedStyle(document.documentElement); return [style.backgroundColor, getComputedStyle(document.querySelector('h1')).color]"  # noqa: E501


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as session:
        yield session


def overlapping(words: list[list[Any]]) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than a hair."""
    return [
        (a[0], b[0])
        for place, a in enumerate(words)
        for b in words[:place]
        if min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]) > 1.5
        and min(a[2] + a[4], b[2] + b[4]) - max(a[2], b[2]) > 4.5  # a line of text is higher than its letters
    ]


def brightness(colour: str) -> float:
    """0 is black, 255 white."""
    red, green, blue = (int(part) for part in colour[4:-1].split(","))
    return 0.3 * red + 0.59 * green + 0.11 * blue


@pytest.mark.slow
@pytest.mark.parametrize("name", samples.PAGES)
@pytest.mark.everyday(4)
def test_a_page_opens_offline_and_draws(name: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.html"
    path.write_text(samples.page(name), encoding="utf-8")
    browser.requests()
    browser.log("browser")
    browser.open(path)
    drawings = browser.run(SEEN)
    assert drawings
    for drawing in drawings:
        assert len(drawing["marks"]) >= 3, drawing["title"]
        for x, y, wide, high in drawing["marks"]:
            assert x >= -1, drawing["title"]
            assert y >= -1, drawing["title"]
            assert x + wide <= drawing["wide"] + 1, drawing["title"]
            assert y + high <= drawing["high"] + 1, drawing["title"]
        for words, x, y, wide, high in drawing["words"]:
            assert wide > 0, words
            assert x >= -1, words
            assert y >= -1, words
            assert x + wide <= drawing["wide"] + 1, words
            assert y + high <= drawing["high"] + 1, words
        assert not overlapping(drawing["words"]), drawing["title"]
    assert browser.log("browser") == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "data:"))] == []
    wide = browser.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1]


@pytest.mark.parametrize("name", ["comparison", "suggestion", "report"])
def test_a_page_is_legible_in_light_and_in_dark(name: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.html"
    path.write_text(samples.page(name), encoding="utf-8")
    browser.open(path)
    for scheme, dark in (("light", False), ("dark", True)):
        browser.colours(scheme)
        back, ink = (brightness(colour) for colour in browser.run(LOOKS))
        assert (back < 60) == dark
        assert abs(back - ink) > 150
        drawn = browser.run(
            "return [...new Set([...document.querySelectorAll('svg text')].map(t => getComputedStyle(t).color))]"
        )
        assert all(abs(brightness(colour) - back) > 60 for colour in drawn), drawn
    browser.colours("light")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["comparison", "suggestion", "report"])
def test_a_page_is_legible_on_a_telephone(name: str, browser: Browser, tmp_path: Path) -> None:
    """Charts keep their size and can be shifted; the page itself is as wide as the screen."""
    path = tmp_path / f"{name}.html"
    path.write_text(samples.page(name), encoding="utf-8")
    browser.wide(390)
    try:
        browser.open(path)
        wide, screen = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert (wide, screen) == (390, 390)
        least = browser.run(
            "return Math.min(...[...document.querySelectorAll('svg')].map(each =>"
            " 13 * each.getBoundingClientRect().width / each.viewBox.baseVal.width))"
        )
        assert least >= 9
    finally:
        browser.wide(1100)


def test_a_request_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    """The tests above can fail: a page that asks for something is seen to."""
    path = tmp_path / "asking.html"
    path.write_text("<!doctype html><img src='http://127.0.0.1:9/x.png'><script>console.error('no')</script>")
    browser.requests()
    browser.log("browser")
    browser.open(path)
    assert any("127.0.0.1:9" in url for url in browser.requests())
    assert browser.log("browser")
