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

WindowOption = Annotated[
    int, typer.Option(min=1, help="Number of rows in the window that a class is compared with.", show_default=False)
]
StepOption = Annotated[
    int, typer.Option(min=1, help="Number of rows by which the window advances.", show_default=False)
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input", "-i", help="A file, or a folder whose files are read in order of name; standard input if not given."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A file, or a folder that gets a file for each step; standard output if not given (rows at least once).",
    ),
]
FormatOption = Annotated[
    str | None, typer.Option(help="jsonl or csv; if not given, by the suffix of input or output, else jsonl.")
]
Redis = Annotated[str | None, typer.Option(help="redis://host:port: use streams of Redis instead of files.")]
SourceOption = Annotated[str | None, typer.Option("--from", help="With --redis: the stream to read.")]
To = Annotated[str | None, typer.Option(help="With --redis: the stream to write.")]
Group = Annotated[str, typer.Option(help="With --redis: the consumer group.")]
Consumer = Annotated[
    str | None,
    typer.Option(help="With --redis: name of this reader, else of this machine; others wait until it is gone."),
]
JsonField = Annotated[
    str | None,
    typer.Option(help="With --redis: the field that holds a row as JSON; if not given, each column is a field."),
]
MaxPending = Annotated[
    int | None, typer.Option(min=1, help="With --redis: wait while this many released rows are unread.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="State for going on after a stop: a file (needed with --output) or a Redis key. As secret as the input."
    ),
]
RejectedOption = Annotated[
    str | None,
    typer.Option(
        help="Where to report rejected and withheld rows, and why: a file (else standard error) or a Redis stream."
    ),
]
RejectedWithRows = Annotated[
    bool, typer.Option("--rejected-with-rows", help="Include the rejected rows themselves in that report.")
]
Certificates = Annotated[
    str | None,
    typer.Option(help="Where to write certificates, one line of JSON for each class: a file or a Redis stream."),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        help="Where to write rows, window and t of each class, for you alone (not for release): file or stream."
    ),
]
ClassField = Annotated[str, typer.Option(help="Name of the field with the number of a row's class.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Wait for more rows at the end of the input.")]
Idle = Annotated[
    float | None, typer.Option(min=0, help="With --follow: end the stream after this many seconds without a row.")
]
Pause = Annotated[
    bool, typer.Option("--pause", help="Do not end the stream at the end of the input: a later run goes on.")
]
Continues = Annotated[
    bool,
    typer.Option(
        "--continues",
        help="Standard input continues after the checkpoint; otherwise it must start again at its first row.",
    ),
]
Method = Annotated[
    str | None, typer.Option(help="How classes are formed; sabre-ak if not given. See `tclose methods`.")
]
T = Annotated[list[str] | None, typer.Option(help="column=0.2, instead of the schema's t; may be repeated.")]
BudgetOption = Annotated[
    str, typer.Option("--budget", help="Which share of t classes may use: `printed` as in the paper, or `window`.")
]
StreamSeedOption = Annotated[int | None, typer.Option(min=0, help="Random if not given, and kept in the checkpoint.")]
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
    typer.Option(
        "--checkpoint", exists=True, dir_okay=False, help="Its checkpoint; needed if a file of a folder came late."
    ),
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
    window: WindowOption,
    step: StepOption,
    input: Input = None,
    output: Output = None,
    format: FormatOption = None,
    redis: Redis = None,
    source: SourceOption = None,
    to: To = None,
    group: Group = "tclose",
    consumer: Consumer = None,
    json_field: JsonField = None,
    max_pending: MaxPending = None,
    checkpoint: Checkpoint = None,
    rejected: RejectedOption = None,
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
    seed: StreamSeedOption = None,
    quiet: Quiet = False,
) -> None:
    """Anonymize a stream over a sliding window, and go on after any crash from a checkpoint.

    Every row is released in a class that is close to its window, or rejected, or withheld: exactly
    once for files and Redis, at least once on standard output. Ctrl-C stops with a checkpoint; the
    same command goes on.
    """
    from tclose.cli.stream_options import StreamOptions, carry_out
    from tclose.stream.engine import DEFAULT
    from tclose.stream.feeds.loop import StreamSettings

    settled = override(load_schema(schema), k, t or [])
    settings = StreamSettings(window, step, find_method(method or DEFAULT, option or []), seed, cast("Budget", budget))
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
    window: WindowOption,
    input: CheckedInput,
    output: CheckedOutput,
    certificates: CheckedCertificates,
    ledger: CheckedLedger,
    rejected: CheckedRejected = None,
    checkpoint: CheckedCheckpoint = None,
    format: FormatOption = None,
    class_field: ClassField = "class",
    k: AskedK = None,
    t: T = None,
    json: Json = False,
) -> None:
    """Replay a stream from its files, and check that every row came out once, truly, in a class that keeps the promise.

    The exit code is 0 if so, and 5 if not. The ledger is the file that `tclose stream --ledger` wrote.
    """
    from tclose.cli.stream_options import format_of
    from tclose.release.certificate import keep_warning, warned
    from tclose.stream.feeds.replay import replay_files
    from tclose.stream.stream_header_check import STREAM_CLAIMED, check_stream_certificate

    settled = override(load_schema(schema), k, t or [])
    beside = {"certificates": certificates, "ledger": ledger, "rejected": rejected}
    try:
        settled_format = format_of(format, input, output)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    counts = replay_files(
        settled, window, input, output, beside, settled_format, class_field, checkpoint,
        check_head=lambda told: check_stream_certificate(told, settled, window),
    )  # fmt: skip
    warning = keep_warning(settled)
    if json:
        print(jsonlib.dumps(warned(warning, {**counts, "unchecked": STREAM_CLAIMED}), indent=2))
        return
    if warning is not None:
        say(f"{warning[:1].upper()}{warning[1:]}.")
    say(f"The stream keeps its promise: {', '.join(f'{number:,} {name}' for name, number in counts.items())}.")
    say(f"Claimed by its certificate and not checked: {', '.join(STREAM_CLAIMED)}.")
