"""`tclose anonymize --engine`: tables in folders of Parquet files, through the disk of this machine or on Spark."""

from __future__ import annotations

import json as jsonlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tclose.cli.options import progress, say
from tclose.cli.terminal import console, shown

if TYPE_CHECKING:
    from tclose.algorithms import Algorithm
    from tclose.scale.checked_release import FolderRelease
    from tclose.schema.schema import Schema
    from tclose.table.table_location import TableLocation

ENGINES = ("local", "spark")


@dataclass(frozen=True)
class EngineChoice:
    """What the options say of an engine.

    Attributes
    ----------
    engine
        Its name.
    jobs, master
        Processes of the local one; the cluster of Spark.
    shard_rows
        Rows of a shard at most.
    """

    engine: str
    jobs: int | None = None
    master: str | None = None
    shard_rows: int | None = None

    def check(self, others: dict[str, Any]) -> None:
        """Refuse an engine that is not known, and options that it does not take."""
        if self.engine not in ENGINES:
            raise typer.BadParameter(f"--engine is one of {', '.join(ENGINES)}.")
        others = others | ({"master": self.master} if self.engine == "local" else {"jobs": self.jobs})
        if wrong := [f"--{name.replace('_', '-')}" for name, given in others.items() if given]:
            raise typer.BadParameter(f"{', '.join(wrong)} cannot be said with --engine {self.engine}. Leave it out.")

    @property
    def most_rows(self) -> int:
        """The rows that a shard has at most, where what is asked allows it."""
        from tclose.scale.shard_plan import SHARD_ROWS

        return SHARD_ROWS if self.shard_rows is None else self.shard_rows

    def release(self, data: Path, schema: Schema, output: str, **given: Any) -> FolderRelease:
        """Release a folder."""
        if self.engine == "local":
            from tclose.scale.local_engine import anonymize_folder, local_options

            options = local_options(jobs=self.jobs, shard_rows=self.shard_rows)
            return anonymize_folder(data, schema, output, options=options, **given)
        from tclose.scale.spark_engine import anonymize_folder_on_spark
        from tclose.scale.spark_session import open_session

        session = open_session(self.master)
        try:
            given |= {} if self.shard_rows is None else {"shard_rows": self.shard_rows}
            return anonymize_folder_on_spark(session, data, schema, output, **given)
        finally:
            session.stop()


def anonymize_by_engine(
    choice: EngineChoice,
    data: TableLocation,
    schema: Schema,
    output: str,
    algorithm: Algorithm | None,
    *,
    schema_file: Path,
    seed: int | None,
    record: Path | None,
    earlier: list[Path] | None,
    allow_single_class: bool,
    show_values: bool,
    json: bool,
) -> None:
    """Write a verified folder, and tell what it reaches."""
    from tclose.release.earlier import histories_among, read_earlier, warn_of_same_table
    from tclose.release.release_folder import check_folder

    if data.path is None:
        raise typer.BadParameter("--engine reads a folder of Parquet files, or one such file.")
    if histories_among(earlier or []):
        raise typer.BadParameter(f"--earlier takes records with --engine {choice.engine}, and no history.")
    before = read_earlier(earlier or [])
    try:
        check_folder(Path(output), [*data.files, schema_file], record)
    except OSError as error:
        raise typer.BadParameter(f"'{error.filename}': {(error.strerror or '').lower()}.") from None
    with progress() as tell:
        release = choice.release(
            data.path, schema, output, method=algorithm, seed=seed, allow_single_class=allow_single_class,
            show_values=show_values, progress=tell, record=record,
        )  # fmt: skip
    warn_of_same_table(release.record, before)
    told = released_folder_as_dict(release, Path(output))
    if told["largest_shard"] > choice.most_rows:
        say(
            f"The largest shard has {told['largest_shard']:,} rows, more than {choice.most_rows:,}: smaller ones would "
            "not keep what is asked, such as a cap on a rare value. It was in memory as a whole."
        )
    if json:
        print(jsonlib.dumps(told, indent=2))
    else:
        show_folder(told, schema)


def released_folder_as_dict(release: FolderRelease, folder: Path) -> dict[str, Any]:
    """What `--json` prints."""
    from tclose.release.certificate import certificate_path

    fields, record = release.certificate.fields, release.record
    return {
        "rows": fields["rows"], "classes": fields["classes"], **fields["reached"], "loss": record.loss,
        "method": record.method, "seed": record.seed, "seconds": record.as_dict()["seconds"],
        "dropped_rows": record.dropped_rows, "shards": record.notes["shards"],
        "largest_shard": record.notes["largest_shard"], "output": str(folder),
        "certificate": str(certificate_path(folder)),
    }  # fmt: skip


def show_folder(told: dict[str, Any], schema: Schema) -> None:
    """What was reached, and where it is, for people."""
    terminal = console()
    terminal.print(
        f"Released {told['rows']:,} rows in {told['classes']:,} classes of at least {told['k']} rows "
        f"(asked: {schema.k}), in {told['shards']:,} shard{'s' * (told['shards'] != 1)}; loss {told['loss']:.4f}."
    )
    if told["dropped_rows"]:
        terminal.print(f"{told['dropped_rows']:,} rows with missing values were dropped.")
    for name, reached in told["t"].items():
        terminal.print(f"t of '{shown(name)}': {reached['value']:.4g}", highlight=False)
    seconds = "  ".join(f"{stage} {each:.2f}" for stage, each in told["seconds"].items())
    terminal.print(f"Seconds: {seconds}", highlight=False)
    terminal.print(f"Release:     {shown(told['output'])}", highlight=False)
    terminal.print(f"Certificate: {shown(told['certificate'])}", highlight=False)
