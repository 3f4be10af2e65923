"""Tables about people, made t-close, and proved to be."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tclose import datasets as datasets
    from tclose import distances as distances
    from tclose import stream as stream
    from tclose.algorithms import methods as methods
    from tclose.distances import emd as emd
    from tclose.distances import moves as moves
    from tclose.errors import HighLossWarning as HighLossWarning
    from tclose.errors import InfeasibleError as InfeasibleError
    from tclose.errors import InferredSchemaWarning as InferredSchemaWarning
    from tclose.errors import MeasureError as MeasureError
    from tclose.errors import MissingExtraError as MissingExtraError
    from tclose.errors import SchemaError as SchemaError
    from tclose.errors import SizeError as SizeError
    from tclose.errors import TableError as TableError
    from tclose.errors import TcloseError as TcloseError
    from tclose.errors import VerificationError as VerificationError
    from tclose.evaluation.attacks.attack import Attacks as Attacks
    from tclose.evaluation.attacks.attack import attack as attack
    from tclose.evaluation.choosing.compare import Comparison as Comparison
    from tclose.evaluation.choosing.compare import compare as compare
    from tclose.evaluation.choosing.gap import gap as gap
    from tclose.evaluation.choosing.suggest import Suggestion as Suggestion
    from tclose.evaluation.choosing.suggest import suggest as suggest
    from tclose.evaluation.report.report_page import report_html as report_html
    from tclose.evaluation.utility.utility import utility as utility
    from tclose.pipeline import anonymize as anonymize
    from tclose.pipeline import assess as assess
    from tclose.release.release import Release as Release
    from tclose.schema.hierarchy import Hierarchy as Hierarchy
    from tclose.schema.schema import Schema as Schema

__version__ = "0.1.0"

# Each name is imported when it is first used: a program that only asks for help loads nothing else.
_HOMES = {
    **dict.fromkeys(["anonymize", "assess"], "pipeline"),
    **dict.fromkeys(["attack", "Attacks"], "evaluation.attacks.attack"),
    **dict.fromkeys(["emd", "moves"], "distances"),
    **dict.fromkeys(["SchemaError", "TableError", "SizeError", "InfeasibleError", "VerificationError"], "errors"),
    **dict.fromkeys(
        ["MeasureError", "MissingExtraError", "TcloseError", "HighLossWarning", "InferredSchemaWarning"], "errors"
    ),
    **dict.fromkeys(["compare", "Comparison"], "evaluation.choosing.compare"),
    **dict.fromkeys(["suggest", "Suggestion"], "evaluation.choosing.suggest"),
    "gap": "evaluation.choosing.gap",
    "methods": "algorithms",
    "report_html": "evaluation.report.report_page",
    "Hierarchy": "schema.hierarchy",
    "Release": "release.release",
    "Schema": "schema.schema",
    "utility": "evaluation.utility.utility",
}
_MODULES = ("datasets", "distances", "stream", "testing")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tclose.{name}")
    if name in _HOMES:
        return getattr(import_module(f"tclose.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'tclose' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
