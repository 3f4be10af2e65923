"""Feeds: a stream behind standard input, files, folders that grow, or Redis Streams.

    feed = FileFeed(schema, Path("in.jsonl"), Targets(output=Path("out.jsonl"), checkpoint=Path("state")))
    run(feed, schema, Settings(window=20_000, step=5_000, method=find("sabre-ak")))

A `Feed` gives rows and takes what became of them. `run` is the loop between a feed and an `Engine`.
After a crash the same call goes on from the checkpoint.
"""

from __future__ import annotations

from tclose.stream.feeds.feed import Batch, Feed, LostError, PendingOutcome
from tclose.stream.feeds.file_feed import FileFeed
from tclose.stream.feeds.file_outputs import LineTargets
from tclose.stream.feeds.loop import StreamEnding, StreamSettings, StreamStatus, run

__all__ = [
    "Batch",
    "Feed",
    "FileFeed",
    "LineTargets",
    "LostError",
    "PendingOutcome",
    "StreamEnding",
    "StreamSettings",
    "StreamStatus",
    "run",
]
