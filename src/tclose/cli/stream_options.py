"""What `tclose stream` does with its options: a feed, signals, and status lines."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tclose.cli.options import check_files
from tclose.release.certificate import keep_warning
from tclose.schema.schema import Schema
from tclose.stream.feeds.feed import Feed
from tclose.stream.feeds.file_feed import FileFeed
from tclose.stream.feeds.file_outputs import LineTargets
from tclose.stream.feeds.lines import Format
from tclose.stream.feeds.loop import StreamEnding, StreamSettings, StreamStatus, engine_of, run

TOLD_EVERY = 5.0  # seconds between two status lines


@dataclass(frozen=True)
class StreamOptions:
    """The options, under their names on the command line; `source` is `--from`."""

    schema: Path
    input: Path | None = None
    output: Path | None = None
    format: str | None = None
    redis: str | None = None
    source: str | None = None
    to: str | None = None
    group: str = "tclose"
    consumer: str | None = None
    json_field: str | None = None
    max_pending: int | None = None
    checkpoint: str | None = None
    rejected: str | None = None
    rejected_with_rows: bool = False
    certificates: str | None = None
    ledger: str | None = None
    class_field: str = "class"
    follow: bool = False
    idle: float | None = None
    pause: bool = False
    continues: bool = False
    quiet: bool = False


def carry_out(options: StreamOptions, schema: Schema, settings: StreamSettings, say: Callable[[str], None]) -> None:
    """Run a stream until its end or a signal.

    Raises
    ------
    ValueError
        The options do not go together.
    """
    _check(options)
    engine_of(schema, settings)  # which refuses before anything is made
    if (warning := keep_warning(schema)) is not None:
        say(f"{warning[:1].upper()}{warning[1:]}.")
    with _stopped_by_signals(say, bool(options.checkpoint or options.redis)) as stop:
        feed = _redis_feed(options, schema, say, stop) if options.redis else _file_feed(options, schema)
        ending, lines = StreamEnding(stop, options.pause, options.idle), StatusLines(say, options.quiet)
        told = StreamStatus(lines.tell, say, lambda: None if options.quiet else say(feed.promise))
        status = run(feed, schema, settings, ending, told, options.rejected_with_rows)
        if status.counts:
            say(lines.told(status))
        else:
            say("Stopped before it began." if stop() else "The stream has ended already; there is nothing to do.")


def _check(options: StreamOptions) -> None:
    """Refuse options that do not go together."""
    of_redis = {
        "from": options.source,
        "to": options.to,
        "json-field": options.json_field,
        "max-pending": options.max_pending,
    }
    of_files = {"input": options.input, "output": options.output, "format": options.format}
    wrong = [name for name, value in (of_files if options.redis else of_redis).items() if value is not None]
    if wrong:
        raise ValueError(f"--{wrong[0]} {'does not go' if options.redis else 'goes'} with --redis.")
    if options.redis and not (options.source and options.to):
        raise ValueError("--redis needs --from and --to, the streams to read and to write.")
    if options.pause and not (options.checkpoint or options.redis):
        raise ValueError("--pause needs a --checkpoint to go on from.")
    if options.continues and (options.redis or options.input or not options.checkpoint):
        raise ValueError("--continues is about standard input and a --checkpoint.")
    if options.rejected_with_rows and not options.rejected and not options.redis:
        raise ValueError("--rejected-with-rows needs --rejected.")
    if options.output and not options.checkpoint:
        raise ValueError("--output needs a --checkpoint, a file that holds rows as they came in: keep it to yourself.")
    if not options.redis:
        _check_paths(options)


def _check_paths(options: StreamOptions) -> None:
    """Find out before any work what cannot be read or written."""
    if options.input is not None and not options.input.exists():
        raise ValueError(f"there is no '{options.input}'.")
    told = (options.output, options.checkpoint, options.rejected, options.certificates, options.ledger)
    targets = [Path(path) for path in told if path is not None]
    for path in targets:
        inside = options.input is not None and os.path.realpath(path.absolute().parent) == os.path.realpath(
            options.input
        )
        if inside and path.suffix in (".jsonl", ".csv") and not path.name.startswith("."):
            raise ValueError(f"'{path}' lies in the folder that is read, and would be read too. Put it elsewhere.")
    into_folder = [path for path in targets if path == options.output and path.is_dir()]
    inputs = [options.schema, *([options.input] if options.input else []), *into_folder]
    check_files([path for path in targets if path not in into_folder], inputs)


def _file_feed(options: StreamOptions, schema: Schema) -> Feed:
    def path(name: str | None) -> Path | None:
        return None if name is None else Path(name)

    targets = LineTargets(
        options.output,
        path(options.rejected),
        path(options.certificates),
        path(options.ledger),
        path(options.checkpoint),
    )
    return FileFeed(
        schema,
        options.input,
        targets,
        format=format_of(options.format, options.input, options.output),
        field=options.class_field,
        follow=options.follow,
        continues=options.continues,
    )


def format_of(given: str | None, source: Path | None, output: Path | None) -> Format:
    """As told, or by the suffix of files."""
    if given is None:
        inside = [next(path.glob("[!.]*.csv"), path) if path.is_dir() else path for path in (source, output) if path]
        given = "csv" if any(path.suffix == ".csv" for path in inside) else "jsonl"
    if given not in ("jsonl", "csv"):
        raise ValueError("--format must be jsonl or csv.")
    return cast(Format, given)


def _redis_feed(options: StreamOptions, schema: Schema, say: Callable[[str], None], stop: Callable[[], bool]) -> Feed:
    from tclose.stream.feeds.redis_client import RedisKeys
    from tclose.stream.feeds.redis_feed import RedisFeed

    keys = RedisKeys(
        options.source or "", options.to or "", options.group, options.rejected or "", options.certificates,
        options.ledger, options.checkpoint or "",
    )  # fmt: skip
    return RedisFeed(
        schema, options.redis or "", keys, consumer=options.consumer or platform.node() or "tclose",
        json_field=options.json_field, field=options.class_field, follow=options.follow,
        max_pending=options.max_pending, stop=stop, say=say,
    )  # fmt: skip


class StatusLines:
    """What a person at the terminal or a log sees."""

    def __init__(self, say: Callable[[str], None], quiet: bool) -> None:
        self._say, self._quiet = say, quiet
        self._started = self._last = time.monotonic()
        self._begun: int | None = None

    def tell(self, status: StreamStatus) -> None:
        """A line, if the last was long ago."""
        if self._begun is None:
            self._begun = status.counts["rows"]
        if not self._quiet and time.monotonic() - self._last > TOLD_EVERY:
            self._last = time.monotonic()
            self._say(self.told(status))

    def told(self, status: StreamStatus) -> str:
        """Rows by what became of them, how many a second, and how long the last window took."""
        counts = status.counts
        speed = (counts["rows"] - (self._begun or 0)) / max(time.monotonic() - self._started, 1e-9)
        return (
            f"{counts['rows']:,} rows in: {counts['released']:,} released in {counts['classes']:,} classes, "
            f"{counts['withheld']:,} withheld, {counts['rejected']:,} rejected, {counts['waiting']:,} waiting; "
            f"{speed:,.0f} rows/s, last window {status.seconds:.2f} s"
        )


@contextmanager
def _stopped_by_signals(say: Callable[[str], None], goes_on: bool) -> Iterator[Callable[[], bool]]:
    """The first signal asks for a checkpoint and an end; the next one ends the program at once, which loses nothing."""
    asked = []
    then = "The same command goes on from the checkpoint."
    if not goes_on:
        then = "There is no checkpoint: rows that wait for a class are not released."

    def on_signal(number: int, _frame: Any) -> None:
        asked.append(number)
        signal.signal(number, before[signal.Signals(number)])
        say(f"Stopping after the window at work. {then}")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
