"""Pages as PDF: what they say and draw is in it, and nothing from elsewhere."""

from __future__ import annotations

import builtins
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import MissingExtraError, TcloseError
from tclose.pages.pdf import load, to_pdf
from tclose.pages.svg import COLOURS
from tests.pages import samples
from tests.seeds import one_in


@pytest.fixture(autouse=True)
def _printer() -> None:
    needs_pango()


def needs_pango() -> None:
    """Skip where the system's library is not there; the package must be."""
    try:
        load()
    except MissingExtraError:
        raise
    except TcloseError as error:
        pytest.skip(str(error))


def drawn(pdf: bytes) -> str:
    """All that is drawn, as the operators of PDF."""
    parts = []
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompress(part))
        except zlib.error:
            continue
    return b"\n".join(parts).decode("latin-1")


def fills(drawing: str) -> set[str]:
    """The colours that something is filled or drawn with."""
    found = re.findall(r"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG|scn|SCN)\b", drawing)
    return {"#" + "".join(f"{round(255 * float(part)):02x}" for part in colour) for colour in found}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(9, samples.PAGES))
def test_every_page_can_be_pdf(name: str) -> None:
    pdf = to_pdf(samples.page(name))
    assert pdf.startswith(b"%PDF-")
    colours = fills(drawn(pdf))
    assert COLOURS["line0"][0] in colours  # a chart without its style would be black
    assert COLOURS["line0"][1] not in colours  # paper is light, whatever the screen is


def test_nothing_is_fetched(tmp_path: Path) -> None:
    """A picture that lies elsewhere is left out, as the page's own policy has it in a browser."""
    picture = tmp_path / "picture.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9" fill="#123456"/></svg>')
    page = f'<p>words</p><img src="{picture.as_uri()}">'
    assert "#123456" in fills(drawn(load().HTML(string=page).write_pdf()))
    assert "#123456" not in fills(drawn(to_pdf(page)))


def test_without_the_package_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingExtraError, match=r"tclose\[pdf\]"):
        to_pdf("<p>words</p>")


def test_without_the_system_library_too(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return usual(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TcloseError, match="Pango"):
        to_pdf("<p>words</p>")
