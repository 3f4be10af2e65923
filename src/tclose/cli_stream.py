"""The options of `tclose stream`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    str | None, typer.Option(help="The rows of each class, for your own bookkeeping (not for release); file or stream.")
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
Option = Annotated[
    list[str] | None, typer.Option(help="Of the method, as name=value; may be repeated.", show_default=False)
]
K = Annotated[int | None, typer.Option(help="Instead of the schema's k.")]
T = Annotated[list[str] | None, typer.Option(help="column=0.2, instead of the schema's t; may be repeated.")]
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
