"""Tables about people, made t-close, and proved to be."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tclose import datasets as datasets
    from tclose import distances as distances
    from tclose import errors as errors
    from tclose import pages as pages
    from tclose import spark as spark
    from tclose import stream as stream
    from tclose import testing as testing
    from tclose.algorithms import methods as methods
    from tclose.algorithms.clusters.clusters import Clusters as Clusters
    from tclose.algorithms.clusters.microaggregation import Microaggregation as Microaggregation
    from tclose.algorithms.clusters.pca import PCA as PCA
    from tclose.algorithms.exact.exact import Exact as Exact
    from tclose.algorithms.fragments.fragments import Fragments as Fragments
    from tclose.algorithms.fragments.fragments_strict import FragmentsStrict as FragmentsStrict
    from tclose.algorithms.incognito.incognito import Incognito as Incognito
    from tclose.algorithms.k_approx.k_approx import KApprox as KApprox
    from tclose.algorithms.milp.milp import Milp as Milp
    from tclose.algorithms.mondrian.mondrian import Mondrian as Mondrian
    from tclose.algorithms.sabre.sabre import SabreAK as SabreAK
    from tclose.algorithms.sabre.sabre import SabreKNN as SabreKNN
    from tclose.algorithms.tight.tight import Tight as Tight
    from tclose.algorithms.two_diversity.two_diversity import TwoDiversity as TwoDiversity
    from tclose.distances import emd as emd
    from tclose.distances import moves as moves
    from tclose.errors import BusyError as BusyError
    from tclose.errors import EarlierReleaseWarning as EarlierReleaseWarning
    from tclose.errors import EngineError as EngineError
    from tclose.errors import FormulaWarning as FormulaWarning
    from tclose.errors import HighLossWarning as HighLossWarning
    from tclose.errors import InfeasibleError as InfeasibleError
    from tclose.errors import InferredSchemaWarning as InferredSchemaWarning
    from tclose.errors import LockError as LockError
    from tclose.errors import MeasureError as MeasureError
    from tclose.errors import MissingExtraError as MissingExtraError
    from tclose.errors import RepeatedIdentifierWarning as RepeatedIdentifierWarning
    from tclose.errors import SchemaError as SchemaError
    from tclose.errors import SizeError as SizeError
    from tclose.errors import TableError as TableError
    from tclose.errors import TcloseError as TcloseError
    from tclose.errors import VerificationError as VerificationError
    from tclose.evaluation.attacks.attack import Attacks as Attacks
    from tclose.evaluation.attacks.attack import attack as attack
    from tclose.evaluation.choosing.compare import Comparison as Comparison
    from tclose.evaluation.choosing.compare import compare as compare
    from tclose.evaluation.choosing.gap import Gap as Gap
    from tclose.evaluation.choosing.gap import gap as gap
    from tclose.evaluation.choosing.suggest import Suggestion as Suggestion
    from tclose.evaluation.choosing.suggest import suggest as suggest
    from tclose.evaluation.choosing.what_binds import what_binds as what_binds
    from tclose.evaluation.report.public_report import public_report_html as public_report_html
    from tclose.evaluation.report.report_page import report_html as report_html
    from tclose.evaluation.utility.utility import Utility as Utility
    from tclose.evaluation.utility.utility import utility as utility
    from tclose.history.republication import republish as republish
    from tclose.pipeline import anonymize as anonymize
    from tclose.pipeline import assess as assess
    from tclose.pipeline import verify as verify
    from tclose.release.binding import Binding as Binding
    from tclose.release.certificate import Certificate as Certificate
    from tclose.release.record import Record as Record
    from tclose.release.release import Release as Release
    from tclose.schema.hierarchy import Hierarchy as Hierarchy
    from tclose.schema.schema import Schema as Schema
    from tclose.table.partition import Partition as Partition
    from tclose.table.table_location import TableLocation as TableLocation
    from tclose.verification.assessment import Report as Report
    from tclose.verification.measure_release import Measured as Measured
    from tclose.verification.verdict import Verdict as Verdict

__version__ = "0.1.0"

# Each name is imported when it is first used: a program that only asks for help loads nothing else.
_HOMES = {
    "pipeline": ("anonymize", "assess", "verify"),
    "distances": ("emd", "moves"),
    "errors": (
        *("BusyError", "EarlierReleaseWarning", "EngineError", "FormulaWarning", "HighLossWarning", "InfeasibleError"),
        *("InferredSchemaWarning", "LockError", "MeasureError", "MissingExtraError", "RepeatedIdentifierWarning"),
        *("SchemaError", "SizeError", "TableError", "TcloseError", "VerificationError"),
    ),
    "algorithms": ("methods",),
    "evaluation.attacks.attack": ("attack", "Attacks"),
    "evaluation.choosing.compare": ("compare", "Comparison"),
    "evaluation.choosing.gap": ("gap", "Gap"),
    "evaluation.choosing.suggest": ("suggest", "Suggestion"),
    "evaluation.choosing.what_binds": ("what_binds",),
    "evaluation.report.public_report": ("public_report_html",),
    "evaluation.report.report_page": ("report_html",),
    "evaluation.utility.utility": ("utility", "Utility"),
    "history.republication": ("republish",),
    "release.binding": ("Binding",),
    "release.certificate": ("Certificate",),
    "release.record": ("Record",),
    "release.release": ("Release",),
    "schema.hierarchy": ("Hierarchy",),
    "schema.schema": ("Schema",),
    "table.partition": ("Partition",),
    "table.table_location": ("TableLocation",),
    "verification.assessment": ("Report",),
    "verification.measure_release": ("Measured",),
    "verification.verdict": ("Verdict",),
}
_MODULES = ("datasets", "distances", "errors", "pages", "spark", "stream", "testing")
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME, *_MODULES]


if not TYPE_CHECKING:  # so that a type checker sees a name that is not there

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"tclose.{name}")
        if name in _HOME:
            return getattr(import_module(f"tclose.{_HOME[name]}"), name)
        if name[:1].isupper():  # the class of a method: `tclose.Tight`
            registry = import_module("tclose.algorithms").REGISTRY
            if name in registry.kinds:
                return registry.kinds[name]()
        raise AttributeError(f"module 'tclose' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("tclose.algorithms").REGISTRY.kinds])
