"""Whether a certificate fits a released table: every field is recomputed, or listed as claimed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.errors import SchemaError, TableError
from tclose.release.certificate import (
    CLASSES_ALONE,
    KEPT_ORDER,
    NO_ORDER,
    VERSION,
    Certificate,
    certificate_path,
    certify,
)
from tclose.release.formulas import AS_THEY_ARE, ESCAPED
from tclose.release.release_folder import release_digest
from tclose.schema.guarding import read_small
from tclose.schema.schema import Schema
from tclose.table.formats.file_formats import format_of
from tclose.verification.measure_release import Measured, exact_and_float
from tclose.verification.published_loss import PublishedLoss

DEEPEST = 100  # levels: no certificate comes near
WRITTEN = re.compile(r"\d{1,400}(/\d{1,400})?", re.ASCII)
NEAR = 1e-9  # logarithms may differ in the last bits between machines
OF_A_FILE = ("order", "formulas", "file", "sha256")
OF_A_HISTORY = "history"  # in the certificates of a history alone
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
AS_IN_SCHEMA = ("l", "rise", "beta", "counted", "suppress_rows")  # of what is required; k and t may be stricter
CLAIMED = {
    "method": "released values do not show what made them",
    "versions": "released values do not show what made them",
    "order": "released values do not show in what order they stood",
    "formulas": "a cell does not show whether its apostrophe was added",
    "unit": "the column that names units is not in the release",
    "history": "a file does not show which releases of its table came before it",
}
OLD = {
    "loss": "a certificate of version 1 measures it on the original",
    "method": "released values do not show what made them, nor what a method proved",
}
OLD_KEEP = {  # by `keep_unchecked`, what a certificate of version 1 says
    True: f"not checked: with these columns groups may be smaller than k; {CLASSES_ALONE}",
    False: f"checked: with these columns every group has at least k rows; {CLASSES_ALONE}",
}
CertificateLike = Certificate | Mapping[str, Any] | Path | str


class NoCertificate(ValueError):  # noqa: N818 - it names the finding; callers turn it into a sentence
    """What was given cannot be read as a certificate."""


@dataclass
class CertificateCheck:
    """What came of comparing a certificate with a table.

    Attributes
    ----------
    fits
        None if there is no certificate.
    problems
        A sentence for each thing that is wrong with it.
    unchecked
        The fields that the file and the schema say nothing about, each with the reason.
    """

    fits: bool | None = None
    problems: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)


def check_certificate(
    loss_of: Callable[[], PublishedLoss],
    schema: Schema,
    measured: Measured | None,
    given: CertificateLike | None,
    path: Path | None,
) -> CertificateCheck:
    """Compare a certificate with the table it is said to be of.

    Parameters
    ----------
    loss_of
        Measures the loss that the released cells tell, or raises TableError where they tell none.
    schema, measured
        The schema the table is verified by, and what it reaches; None if that was not measured.
    given
        The certificate or its path; if None, the one beside the file.
    path
        The released file or folder, if it is one.
    """
    if given is None:
        if path is None or not os.path.lexists(certificate_path(path)):
            return CertificateCheck()
        given = certificate_path(path)
    name = f"'{Path(given).name}'" if isinstance(given, str | Path) else "What was given"
    try:
        fields = read_certificate(given)
    except NoCertificate as reason:
        return CertificateCheck(False, [f"{name} is not a certificate{reason}."])
    if measured is None:
        return CertificateCheck(False)
    compared = _CertificateComparison(fields, schema, measured, path)
    compared.run(loss_of)
    problems = [f"{name} {problem}" for problem in compared.problems()]
    return CertificateCheck(not problems, problems, dict(sorted(compared.unchecked.items())))


def read_certificate(given: CertificateLike) -> dict[str, Any]:
    """The fields of a certificate.

    Raises
    ------
    NoCertificate
        It is no JSON object, names a field twice, holds what is no number, or has another version.
    """
    try:
        if isinstance(given, Certificate | Mapping):
            text = json.dumps(dict(given.fields if isinstance(given, Certificate) else given), allow_nan=False)
        else:
            text = read_small(Path(given), "Certificate")
        fields = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except NoCertificate:
        raise
    except (SchemaError, ValueError, TypeError, RecursionError):
        ordinary = not isinstance(given, str | Path) or os.path.isfile(given)
        raise NoCertificate("" if ordinary else ", as it is not an ordinary file") from None
    if not isinstance(fields, dict) or "certificate" not in fields or _is_deep(fields):
        raise NoCertificate
    if type(fields["certificate"]) is not int or not 1 <= fields["certificate"] <= VERSION:
        raise NoCertificate(f" of a version that is known here, which are 1 to {VERSION}")
    return fields


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NoCertificate(": it names a field twice")
    return found


def _no_number(_spelled: str) -> None:
    raise NoCertificate(": it holds NaN or an infinite number")


def _is_deep(fields: Any) -> bool:
    """Whether it is nested so deeply that comparing it could fail."""
    level = [fields]
    for _ in range(DEEPEST):
        level = [
            below
            for each in level
            if isinstance(each, dict | list)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@dataclass
class _CertificateComparison:
    """A certificate beside what the table and the schema give."""

    fields: dict[str, Any]
    schema: Schema
    measured: Measured
    path: Path | None
    wrong: list[str] = field(default_factory=list)  # fields that say something else
    said: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)

    @property
    def is_old(self) -> bool:
        return bool(self.fields["certificate"] == 1)

    @property
    def of_a_history(self) -> tuple[str, ...]:
        """The field that says what came before, if there is one; version 1 knew none."""
        return (OF_A_HISTORY,) if OF_A_HISTORY in self.fields and not self.is_old else ()

    def problems(self) -> Iterator[str]:
        if self.wrong:
            listed = ", ".join(self.wrong)
            yield f"is not the certificate of this table and schema, or one of them was changed: {listed} differ."
        yield from self.said

    def run(self, loss_of: Callable[[], PublishedLoss]) -> None:
        expected = self._expected(loss_of)
        self._check_names(expected)
        for name, value in expected.items():
            if name not in self.fields:
                continue
            if name in CLAIMED or (self.is_old and name in OLD):
                self._check_claim(name, value)
            elif name == "required":
                self._check_required(value)
            elif not self._agrees(name, value):
                self.wrong.append(name)
        self._check_file()
        for name in self.of_a_history:
            self._check_claim(name, None)

    def _expected(self, loss_of: Callable[[], PublishedLoss]) -> dict[str, Any]:
        """The certificate that this table would get; without what its cells do not allow to measure."""
        try:
            loss = loss_of()
        except TableError as error:
            self.said.append(f"tells a loss that cannot be measured. {error}")
            loss = PublishedLoss({})
        made = certify(self.schema, self.measured, loss, "", {}).as_dict() | {"certificate": self.fields["certificate"]}
        return made if loss.columns else {**made, "loss": self.fields.get("loss")}

    def _check_names(self, expected: Mapping[str, Any]) -> None:
        needed = {*expected, *(OF_A_FILE if self.path is not None else ())} - ({"formulas"} if self.is_old else set())
        if absent := [name for name in [*expected, *OF_A_FILE] if name in needed and name not in self.fields]:
            self.said.append(f"lacks {', '.join(absent)}.")
        if more := [name for name in self.fields if name not in (*expected, *OF_A_FILE, *self.of_a_history)]:
            shown = ", ".join(ascii(name[:40]) for name in more[:5]) + (", ..." if len(more) > 5 else "")
            self.said.append(f"has what no certificate of this schema has: {shown}.")

    def _agrees(self, name: str, value: Any) -> bool:
        given = self.fields[name]
        if name == "reached":
            return _same(_without_entropy(given), _without_entropy(value)) and _near(given, value)
        if name == "keep" and self.is_old:  # its words were others
            return bool(given == OLD_KEEP[self.schema.keep_unchecked])
        return _same(given, value)

    def _check_claim(self, name: str, value: Any) -> None:
        """What cannot be measured must at least have the form of what a release says."""
        given = self.fields[name]
        if name == "unit":
            if not _same(given, value):
                self.wrong.append(name)
            elif self.schema.unit is not None:
                self.unchecked[name] = CLAIMED[name]
            return
        reason = OLD.get(name, "") if self.is_old else ""
        if not _has_form(name, given, self.is_old):
            self.wrong.append(name)
        else:
            self.unchecked[name] = reason or CLAIMED[name]

    def _check_required(self, value: Any) -> None:
        """What is asked is what the schema asks; or more of k and t, which the table must then keep."""
        given = self.fields["required"]
        if _same(given, value):
            return
        read = _read_required(given)
        least = {name: Fraction(each["exact"]) for name, each in value["t"].items()}
        if (
            read is None
            or any(not _same(given.get(key), value.get(key)) for key in AS_IN_SCHEMA)
            or not set(least) <= set(read[1]) <= set(self.measured.t)
            or read[0] < value["k"]
            or any(read[1][name] > t for name, t in least.items())
        ):
            self.wrong.append("required")
        elif read[0] > self.measured.k or any(self.measured.t[name] > t for name, t in read[1].items()):
            self.said.append("promises more than the table keeps.")
        elif self.schema.counts_persons and read[0] > value["k"]:
            self.unchecked["required"] = (
                "its k is stricter than that of the schema, and the table does not show persons"
            )
        else:
            self.unchecked["required"] = "it is stricter than the schema, and the table keeps it"

    def _check_file(self) -> None:
        for name in OF_A_FILE:
            if name not in self.fields:
                continue
            if name == "formulas" and self.path is not None and not _is_text(self.path):
                if self.fields[name] != AS_THEY_ARE:  # elsewhere nothing is escaped
                    self.wrong.append(name)
            elif name in CLAIMED:
                if self.fields[name] in ((KEPT_ORDER, NO_ORDER) if name == "order" else (ESCAPED, AS_THEY_ARE)):
                    self.unchecked[name] = CLAIMED[name]
                else:
                    self.wrong.append(name)
            elif self.path is None:
                self.unchecked[name] = "a table was given, and not its file"
            elif self.fields[name] != (self.path.name if name == "file" else release_digest(self.path)):
                self.wrong.append(name)


def _is_text(path: Path) -> bool:
    return not path.is_dir() and format_of(path).has_delimiter


def _read_required(given: Any) -> tuple[int, dict[str, Fraction]] | None:
    """k and each t that a certificate requires; None if it is not written as certificates are."""
    try:
        texts = {name: each["exact"] for name, each in given["t"].items()}
        if not all(isinstance(text, str) and WRITTEN.fullmatch(text) for text in texts.values()):
            return None
        ts = {name: Fraction(text) for name, text in texts.items()}
        form = {"k": given["k"], "t": {name: exact_and_float(t) for name, t in ts.items()}}
        form |= {key: given[key] for key in AS_IN_SCHEMA if key in given}
        return (given["k"], ts) if type(given["k"]) is int and _same(given, form) else None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


def _without_entropy(reached: Any) -> Any:
    """What is compared exactly."""
    try:
        by_column = {
            name: {**found, "entropy": None} if "entropy" in found else found for name, found in reached["l"].items()
        }
        return {**reached, "l": by_column}
    except (KeyError, TypeError, AttributeError):
        return reached


def _near(given: Any, value: Any) -> bool:
    """Whether every entropy is the same but for the last bits."""
    try:
        pairs = [(given["l"][name]["entropy"], found["entropy"]) for name, found in value["l"].items()]
        return all(type(one) in (int, float) and abs(one - other) <= NEAR * max(other, 1.0) for one, other in pairs)
    except (KeyError, TypeError, ArithmeticError):  # there is none, or an integer beyond all floats
        return False


def _has_form(name: str, given: Any, is_old: bool) -> bool:
    """Whether a claim looks like one: a method with its parameters, versions of packages, a loss."""
    if name == "loss":
        return given is None or (type(given) in (int, float) and 0 <= given <= 1)
    if not isinstance(given, dict):
        return False
    if name == OF_A_HISTORY:
        return _is_link(given)
    if name == "versions":
        known = ("tclose", "numpy", "numba", "polars", "python")
        return set(given) == set(known) and all(isinstance(each, str) for each in given.values())
    exact = set(given) == {"name", "parameters"} or (is_old and {"name", "parameters"} <= set(given))
    return exact and isinstance(given["name"], str) and isinstance(given["parameters"], dict)


def _is_link(given: dict[str, Any]) -> bool:
    """Whether a certificate names its number in a history and, unless it is the first, the digests of two others.

    They are those of the certificate before and of the first one, which are the same for the second.
    """
    number, digests = given.get("number"), [given.get("before"), given.get("first")]
    if set(given) != {"number", "before", "first"} or type(number) is not int or number < 1:
        return False
    if number == 1:
        return digests == [None, None]
    is_digest = all(isinstance(each, str) and DIGEST.fullmatch(each) for each in digests)
    return is_digest and (digests[0] == digests[1]) == (number == 2)
