"""Every page that is generated as a whole: where it lies, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from docs.generate.api_reference import classes_page, functions_page, methods_page, modules_page
from docs.generate.certificate_reference import certificate_page
from docs.generate.cli_reference import cli_page
from docs.generate.concept_pictures import FOLDER, PICTURES
from docs.generate.error_reference import errors_page
from docs.generate.gallery import gallery_page, picture, scripts
from docs.generate.marked import DOCS, ROOT
from docs.generate.result_tables import pages_with_figures
from docs.generate.schema_reference import schema_page

PAGES: dict[str, Callable[[], str]] = {
    "gallery/index.md": gallery_page,
    "reference/cli.md": cli_page,
    "reference/schema-keys.md": schema_page,
    "reference/certificate.md": certificate_page,
    "reference/errors.md": errors_page,
    "reference/api-functions.md": functions_page,
    "reference/api-classes.md": classes_page,
    "reference/api-methods.md": methods_page,
    "reference/api-modules.md": modules_page,
}


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated page and every quick picture, with what it should hold."""
    for name, make in PAGES.items():
        yield DOCS / name, make().rstrip() + "\n"
    for name, draw in PICTURES.items():
        yield FOLDER / name, draw()
    yield from pages_with_figures()


def drawn() -> Iterator[tuple[Path, str]]:
    """The pictures of the gallery, which take some seconds."""
    for script in scripts():
        yield script.with_suffix(".svg"), picture(script)


def stale(found: Iterable[tuple[Path, str]]) -> list[str]:
    """The files that do not hold what they should."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, text in found
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write(found: Iterable[tuple[Path, str]]) -> None:
    """Write all of them that changed."""
    for path, text in found:
        if stale([(path, text)]):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
