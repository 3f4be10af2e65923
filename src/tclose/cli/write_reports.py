"""What `tclose anonymize` tells of a release: its reports as files, and the rest as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tclose.cli.options import page_bytes
from tclose.cli.release_targets import ReleaseTarget
from tclose.pipeline import Listener
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.certificate import Certificate, keep_warning
from tclose.release.file_lock import TargetLocks
from tclose.release.release import Release, WrittenRelease
from tclose.table.table_location import TableLocation


def write_with_reports(
    data: TableLocation,
    release: Release,
    target: ReleaseTarget,
    locks: TargetLocks,
    tell: Listener,
    *,
    keep_order: bool,
    record: Path | None,
    escape_formulas: bool,
    public: Path | None,
    private: Path | None,
) -> dict[str, Any]:
    """Write a release and the reports that are asked for; returns what `--json` prints."""
    tell("write", None, None)
    written = target.write(release, locks, keep_order=keep_order, record=record, escape_formulas=escape_formulas)
    if public is not None or private is not None:
        tell("report", None, None)
        write_reports(data, release, written.certificate, target.location, public, private)
    return released_as_dict(release, written, target, report=public, private_report=private)


def write_reports(
    data: TableLocation,
    release: Release,
    certificate: Certificate,
    output: TableLocation,
    public: Path | None,
    private: Path | None,
) -> None:
    """Write the report that may be given away, from the written file, and the private one, for its owner alone.

    The caller holds the locks of both.
    """
    if public is not None:
        from tclose.evaluation.report.public_report import public_report_html

        beside = None if output.database is None else certificate
        shown = public_report_html(output, release.schema, certificate=beside)
        write_whole(public, page_bytes(shown, public), alone=True)
    if private is not None:
        from tclose.evaluation.report.report_page import report_html

        page = page_bytes(report_html(data, release, certificate=certificate), private)
        write_whole(private, page, PRIVATE, alone=True)


def released_as_dict(
    release: Release, written: WrittenRelease, output: ReleaseTarget, **pages: Path | None
) -> dict[str, Any]:
    """What `--json` prints: what was reached, the loss measured on the original, and where everything is."""
    schema = release.schema
    told: dict[str, Any] = {}
    if (warning := keep_warning(schema, release.measured)) is not None:
        told["warning"] = warning
    told |= {
        **release.measured.as_dict(), "loss": release.loss, "method": release.record.method,
        "facts": release.facts, "seed": release.record.seed, "seconds": written.record.as_dict()["seconds"],
        "output": str(output.location), "certificate": output.certificate,
    }  # fmt: skip
    told |= {name: str(path) for name, path in pages.items() if path is not None}
    if schema.recode == "suppress":
        told["suppressed_cells"] = release.certificate["suppressed_cells"]
    told["binding"] = release.record.notes["binding"]
    return told
