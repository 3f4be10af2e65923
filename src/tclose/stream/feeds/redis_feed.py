"""RedisFeed: from one stream of Redis to another, committed in one transaction.

A transaction writes released rows, dead letters, certificates and the checkpoint, and acknowledges
the entries of rows that are out with it: released, rejected or withheld. Entries whose rows wait for a
class stay pending, although the checkpoint has them: should it be lost, they are not.

One run works at a time. It holds a lease under its consumer's name, and every transaction looks
whether a later run has raised the fence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream.feeds.feed import Batch, LostError, PendingOutcome, Position, StoppedError
from tclose.stream.feeds.parse import NOT_TEXT, TWICE, BrokenError, Row, json_row, rows_of
from tclose.stream.feeds.places import RowRun
from tclose.stream.feeds.redis_client import RedisKeys, connected, exceptions, guarded, order
from tclose.stream.feeds.redis_outputs import MANY, RedisOutputs
from tclose.stream.feeds.written import check_field

MOST_ROWS = 4096
BLOCK = 200  # milliseconds to wait for an entry before asking whether to stop
LEASE = 30.0  # seconds for which a run that fell silent keeps others out
BEGINNING = "0-0"
DELETED = "The entry was deleted before it was read."
NO_FIELD = "The entry lacks the field that should hold its row."
PROMISE = "Every entry comes out exactly once, whenever this or Redis is stopped and started again."
RedisEntry = tuple[str, list[bytes] | None]


class RedisFeed:
    """Entries of a stream in, entries of other streams out.

    Parameters
    ----------
    schema
        What each column is.
    url
        `redis://host:port`, `rediss://` for TLS, with user and password if need be.
    keys
        What lies where.
    consumer
        Who this is in the group. A run of the same name takes over at once; others wait for the lease.
    json_field
        The field that holds a row as a JSON object; None if every column is a field.
    field
        What the class of a row is called.
    follow
        Whether to wait for more at the end of the stream.
    max_pending
        Wait before a commit while so many released rows are unread: not acknowledged by the slowest
        group of readers, or in the stream at all if it has no group.
    stop
        Asked while waiting.
    say
        Told what a person should know.
    lease
        Seconds for which a run that fell silent keeps others out.
    """

    promise = PROMISE

    def __init__(
        self,
        schema: Schema,
        url: str,
        keys: RedisKeys,
        *,
        consumer: str = "tclose",
        json_field: str | None = None,
        field: str = "class",
        follow: bool = False,
        max_pending: int | None = None,
        stop: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda _: None,
        lease: float = LEASE,
    ) -> None:
        check_field(field, schema)
        self._schema, self._keys, self._consumer = schema, keys.settled(), consumer
        self._json_field, self._field, self._follow, self._max_pending = json_field, field, follow, max_pending
        self._stop, self._say, self._lease = stop, say, lease
        self._client = connected(url)
        self._outputs = RedisOutputs(self._client, self._keys, schema, field, json_field)
        self._fence, self._renewed = 0, 0.0
        self._last, self._caught_up = BEGINNING, False
        self._waits_for_disk, self._said = False, False

    def open(self) -> bytes | None:
        """See `Feed`."""
        with guarded():
            self._look_at_persistence()
            self._outputs.check_types()
            self._acquire()
            return self._outputs.open()

    @property
    def fixed(self) -> dict[str, Any]:
        """See `Feed`."""
        return {"class-field": self._field, "json-field": self._json_field}

    def begin(self, position: Position | None, pauses: bool = False) -> None:
        """See `Feed`."""
        self._last, self._caught_up = position["entry"] if position else BEGINNING, False
        with guarded():
            self._make_group()
            self._claim()

    def read(self) -> Batch:
        """See `Feed`."""
        with guarded():
            self._renew()
            entries = self._entries() if self._caught_up else self._delivered_before()
        if not entries and not self._caught_up:
            self._caught_up = True
            return Batch.empty(ended=False)
        if entries:
            self._last = entries[-1][0]
        return self._batch(entries, ended=not entries and not self._follow)

    def end(self) -> None:
        """See `Feed`."""
        self._follow = False

    def commit(self, pending: PendingOutcome, checkpoint: bytes) -> None:
        """See `Feed`."""
        with guarded():
            self._wait_for_readers(pending)
            self._outputs.check_types()
            with self._transaction(self._outputs.check_marks) as pipe:
                self._outputs.commit(pipe, pending, checkpoint)
            self._outputs.committed()
            if self._waits_for_disk and not self._client.execute_command("WAITAOF", 1, 0, 5000)[0]:
                self._say("Redis has not written the last step to its disk within 5 s.")

    def close(self) -> None:
        """See `Feed`."""
        with suppress(LostError, TableError), guarded(), self._transaction(last=True) as pipe:
            pipe.delete(self._keys.owner)
        self._client.close()

    # One run at a time.

    def _acquire(self) -> None:
        """Raise the fence, when no other consumer has a lease."""
        told = False
        while True:
            with self._client.pipeline() as pipe:
                pipe.watch(self._keys.owner)
                owner = pipe.get(self._keys.owner)
                if owner is None or owner == self._consumer.encode():
                    pipe.multi()
                    pipe.set(self._keys.owner, self._consumer, px=int(self._lease * 1000))
                    pipe.incr(self._keys.fence)
                    with suppress(exceptions().WatchError):
                        self._fence, self._renewed = pipe.execute()[1], time.monotonic()
                        return
            if not told:
                told = True
                self._say("Another consumer is at work. Waiting until it is gone.")
            if self._stop():
                raise StoppedError("Stopped while waiting for another consumer.")
            time.sleep(BLOCK / 1000)

    @contextmanager
    def _transaction(self, check: Callable[[Any], None] | None = None, last: bool = False) -> Iterator[Any]:
        """Commands that are carried out together, if no later run has begun, and renew the lease.

        What `check` watches must stay as it is, too.
        """
        with self._client.pipeline() as pipe:
            pipe.watch(self._keys.fence)
            if int(pipe.get(self._keys.fence) or 0) != self._fence:
                if pipe.immediate_execute_command("GET", self._keys.owner) == self._consumer.encode():
                    raise TableError(
                        f"Another run of consumer '{self._consumer}' has taken over. Give each its own --consumer."
                    )
                raise LostError("Another consumer has taken over, as this one was silent for too long.")
            if check is not None:
                check(pipe)
            pipe.multi()
            yield pipe
            if not last:
                pipe.set(self._keys.owner, self._consumer, px=int(self._lease * 1000))
            try:
                pipe.execute()
            except exceptions().WatchError:
                raise LostError("The connection to Redis was lost, or another consumer has taken over.") from None
            self._renewed = time.monotonic()

    def _renew(self) -> None:
        if time.monotonic() - self._renewed > self._lease / 4:
            with self._transaction():
                pass

    # Entries in.

    def _make_group(self) -> None:
        try:
            self._client.xgroup_create(self._keys.source, self._keys.group, self._last, mkstream=True)
        except exceptions().ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def _claim(self) -> None:
        """Take over what was delivered to consumers that are gone; nobody else is at work."""
        keys, start, n_deleted = self._keys, BEGINNING, 0
        while True:
            command = ("XAUTOCLAIM", keys.source, keys.group, self._consumer, 0, start, "COUNT", MANY, "JUSTID")
            following, _, *deleted = self._client.execute_command(*command)
            lost = [entry for entry in (deleted[0] if deleted else ()) if order(entry.decode()) > order(self._last)]
            n_deleted += len(lost)  # the rows of earlier ones are in the checkpoint
            start = following.decode()
            if start == BEGINNING:
                break
        if n_deleted:
            self._say(f"{n_deleted} entries were deleted from '{keys.source}' after delivery and before a commit.")

    def _delivered_before(self) -> list[RedisEntry]:
        """Entries after the checkpoint that were delivered already."""
        return self._read_group(self._last)

    def _entries(self) -> list[RedisEntry]:
        """New entries."""
        while fresh := self._read_group(">", *(("BLOCK", BLOCK) if self._follow else ())):
            passed = [entry for entry, _ in fresh if order(entry) <= order(self._last)]
            if passed:  # the group was set back
                self._client.xack(self._keys.source, self._keys.group, *passed)
            if len(passed) < len(fresh):
                return fresh[len(passed) :]
        return []

    def _read_group(self, after: str, *options: Any) -> list[RedisEntry]:
        keys = self._keys
        command = ("XREADGROUP", "GROUP", keys.group, self._consumer, "COUNT", MOST_ROWS, *options)
        reply = self._client.execute_command(*command, "STREAMS", keys.source, after)
        return [(entry.decode(), fields) for entry, fields in reply[0][1]] if reply else []

    def _batch(self, entries: list[RedisEntry], ended: bool) -> Batch:
        ids = [entry for entry, _ in entries]
        rows, broken = rows_of([fields for _, fields in entries], self._row)
        return Batch(
            rows,
            broken,
            after=lambda place: {"entry": ids[place]},
            runs=lambda number: [RowRun(number, len(ids), entries=ids)],
            text=lambda place: _quoted(entries[place][1]),
            ended=ended,
        )

    def _row(self, fields: list[bytes] | None) -> Row:
        if fields is None:
            raise BrokenError(DELETED)
        try:
            texts = [each.decode() for each in fields]
        except UnicodeDecodeError:
            raise BrokenError(NOT_TEXT) from None
        row = dict(zip(texts[::2], texts[1::2], strict=True))
        if 2 * len(row) < len(fields):
            raise BrokenError(TWICE)
        if self._json_field is None:
            return row
        if self._json_field not in row:
            raise BrokenError(NO_FIELD)
        return json_row(row[self._json_field].encode())

    # Readers, and the disk.

    def _wait_for_readers(self, pending: PendingOutcome) -> None:
        while pending.released and self._max_pending is not None and not self._stop():
            if self._unread() < self._max_pending:
                return
            self._renew()
            time.sleep(BLOCK / 1000)

    def _unread(self) -> int:
        """How far the slowest group of readers is behind; all entries if there is none."""
        behind = []
        with suppress(exceptions().ResponseError):  # no such stream yet
            for reply in self._client.execute_command("XINFO", "GROUPS", self._keys.to):
                group = dict(zip(reply[::2], reply[1::2], strict=True))
                lag = group.get(b"lag")
                behind.append(None if lag is None else int(lag) + int(group[b"pending"]))
        if not behind or None in behind:
            return int(self._client.xlen(self._keys.to))
        return max(each for each in behind if each is not None)

    def _look_at_persistence(self) -> None:
        """Know, and say once, how safe it is what Redis says it has."""
        server, disk = self._client.info("server"), self._client.info("persistence")
        on_disk = bool(disk.get("aof_enabled"))
        self._waits_for_disk = on_disk and order(str(server["redis_version"]).replace(".", "-", 1)) >= (7, 2)
        always = False
        with suppress(exceptions().ResponseError):  # which may be forbidden
            always = self._client.config_get("appendfsync").get("appendfsync") == "always"
        if not self._said and not on_disk:
            self._say("Redis does not log to disk (appendonly no): its end may lose rows that it was given.")
        elif not self._said and not self._waits_for_disk and not always:
            self._say(
                "Redis does not log to disk at once (appendfsync): a loss of power may take back the last second."
            )
        self._said = True


def _quoted(fields: list[bytes] | None) -> str:
    texts = [each.decode(errors="backslashreplace") for each in fields or ()]
    return json.dumps(list(zip(texts[::2], texts[1::2], strict=True)), ensure_ascii=False)
