"""The package as the fuzzer uses it: its public interface, and its verdicts in one shape."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import tclose
from tests.fuzz.cases import Case
from tests.fuzz.forms import make_form
from tests.fuzz.grounds import Keys
from tests.fuzz.oracle import Judgement

BRIEF = 0.2
SECONDS = 20.0  # for the search of a method; compiling counts in the first case of a method
ENTROPY = 1e-9  # logarithms of the two may differ in their last bits


@dataclass(frozen=True)
class Verdict:
    """What the package says of a released table; `holds` is None where it is not asked."""

    k: int
    t: dict[str, Fraction]
    l: dict[str, Any]  # noqa: E741
    holds: bool | None
    rises: dict[str, tuple[Fraction, Fraction]]


@contextmanager
def quiet() -> Iterator[None]:
    """A warning is an error, but for those about what was asked, and what compiling other packages says."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.filterwarnings("ignore", "invalid escape sequence", DeprecationWarning)
        for expected in (tclose.HighLossWarning, tclose.RepeatedIdentifierWarning, tclose.FormulaWarning):
            warnings.simplefilter("ignore", expected)
        yield


def release_of(case: Case, form: str, folder: Path) -> tclose.Release | tclose.TcloseError | None:
    """The release of a case in a form, the refusal of it, or None where the form cannot hold the table."""
    from tclose.algorithms import find

    table = make_form(case, form, folder)
    if table is None:
        return None
    with quiet():
        try:
            return tclose.anonymize(
                table,
                tclose.Schema.from_dict(case.schema),
                method=find(case.method, case.options),
                seed=case.seed,
                time=SECONDS if case.options.get("effort") != "best" else BRIEF,  # which uses all of its time
                allow_single_class=True,
            )
        except tclose.TcloseError as refusal:
            return refusal


def verdict_of(table: Any, keys: Keys) -> Verdict:
    """What `tclose.verify` says."""
    with quiet():
        found = tclose.verify(table, keys)
    rises = {name: (each.rise, each.beta) for name, each in found.rises.items()}
    return Verdict(found.k or 0, found.t, found.l, found.holds, rises)


def as_fractions(reached: dict[str, Any]) -> dict[str, Fraction]:
    """The distances of a certificate; one that is not exact is the double it is."""
    return {name: Fraction(each.get("exact") or each["value"]) for name, each in reached["t"].items()}


def caps_told(reached: dict[str, Any]) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Rise and beta of a certificate; None of what is not asked."""
    told = [{name: Fraction(each["exact"]) for name, each in reached.get(key, {}).items()} for key in ("rise", "beta")]
    return {name: (told[0].get(name), told[1].get(name)) for name in {**told[0], **told[1]}}


def cap_differences(truth: Judgement, rises: Mapping[str, tuple[Fraction | None, Fraction | None]]) -> list[str]:
    """Where rise or beta is not that of the judge; None is not told."""
    found = [f"caps of {name} are not told" for name in truth.rises if name not in rises]
    for name, told in rises.items():
        if any(one not in (None, real) for one, real in zip(told, truth.rises[name], strict=True)):
            found.append(f"rise and beta of {name} are {truth.rises[name]}, told as {told}")
    return found


def differences(truth: Judgement, k: int, t: dict[str, Fraction], l: dict[str, Any]) -> list[str]:  # noqa: E741
    """Where the numbers of the package are not those of the judge."""
    found = [f"k is {truth.k}, told as {k}"] if k != truth.k else []
    found += [f"t of {name} is {truth.t[name]}, told as {told}" for name, told in t.items() if told != truth.t[name]]
    for name, told in l.items():
        real = truth.l[name]
        distinct, entropy, frequency = (_of(told, key) for key in ("distinct", "entropy", "frequency"))
        if distinct != real.distinct or float(frequency) != float(real.frequency):
            found.append(f"l of {name} is {real.distinct}, {real.frequency}, told as {distinct}, {frequency}")
        if entropy is not None and abs(float(entropy) - real.entropy) > ENTROPY:
            found.append(f"entropy of {name} is {real.entropy}, told as {entropy}")
    return found


def _of(told: Any, key: str) -> Any:
    return told[key] if isinstance(told, dict) else getattr(told, key)
