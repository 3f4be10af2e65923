"""The gallery: scripts that each make a picture, and the page that shows them."""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from pathlib import Path
from types import ModuleType

from docs.generate.marked import DOCS, GENERATED

FOLDER = DOCS / "gallery"
FIRST = (  # the order on the page; what is not named follows by name
    "classes_as_boxes",
    "belief_before_and_after",
    "choose_t",
    "k_and_t",
    "caps_on_belief",
    "hierarchies_help",
    "missing_values",
    "several_rows",
    "counts_survive",
    "stream_of_rows",
)
INTRO = (
    "Each picture is made by the script below it, in a few seconds, from a table that the package makes itself. Run "
    "one with `python docs/gallery/choose_t.py`; it writes its picture beside itself. A test runs all of them and "
    "compares."
)


def scripts() -> list[Path]:
    """All examples, in the order of the page."""
    found = sorted(FOLDER.glob("*.py"))
    return sorted(found, key=lambda path: (FIRST.index(path.stem) if path.stem in FIRST else len(FIRST), path.stem))


def load(script: Path) -> ModuleType:
    """A script as a module, of which nothing has run but its definitions."""
    spec = importlib.util.spec_from_file_location(f"gallery_{script.stem}", script)
    if spec is None or spec.loader is None:
        raise ImportError(f"{script.name} cannot be loaded.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def picture(script: Path) -> str:
    """What a script draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn: str = load(script).draw()
    return drawn


def gallery_page() -> str:
    """The page of all examples."""
    parts = ["# Gallery", GENERATED, INTRO]
    for script in scripts():
        title, _, text = (inspect.getdoc(load(script)) or "").partition("\n\n")
        parts += [
            f"## {title.rstrip('.')}",
            text,
            f"![{title.rstrip('.')}]({script.stem}.svg)",
            f"The script: [{script.name}]({script.name})",
            f"```{{literalinclude}} {script.name}\n:language: python\n```",
        ]
    return "\n\n".join(parts)
