"""The site is built without a warning, loads nothing from elsewhere, and its search finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.generate.marked import DOCS
from tests.pages.browser import browsing

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset", "video": "src"}


class Loaded(HTMLParser):
    """What a page loads by itself, in contrast to what its links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if LOADED.get(tag) == name]


def loaded_by(html: str) -> list[str]:
    page = Loaded()
    page.feed(html)
    return page.addresses


def foreign(addresses: list[str]) -> list[str]:
    return [each for each in addresses if re.match(r"(\w+:)?//", each) and not each.startswith("data:")]


def test_what_is_loaded_from_elsewhere_is_found() -> None:
    html = (
        '<a href="https://a.org"></a><img src="x.svg"><script src="https://b.org/x.js"></script><link href="//c.org">'
    )
    assert foreign(loaded_by(html)) == ["https://b.org/x.js", "//c.org"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(folder)]
    built = subprocess.run([*command, "-d", str(folder / ".doctrees")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert foreign(loaded_by(page.read_text(encoding="utf-8"))) == [], page.name
    for style in site.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), style.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "page"), [("hierarchi", "schema"), ("mondrian", "methods/mondrian"), ("certif", "reference/certificate")]
)
def test_the_search_finds(site: Path, word: str, page: str) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    places: list[int] = []
    for kind in ("terms", "titleterms"):
        some = found[kind].get(word, [])  # one page stands by itself, several in a list
        places += some if isinstance(some, list) else [some]
    assert page in [found["docnames"][place] for place in places]


@pytest.mark.slow
def test_a_browser_shows_it(site: Path) -> None:
    """Nothing is asked of the net, no page is wider than a phone, and the search shows what it found."""
    with browsing() as browser:
        browser.open(site / "index.html")
        browser.requests()  # what the browser itself asked for at its start
        browser.wide(390)
        for name in ("index", "start", "against-the-others", "reference/cli", "reference/api-classes", "gallery/index"):
            browser.open(site / f"{name}.html")
            assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), name
        browser.ask("POST", "url", url=f"{(site / 'search.html').as_uri()}?q=hierarchy")
        ends = time.monotonic() + 20
        found = 0
        while found < 10 and time.monotonic() < ends:
            found = browser.run("return document.querySelectorAll('ul.search li').length")
        assert found >= 10
        assert [each for each in browser.requests() if not each.startswith(("file:", "data:"))] == []
