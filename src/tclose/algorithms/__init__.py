"""The contract of methods, and their registry: one line each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.rows_left_out import holds_with_left_out, leave_rows_out
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

ROUNDING = 1e-12  # losses that differ by less are taken as one
SAID_OF_ALL = (
    "optimal",
    "loss_at_least",
    "proved_by",
    "cost_within",
    "stopped_early",
)  # facts of a run, whichever partition it gives


@runtime_checkable
class Algorithm(Protocol):
    """What a method is: a name, capabilities as plain data, parameters as fields, and one function."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Group the rows into classes that meet the requirement, or raise InfeasibleError.

        `start` meets the requirement. A method may begin from it or pass it by: `run_method`
        returns it where it loses no more than what was found.
        """
        ...


@runtime_checkable
class ChecksSchema(Protocol):
    """A method whose limits its capabilities cannot tell: it looks at the schema itself."""

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if it cannot do what the schema asks."""
        ...


@runtime_checkable
class ImprovesClasses(Protocol):
    """A method whose search others go on with: they ask for it by name, and begin from classes of their own."""

    def improve(
        self,
        table: EncodedTable,
        requirement: Requirement,
        start: Partition,
        *,
        rng: np.random.Generator,
        control: Control,
    ) -> Partition:
        """What it finds from `start`, which meets the requirement, and from that alone; it loses no more."""
        ...


class Registry(Mapping[str, type[Algorithm]]):
    """Methods by name, each loaded when it is first asked for: one is used in most runs, and most load compilers.

    That also keeps the folders of methods apart: one that builds on another asks for it by name.
    """

    def __init__(self, homes: dict[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> type[Algorithm]:
        folder, _, kind = self._homes[name].partition(":")
        return cast(type[Algorithm], getattr(import_module(f"tclose.algorithms.{folder}"), kind))

    @property
    def kinds(self) -> dict[str, Callable[[], type[Algorithm]]]:
        """What loads each method, by the name of its class."""
        return {home.partition(":")[2]: partial(self.__getitem__, name) for name, home in self._homes.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


REGISTRY = Registry(
    {
        "tight": "tight.tight:Tight",
        "mondrian": "mondrian.mondrian:Mondrian",
        "incognito": "incognito.incognito:Incognito",
        "sabre-ak": "sabre.sabre:SabreAK",
        "sabre-knn": "sabre.sabre:SabreKNN",
        "fragments": "fragments.fragments:Fragments",
        "fragments-strict": "fragments.fragments_strict:FragmentsStrict",
        "clusters": "clusters.clusters:Clusters",
        "pca": "clusters.pca:PCA",
        "microaggregation": "clusters.microaggregation:Microaggregation",
        "k-approx": "k_approx.k_approx:KApprox",
        "two-diversity": "two_diversity.two_diversity:TwoDiversity",
        "exact": "exact.exact:Exact",
        "milp": "milp.milp:Milp",
    }
)

DEFAULT = "tight"


def find(method: str | Algorithm, options: Mapping[str, str] | None = None) -> Algorithm:
    """The method of this name, with options given as text; a method itself comes back as it is.

    Examples
    --------
    >>> parameters_of(find("sabre-ak", {"search_budget": "true"}))["search_budget"]
    True
    """
    if not isinstance(method, str):
        return _checked(method)
    if method not in REGISTRY:
        raise SchemaError(f"There is no method '{method}'. Known: {', '.join(REGISTRY)}.")
    kind = REGISTRY[method]
    defaults = _defaults(kind)
    read: dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name not in defaults:
            allowed = f"Allowed: {', '.join(defaults)}." if defaults else "It has none."
            raise SchemaError(f"'{method}' has no option '{name}'. {allowed}")
        read[name] = _read(method, name, value, defaults[name])
    return kind(**read)


def _checked(method: object) -> Algorithm:
    """Refuse what is no method, with a sentence."""
    if isinstance(method, type):
        kind = method.__name__
        raise SchemaError(f"method must be a name or a method object, and {kind} is a class. Write {kind}().")
    if not isinstance(method, Algorithm):
        lacking = [name for name in ("name", "capabilities", "partition") if not hasattr(method, name)]
        raise SchemaError(
            f"method must be a name or a method object, and this {type(method).__name__} has no "
            f"{' and no '.join(map(repr, lacking))}. See tclose.algorithms.Algorithm."
        )
    if not isinstance(method.name, str):
        raise SchemaError(f"The name of a method must be a text, and that of this {type(method).__name__} is not.")
    if not isinstance(method.capabilities, Capabilities):
        raise SchemaError(f"'{method.name}': its capabilities must be a tclose.algorithms.capabilities.Capabilities.")
    try:
        inspect.signature(method.partition).bind(None, None, rng=None, control=None, start=None)
    except (TypeError, ValueError):
        raise SchemaError(
            f"'{method.name}': partition must be a function of (table, requirement, *, rng, control, start=None)."
        ) from None
    parameters_of(method)
    return method


def parameters_of(algorithm: Algorithm) -> dict[str, Any]:
    """The parameters of a method, as certificates give them: its fields, or the public attributes of a plain object.

    Examples
    --------
    >>> parameters_of(find("tight"))
    {'effort': 'balanced'}
    """
    if is_dataclass(algorithm):
        told = asdict(cast(Any, algorithm))
    else:
        told = {name: value for name, value in _attributes(algorithm).items() if not name.startswith("_")}
    try:
        json.dumps(told)
    except (TypeError, ValueError):
        raise SchemaError(
            f"'{algorithm.name}' has parameters that a certificate cannot hold. Use text, numbers, true, false and "
            "lists of them, and give what is not a parameter a name that begins with '_'."
        ) from None
    return told


def _attributes(given: object) -> dict[str, Any]:
    """What an object holds, in `__slots__` too."""
    slots = (getattr(kind, "__slots__", ()) for kind in reversed(type(given).__mro__))
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    return {name: getattr(given, name) for name in names if hasattr(given, name)} | getattr(given, "__dict__", {})


def run_method(
    algorithm: Algorithm,
    table: EncodedTable,
    requirement: Requirement,
    *,
    rng: np.random.Generator,
    control: Control,
    start: Partition | None = None,
) -> Partition:
    """Run a method; `start` comes back if it holds and loses no more. While loops are compiled, no time is counted.

    Where rows may be left out, some may be: their labels are -1. Where no time is allowed at all, a `start` that holds
    comes back as it is: no search is begun. Under another objective than loss a method that takes it
    compares with `start` itself.
    """
    from tclose.kernels.compile import compiling_timed  # loads the compiler, which most of the package does without

    with compiling_timed() as compiling:
        control.uncounted = control.uncounted or (lambda: compiling.elapsed)
        if start is not None and not holds_with_left_out(requirement, table, start.labels):
            start = None
        if start is not None and control.seconds == 0:
            return start
        form = algorithm.partition if requirement.left_out is None else partial(leave_rows_out, algorithm)
        found = form(table, requirement, rng=rng, control=control, start=start)
    if not isinstance(found, Partition) or len(found.labels) != len(table):
        raise SchemaError(f"'{algorithm.name}' must return a Partition with a label for each of the {len(table)} rows.")
    if not found.is_numbered:
        raise SchemaError(f"'{algorithm.name}' must number its classes 0, 1, 2, ...: return Partition.of(labels).")
    by_loss = table.objective.name == "loss"  # else the method alone knows which is better
    return better_of(found, start, table) if start is not None and by_loss else found


def better_of(found: Partition, start: Partition, table: EncodedTable) -> Partition:
    """What a method found; or `start`, which meets the same requirement, if it loses no more.

    What the method proved of all partitions holds of `start` too, so whether that is optimal is
    decided anew; whether the time was over is said of this run.
    """
    loss = table.loss(start.labels)
    if loss > table.loss(found.labels) + ROUNDING:
        return found
    facts = {name: fact for name, fact in start.facts.items() if name != "stopped_early"}
    facts |= {name: found.facts[name] for name in SAID_OF_ALL if name in found.facts}
    if "optimal" in facts and "loss_at_least" in facts:
        facts["optimal"] = found.facts.get("optimal", False) or loss <= facts["loss_at_least"]
    return replace(start, facts=facts, notes=start.notes | found.notes)


def _defaults(kind: type[Algorithm]) -> dict[str, Any]:
    """The options of a method with their defaults."""
    return {field.name: field.default for field in fields(cast(Any, kind))}


def _read(method: str, name: str, value: str, default: Any) -> Any:
    """An option from text, of the type its default has."""
    if isinstance(default, bool):
        if value not in ("true", "false"):
            raise SchemaError(f"'{method}': option '{name}' must be true or false.")
        return value == "true"
    if not isinstance(default, int | float):
        return None if default is None and not value else value
    try:
        return type(default)(value)
    except ValueError:
        raise SchemaError(f"'{method}': option '{name}' must be a number.") from None


def methods() -> list[dict[str, str]]:
    """All methods: name, what each does, needs and guarantees, its options with their defaults, and its paper.

    Examples
    --------
    >>> [method["name"] for method in methods()][:3]
    ['tight', 'mondrian', 'incognito']
    """
    return [
        {
            "name": name,
            "summary": kind.capabilities.summary,
            "needs": kind.capabilities.needs,
            "options": ", ".join(f"{option}={_written(value)}" for option, value in _defaults(kind).items()),
            "guarantees": ", ".join(sorted(kind.capabilities.guarantees)),
            "paper": kind.capabilities.paper,
        }
        for name, kind in REGISTRY.items()
    ]


def _written(value: Any) -> str:
    """A default as it would be given on the command line."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
