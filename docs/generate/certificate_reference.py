"""The reference of certificates and records: what each field says, checked against the code that writes them."""

from __future__ import annotations

import ast
import inspect

from docs.generate.marked import GENERATED, code, sentence, table
from docs.generate.schema_reference import keys
from tclose.release import certificate
from tclose.release.certificate_check import CLAIMED, OF_A_FILE
from tclose.release.record import Record

FIELDS = {
    "certificate": "The version of the format.",
    "rows": "How many rows the release has.",
    "classes": "How many classes: distinct combinations of released quasi-identifiers.",
    "required": "What the schema asked of every class.",
    "required.k": "The least number of rows in a class; persons where `counted` says so.",
    "required.t": "For each sensitive attribute and joint, the largest distance allowed.",
    "required.l": "For each sensitive attribute, the diversity asked; `recursive` has a `c` and an `l`.",
    "required.rise": "For each attribute with this cap, how far the share of a value may rise.",
    "required.beta": "For each attribute with this cap, its beta; `enhanced` if that form is asked.",
    "required.suppress_rows": "The share of rows that may be left out.",
    "required.counted": "Which of these count persons and which count rows, where a person may have several rows.",
    "reached": "What the verifier measured on the released values: k, t, l, and rise and beta where they are asked. "
    "Each t is an `exact` fraction and a `value`.",
    "loss": "How much the released values are generalized, from 0 to 1: of the table, and of each column.",
    "recode": "`generalize` or `suppress`.",
    "missing": "What the schema says of missing values.",
    "suppressed_cells": "Under `suppress`: how many cells are `*`.",
    "method": "The method that formed the classes.",
    "method.name": "Its name.",
    "method.parameters": "Its options.",
    "columns": "What each released column is.",
    "columns.role": "`quasi`, `sensitive` or `keep`.",
    "columns.kind": "Of a quasi-identifier.",
    "columns.step": "Of a quasi-identifier, if the schema has one.",
    "columns.bottom": "Of a quasi-identifier, if the schema has one.",
    "columns.top": "Of a quasi-identifier, if the schema has one.",
    "columns.weight": "What it counts in the loss beside the others, if that is not 1.",
    "columns.coarsest": "The limit of the schema on how coarse it may be.",
    "columns.finest": "The limit of the schema on how fine it may be.",
    "columns.publish": "Of a number or a date: `interval`, `bounds` or `mean`.",
    "columns.distance": "Of a sensitive attribute: the ground distance that t is measured with.",
    "columns.guarantee": "Of a sensitive attribute in bins: that the promise is on the bins.",
    "columns.bins": "How many bins.",
    "columns.edges": "The edges of its bins.",
    "columns.levels": "That rise and beta also hold for the inner nodes of its hierarchy.",
    "joint": "Each joint of the schema.",
    "joint.columns": "The sensitive attributes it binds.",
    "joint.distance": "How far two combinations are apart.",
    "keep": "Whether kept columns were checked; if not, how far they single rows out. It then stands first.",
    "unit": "Whether one row is one person.",
    "limits": "What t-closeness does not protect against.",
    "versions": "The versions of the packages that made the release.",
    "order": "Whether the order of rows is random.",
    "formulas": "Whether text that a spreadsheet would take for a formula was escaped.",
    "file": "The name of the released file.",
    "sha256": "The digest of the released file.",
}
INSIDE = {"exact", "value", "enhanced", "c", "l", "k", "t", "rise", "beta", "counted"}  # explained with their owners


def written_fields() -> set[str]:
    """The last part of every field that the code writes: keys of its dictionaries, and what it sets in them."""
    found: set[str] = {*OF_A_FILE}
    for function in (certificate.promise, certificate.certify):
        for node in ast.walk(ast.parse(inspect.getsource(function))):
            if isinstance(node, ast.Dict):
                found |= {
                    key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
                }
            elif (
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.slice, ast.Constant)
            ):
                found.add(str(node.slice.value))
    return found


def unexplained() -> set[str]:
    """The fields that the code writes and no line here explains."""
    return written_fields() - INSIDE - {name.rsplit(".", 1)[-1] for name in FIELDS}


def certificate_page() -> str:
    """The whole page.

    Raises
    ------
    ValueError
        A field has no line.
    """
    if missing := unexplained():
        raise ValueError(f"docs/generate/certificate_reference.py has no line for {sorted(missing)}.")
    rows = [[code(name), sentence(told), _judged(name)] for name, told in FIELDS.items()]
    record = [[code(name), sentence(told)] for name, (_, told) in keys(Record).items()]
    return "\n\n".join(
        [
            "# Certificate and record",
            GENERATED,
            "## The certificate",
            "It lies beside a release, as `release.csv.certificate.json`, and may be published. It holds only what "
            "follows from the released file, the schema and the method. `tclose verify` believes nothing in it: "
            "each field is computed again and compared, or listed as claimed. "
            "[What is guaranteed](../guarantees.md#certificate-and-record) says why, and "
            "[how to defend a release](../how-to/sign-and-defend.md) how to read one.",
            table(["field", "what it says", "`tclose verify`"], rows),
            "## The record",
            "It is written where you ask with `--record`, readable by its owner alone. It is for whoever releases, and "
            "must not be published.",
            table(["field", "what it says"], record),
        ]
    )


def _judged(name: str) -> str:
    owner, _, inner = name.partition(".")
    if owner not in CLAIMED:
        return "checks it"
    return "lists it as claimed" if inner else f"lists it as claimed: {CLAIMED[owner]}"
