"""The end of both engines: what was written must be what was released, and keep its promise; then it is certified."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from tclose.errors import HighLossWarning, InfeasibleError, VerificationError
from tclose.release.atomic import temporary_beside
from tclose.release.certificate import FOLDER_CERTIFICATE, NO_ORDER, Certificate, certify
from tclose.release.earlier import warn_of_earlier
from tclose.release.formulas import AS_THEY_ARE
from tclose.release.record import Record
from tclose.release.release_folder import commit
from tclose.scale.coded_pieces import GatheredValues
from tclose.table.column_digests import column_digests
from tclose.verification.judge_release import KEPT, Judgement
from tclose.verification.release_parts import ReleaseCounts


class FolderRelease(NamedTuple):
    """What came of releasing a folder.

    Attributes
    ----------
    certificate
        It lies in the folder.
    record
        For whoever releases; never to be published.
    """

    certificate: Certificate
    record: Record


def check_release_in_parts(
    found: Judgement,
    counts: ReleaseCounts,
    released: tuple[int, int],
    read: tuple[int, int],
    loss: float,
    allow_single_class: bool,
) -> None:
    """Raise unless what was read again is what was released, all of it once, and keeps the promise.

    Parameters
    ----------
    found, counts
        What the verifier says of what was read again.
    released, read
        A sum over the rows that were released and that were read, and how many they are.
    loss
        Measured with the original at hand.
    allow_single_class
        Accept one class.
    """
    told = " ".join(found.problems)
    if found.measured is None or found.problems:
        if found.problems and all(problem.startswith(KEPT) for problem in found.problems):
            raise InfeasibleError(f"The release would not keep its promise. {told}")
        raise VerificationError(f"The release would not keep its promise, and nothing is released. {told}")
    if released != read:
        raise VerificationError("What was written is not what was to be released; nothing is left of it.")
    if counts.loss_problem is not None:
        raise VerificationError(
            f"The loss of the release cannot be measured, and nothing is released. {counts.loss_problem}"
        )
    if found.measured.classes == 1 and loss > 0 and not allow_single_class:
        raise InfeasibleError(
            "Only one class holding the whole table was found, which says nothing about anyone. Loosen t, l, rise or "
            "beta, lower k, or accept it with --allow-single-class."
        )
    if loss > 0.5:
        warnings.warn(
            f"The release keeps its promise but loses {loss:.0%} of the information. Loosen what is asked, or use "
            "fewer quasi-identifiers.",
            HighLossWarning,
            stacklevel=4,
        )


def certify_folder(
    found: Judgement, counts: ReleaseCounts, method: str, parameters: dict[str, Any], name: str, digest: str
) -> dict[str, Any]:
    """The fields of the certificate of a folder with this name and digest."""
    assert found.measured is not None
    fields = certify(counts.schema, found.measured, counts.loss, method, parameters).fields
    return {**fields, "order": NO_ORDER, "formulas": AS_THEY_ARE, "file": name, "sha256": digest}


def record_of_run(
    gathered: GatheredValues,
    digest: str,
    seed: int,
    method: str,
    seconds: dict[str, float],
    loss: float,
    notes: dict[str, Any],
) -> Record:
    """What is noted of a run for whoever releases; `digest` is that of the table."""
    schema = gathered.schema
    measured = [*(quasi.column for quasi in schema.quasi), *(each.column for each in schema.sensitive)]
    return Record(
        seed, digest, gathered.n_read, gathered.n_dropped, method, seconds, loss=loss,
        input_columns=column_digests({name: gathered.columns[name] for name in measured}), notes=notes,
    )  # fmt: skip


def write_certificate(folder: Path, fields: dict[str, Any]) -> None:
    """Write the certificate into a folder that has not got its name yet."""
    text = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
    (folder / FOLDER_CERTIFICATE).write_text(text, encoding="utf-8")


def commit_with_record(made: Path, folder: Path, record: Record, path: Path | str | None) -> None:
    """Give a finished folder its name, and write the record where it was asked for; its lock is held.

    A record of an earlier release of the same table is replaced with a warning.
    """
    if path is None:
        commit(made, folder)
        return
    warn_of_earlier(record, [Path(path)], stacklevel=3)
    with temporary_beside(Path(path)) as beside:
        beside.write_text(record.as_json(), encoding="utf-8")
        commit(made, folder)
        os.replace(beside, path)
