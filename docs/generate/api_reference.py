"""The reference of the library: which names there are comes from the package, what they are from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import tclose
import tclose.datasets.hard
import tclose.distances
import tclose.pages
import tclose.spark
import tclose.stream
import tclose.testing
from docs.generate.marked import GENERATED, anchor, safe, sentence, table
from docs.generate.numpydoc_sections import summary
from tclose.algorithms import REGISTRY

NOTE = GENERATED.replace("this page", "this page; the site shows the docstrings in full")


def public(kind: str) -> list[str]:
    """The public names of `tclose` that are functions or classes; errors have a page of their own."""
    sorts: dict[str, Callable[[Any], bool]] = {"function": inspect.isfunction, "class": _is_ordinary_class}
    return sorted(name for name in tclose.__all__ if sorts[kind](getattr(tclose, name)))


def _is_ordinary_class(value: Any) -> bool:
    return inspect.isclass(value) and not issubclass(value, Exception)


def names_of_classes() -> dict[str, Any]:
    """Every class of `tclose`, those that its functions return among them, by path."""
    return {f"tclose.{name}": getattr(tclose, name) for name in public("class")}


def names_of_methods() -> dict[str, Any]:
    """The class of every method, by path."""
    return {f"tclose.{name}": load() for name, load in REGISTRY.kinds.items()}


def names_of_modules() -> dict[ModuleType, dict[str, Any]]:
    """What each public module holds, by path."""
    modules: dict[ModuleType, Sequence[str]] = {
        tclose.datasets: ("census", "hospital"),
        tclose.datasets.hard: _own(tclose.datasets.hard),
        tclose.distances: tclose.distances.__all__,
        tclose.spark: tclose.spark.__all__,
        tclose.stream: tclose.stream.__all__,
        tclose.testing: _own(tclose.testing),
    }
    found = {}
    for module, members in modules.items():
        values = {f"{module.__name__}.{member}": getattr(module, member) for member in members}
        found[module] = {
            path: value for path, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)
        }
    return found


def functions_page() -> str:
    """Every function of `tclose`."""
    names = {f"tclose.{name}": getattr(tclose, name) for name in public("function")}
    return _page("Functions", "Every function that takes a table takes it first, and then the schema.", names)


def classes_page() -> str:
    """Every class of `tclose`, those that its functions return among them."""
    return _page("Classes", "What you make, and what functions give back.", names_of_classes())


def methods_page() -> str:
    """The class of every method: its fields are its options."""
    intro = (
        "Give one of these as `method=` to `tclose.anonymize` to set its options. [The methods](../methods.md) says "
        "what each is good for."
    )
    return _page("Classes of methods", intro, names_of_methods(), members=False)


def modules_page() -> str:
    """What the public modules hold."""
    parts = ["# Modules", NOTE, "Public names that stand in modules of their own."]
    for module, names in names_of_modules().items():
        parts += [f"## {module.__name__}", safe(summary(module)), _overview(names), *_entries(names, level=3)]
    return "\n\n".join(parts)


def _own(module: ModuleType) -> list[str]:
    """The public functions and classes that a module itself defines, as they stand in it."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def _page(title: str, intro: str, names: Mapping[str, Any], *, members: bool = True) -> str:
    return "\n\n".join([f"# {title}", NOTE, intro, _overview(names), *_entries(names, members=members)])


def _overview(names: Mapping[str, Any]) -> str:
    """A line for each name; its docstring stands below, on the site alone."""
    rows = [[f"[`{_short(path)}`](#{anchor(_short(path))})", sentence(summary(value))] for path, value in names.items()]
    return table(["name", "what it is"], rows)


def _entries(names: Mapping[str, Any], *, members: bool = True, level: int = 2) -> Iterator[str]:
    for path, value in names.items():
        kind = "class" if inspect.isclass(value) else "function"
        options = "\n   :members:\n" if kind == "class" and members else "\n"
        yield f"{'#' * level} {_short(path)}\n\n```{{eval-rst}}\n.. auto{kind}:: {path}{options}```"


def _short(path: str) -> str:
    return path.rsplit(".", 1)[-1]
