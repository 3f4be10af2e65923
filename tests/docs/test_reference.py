"""The reference is what the code says: pages are current, and a key, field or name without a line is found."""

from __future__ import annotations

import doctest
import inspect
import re
import tomllib
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

import tclose
from docs.generate import certificate_reference
from docs.generate.api_reference import names_of_classes, names_of_methods, names_of_modules, public
from docs.generate.certificate_reference import FIELDS, INSIDE, unexplained, written_fields
from docs.generate.cli_reference import commands, examples
from docs.generate.error_reference import kinds_of
from docs.generate.marked import DOCS, ROOT
from docs.generate.pages import PAGES, drawn, generated, stale
from docs.generate.schema_reference import TABLES, UndocumentedKeyError, keys
from tclose.errors import TcloseError
from tclose.release.certificate_check import OF_A_FILE
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_generated_pages_are_current() -> None:
    assert stale(generated()) == [], "run `python -m docs.generate`"


@pytest.mark.slow
def test_pictures_are_what_their_scripts_draw() -> None:
    assert stale(drawn()) == [], "run `python -m docs.generate`"


def test_every_public_name_is_on_a_page() -> None:
    pages = "".join(read(name) for name in PAGES if "api" in name)
    told = [*public("function"), *public("class")]
    assert [name for name in told if f":: tclose.{name}\n" not in pages] == []
    errors = read("reference/errors.md")
    assert [each.__name__ for each in kinds_of(TcloseError) if f"`{each.__name__}`" not in errors] == []
    modules = {"datasets", "distances", "errors", "pages", "spark", "stream", "testing"}
    rest = {*tclose.__all__} - {*told, *modules, "__version__"}
    assert [name for name in rest if f"`{name}`" not in errors] == []


def without_result(names: dict[str, Any]) -> list[str]:
    """Those whose docstring has no example that shows a result."""
    shown = doctest.DocTestParser()
    return [
        path
        for path, value in names.items()
        if not any(example.want for example in shown.get_examples(inspect.getdoc(value) or ""))
    ]


def test_every_public_name_has_an_example_with_a_result() -> None:
    """Those of `tclose.spark` would start an engine."""
    names = {f"tclose.{name}": getattr(tclose, name) for name in public("function")}
    names |= names_of_classes() | names_of_methods()
    for module, held in names_of_modules().items():
        names |= held if module is not tclose.spark else {}
    assert without_result(names) == []


def test_an_example_that_only_constructs_is_found() -> None:
    def built() -> None:
        """A thing.

        >>> thing = dict()
        """

    def shown() -> None:
        """A thing.

        >>> dict(a=1)
        {'a': 1}
        """

    assert without_result({"built": built, "shown": shown, "silent": None}) == ["built", "silent"]


def test_every_extra_is_on_the_first_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {*project["optional-dependencies"]} - {"dev", "docs", "fuzz"}  # those are for developers
    assert {*re.findall(r"^\| `(\w+)` \|", read("start.md"), re.MULTILINE)} == extras


def test_every_command_and_option_is_on_the_page() -> None:
    page = read("reference/cli.md")
    for name, command in commands().items():
        assert f"## tclose {name}\n" in page
        assert examples(command), f"`tclose {name}` shows no example"
        options = [each for option in command.params for each in option.opts if each.startswith("--")]
        assert [each for each in options if f"`{each}`" not in page] == []


def test_every_key_of_a_schema_is_on_the_page() -> None:
    page = read("reference/schema-keys.md")
    for held_by in (Schema, *TABLES.values(), Diversity):
        named = [name for name in keys(held_by) if name not in ("column", "name")]
        assert [name for name in named if f"| `{name}` |" not in page] == []


def test_a_key_without_a_line_is_found() -> None:
    @dataclass
    class Told:
        """Keys.

        Attributes
        ----------
        width
            In points.
        """

        width: int

    assert list(keys(Told)) == ["width"]
    more = make_dataclass("More", [("width", int), ("height", int)])
    more.__doc__ = Told.__doc__
    with pytest.raises(UndocumentedKeyError, match="height"):
        keys(more)
    less = make_dataclass("Less", [("depth", int)])
    less.__doc__ = "Keys.\n\nAttributes\n----------\ndepth\n    Down.\nwidth\n    Across.\n"
    with pytest.raises(UndocumentedKeyError, match="width"):
        keys(less)


def test_a_field_of_a_certificate_without_a_line_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexplained() == set()
    assert {"suppressed_cells", "guarantee", "sha256", "role"} <= written_fields()
    monkeypatch.setattr(certificate_reference, "FIELDS", {name: FIELDS[name] for name in FIELDS if name != "unit"})
    assert unexplained() == {"unit"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
def test_every_field_of_a_written_certificate_is_explained() -> None:
    frame, schema = tclose.datasets.census(300, seed=1)
    keys = {**schema.as_dict(), "recode": "suppress"}
    for given in (
        schema,
        Schema.from_dict({**keys, "quasi": {name: {"kind": "categorical"} for name in keys["quasi"]}}),
    ):
        release = tclose.anonymize(frame, given, method="mondrian", seed=1, allow_single_class=True)
        found = release.certificate.as_dict()
        assert {*found} <= {*FIELDS}
        for inner in ("required", "method"):
            assert {f"{inner}.{name}" for name in found[inner]} <= {*FIELDS}
        assert {f"columns.{name}" for told in found["columns"].values() for name in told} <= {*FIELDS}
        assert {*found["reached"]} <= INSIDE
    assert {*OF_A_FILE} <= {*FIELDS}
