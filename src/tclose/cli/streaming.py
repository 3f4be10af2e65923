"""The commands for streams."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tclose.cli.options import (
    AskedK,
    Json,
    MethodOptions,
    SchemaOption,
    find_method,
    override,
    say,
)
from tclose.cli.reading_options import load_schema, takes_reading

if TYPE_CHECKING:
    from tclose.stream.windows import Budget

Window = Annotated[int, typer.Option(min=1, help="Rows that each class is close to.", show_default=False)]
Step = Annotated[int, typer.Option(min=1, help="Rows by which the window advances.", show_default=False)]
Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="A file, or a folder of them, read by name; standard input if not given."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A file, or a folder that gets a file for each step; standard output (at least once) if not given.",
    ),
]
Format = Annotated[str | None, typer.Option(help="jsonl or csv; by the suffix of input or output, else jsonl.")]
Redis = Annotated[str | None, typer.Option(help="redis://host:port: streams of Redis instead of files.")]
Source = Annotated[str | None, typer.Option("--from", help="With --redis: the stream to read.")]
To = Annotated[str | None, typer.Option(help="With --redis: the stream to write.")]
Group = Annotated[str, typer.Option(help="With --redis: the consumer group.")]
Consumer = Annotated[
    str | None, typer.Option(help="With --redis: who this is, this machine if not given; others wait until it is gone.")
]
JsonField = Annotated[
    str | None, typer.Option(help="With --redis: the field that holds a row as JSON; a field a column if not given.")
]
MaxPending = Annotated[
    int | None, typer.Option(min=1, help="With --redis: wait while so many released rows are unread.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="What is needed to go on: a file (needed with --output) or a key of Redis; as confidential as the input."
    ),
]
Rejected = Annotated[
    str | None,
    typer.Option(
        help="Rejected and withheld rows, where they stand and why: a file (else standard error), or a stream of Redis."
    ),
]
RejectedWithRows = Annotated[bool, typer.Option("--rejected-with-rows", help="Quote rejected rows in dead letters.")]
Certificates = Annotated[str | None, typer.Option(help="One line of JSON a class; a file or a stream.")]
Ledger = Annotated[
    str | None,
    typer.Option(help="Rows, window and t of each class, for your own bookkeeping (not for release); file or stream."),
]
ClassField = Annotated[str, typer.Option(help="What the number of a row's class is called.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Wait for more rows at the end of the input.")]
Idle = Annotated[
    float | None, typer.Option(min=0, help="With --follow: end the stream after so many seconds without a row.")
]
Pause = Annotated[
    bool, typer.Option("--pause", help="At the end of the input do not end the stream: a later run goes on.")
]
Continues = Annotated[
    bool,
    typer.Option(
        "--continues", help="Standard input goes on after the checkpoint; else it must begin again with its first row."
    ),
]
Method = Annotated[str | None, typer.Option(help="See `tclose methods`; sabre-ak if not given.")]
T = Annotated[list[str] | None, typer.Option(help="column=0.2, instead of the schema's t; may be repeated.")]
BudgetOption = Annotated[
    str, typer.Option("--budget", help="How near classes must be: `printed` as in the paper, or `window`.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Random if not given, and kept in the checkpoint.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No status lines.")]

CheckedInput = Annotated[
    Path, typer.Option("--input", "-i", exists=True, help="The file or folder that was read.", show_default=False)
]
CheckedOutput = Annotated[
    Path, typer.Option("--output", "-o", exists=True, help="The file or folder that was written.", show_default=False)
]
CheckedCertificates = Annotated[
    Path, typer.Option("--certificates", exists=True, dir_okay=False, help="What --certificates named.")
]
CheckedLedger = Annotated[Path, typer.Option("--ledger", exists=True, dir_okay=False, help="What --ledger named.")]
CheckedRejected = Annotated[
    Path | None, typer.Option("--rejected", exists=True, dir_okay=False, help="What --rejected named.")
]

CheckedCheckpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", exists=True, dir_okay=False, help="Needed if a file of a folder came late."),
]

STREAM = (
    "[bold]Examples:[/bold]\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 < in.jsonl > out.jsonl\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 --input incoming/ --follow --output out.jsonl "
    "--checkpoint state --rejected rejected.jsonl\n\n"
    "tclose stream -s schema.toml --window 20000 --step 5000 --redis redis://localhost:6379 --from visits "
    "--to released --follow"
)
STREAM_CHECK = (
    "[bold]Example:[/bold] tclose stream-check -s schema.toml --window 20000 --input in.jsonl "
    "--output out.jsonl --certificates certificates.jsonl --ledger ledger.jsonl --rejected rejected.jsonl"
)


@takes_reading
def stream(
    schema: SchemaOption,
    window: Window,
    step: Step,
    input: Input = None,
    output: Output = None,
    format: Format = None,
    redis: Redis = None,
    source: Source = None,
    to: To = None,
    group: Group = "tclose",
    consumer: Consumer = None,
    json_field: JsonField = None,
    max_pending: MaxPending = None,
    checkpoint: Checkpoint = None,
    rejected: Rejected = None,
    rejected_with_rows: RejectedWithRows = False,
    certificates: Certificates = None,
    ledger: Ledger = None,
    class_field: ClassField = "class",
    follow: Follow = False,
    idle: Idle = None,
    pause: Pause = False,
    continues: Continues = False,
    method: Method = None,
    option: MethodOptions = None,
    k: AskedK = None,
    t: T = None,
    budget: BudgetOption = "printed",
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Anonymize a stream over a sliding window, and go on after any crash from a checkpoint.

    Every row is released in a class that is close to its window, or rejected, or withheld: exactly
    once for files and Redis, at least once on standard output. Ctrl-C stops with a checkpoint; the
    same command goes on.
    """
    from tclose.cli.stream_options import StreamOptions, carry_out
    from tclose.stream.engine import DEFAULT
    from tclose.stream.feeds.loop import Settings

    settled = override(load_schema(schema), k, t or [])
    settings = Settings(window, step, find_method(method or DEFAULT, option or []), seed, cast("Budget", budget))
    wanted = StreamOptions(
        input=input, output=output, format=format, redis=redis, source=source, to=to, group=group, consumer=consumer,
        json_field=json_field, max_pending=max_pending, checkpoint=checkpoint, rejected=rejected,
        rejected_with_rows=rejected_with_rows, certificates=certificates, ledger=ledger, class_field=class_field,
        follow=follow, idle=idle, pause=pause, continues=continues, quiet=quiet, schema=schema,
    )  # fmt: skip
    try:
        carry_out(wanted, settled, settings, say)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@takes_reading
def stream_check(
    schema: SchemaOption,
    window: Window,
    input: CheckedInput,
    output: CheckedOutput,
    certificates: CheckedCertificates,
    ledger: CheckedLedger,
    rejected: CheckedRejected = None,
    checkpoint: CheckedCheckpoint = None,
    format: Format = None,
    class_field: ClassField = "class",
    k: AskedK = None,
    t: T = None,
    json: Json = False,
) -> None:
    """Replay a stream from its files: every row came out once, truly, and in a class that keeps the promise.

    Exit 0 if so, 5 if not. The ledger is what --ledger of `tclose stream` wrote.
    """
    from tclose.cli.stream_options import format_of
    from tclose.stream.feeds.replay import replay_files

    settled = override(load_schema(schema), k, t or [])
    beside = {"certificates": certificates, "ledger": ledger, "rejected": rejected}
    try:
        settled_format = format_of(format, input, output)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    counts = replay_files(settled, window, input, output, beside, settled_format, class_field, checkpoint)
    if json:
        print(jsonlib.dumps(counts, indent=2))
    else:
        say(f"The stream keeps its promise: {', '.join(f'{number:,} {name}' for name, number in counts.items())}.")
