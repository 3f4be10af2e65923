"""Every page that is generated as a whole: where it lies, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from docs.generate.api_reference import classes_page, functions_page, methods_page, modules_page
from docs.generate.certificate_reference import certificate_page
from docs.generate.cli_reference import cli_page
from docs.generate.error_reference import errors_page
from docs.generate.marked import DOCS
from docs.generate.schema_reference import schema_page

PAGES: dict[str, Callable[[], str]] = {
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
    """Every generated file with what it should hold."""
    for name, make in PAGES.items():
        yield DOCS / name, make().rstrip() + "\n"


def stale() -> list[str]:
    """The generated files that do not hold what they should."""
    return [
        path.relative_to(DOCS).as_posix()
        for path, text in generated()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write() -> None:
    """Write all of them that changed."""
    for path, text in generated():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(DOCS)}")
