"""RedisOutputs: what a stream writes to Redis, and that nobody else does.

Beside each stream of Redis that is written lies a mark, KEY`:stream`: whose it is, and which commit was the last. Every
transaction watches the marks and sets them anew, together with the checkpoint and all that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream.envelope import ANEW, pack, unpack
from tclose.stream.feeds.durable import BY_WHOM
from tclose.stream.feeds.feed import PendingOutcome
from tclose.stream.feeds.output_marks import OutputMark, check_free, check_latest
from tclose.stream.feeds.redis_client import RedisKeys
from tclose.stream.feeds.written import as_jsonl, as_line, ledger

MANY = 1000  # ids in one command


class RedisOutputs:
    """The streams that one stream writes to.

    Parameters
    ----------
    client, keys
        Redis, and what lies where in it.
    schema, field, json_field
        How released rows are written: the name of their class, and the field that holds them as JSON, if any.
    """

    def __init__(self, client: Any, keys: RedisKeys, schema: Schema, field: str, json_field: str | None) -> None:
        self._client, self._keys, self._schema = client, keys, schema
        self._field, self._json_field = field, json_field
        self._mark = OutputMark.new()
        self._found: dict[str, bytes | None] = {}
        self._added: dict[str, int] = {}
        self._next = self._mark, self._added  # what they are when the transaction at work was carried out

    def open(self) -> bytes | None:
        """The state that was committed last; None if nothing was.

        Raises
        ------
        TableError
            A stream of Redis holds something that the checkpoint does not know of.
        """
        keys = self._keys
        saved: bytes | None = self._client.get(keys.checkpoint)
        self._found = self._marks(self._client.mget)
        streams = self._streams()
        # Redis counts the entries that were ever added, those deleted since included; before 7.0 it does not.
        self._added = {key: int(streams.get(key, {}).get("entries-added") or 0) for key in keys.written()}
        if saved is None:
            self._check_new(streams)
            self._mark = OutputMark.new()
            return None
        head, parts = unpack(saved)
        self._mark = OutputMark(head["stream"], head["generation"])
        for key, data in self._found.items():
            found = None if data is None else OutputMark.of(data, key)
            check_latest(found, self._mark, key, behind=0)
            if self._added[key] > head["added"].get(key, 0):
                raise TableError(
                    f"'{key}' has entries that the checkpoint does not know of. Nothing is removed. {BY_WHOM} {ANEW}"
                )
        return parts[""]

    def _check_new(self, streams: Mapping[str, Any]) -> None:
        """Refuse to begin where a stream was at work before: its classes would be numbered again."""
        for key, about in streams.items():
            if about["last-generated-id"] != b"0-0":
                raise TableError(
                    f"'{key}' has entries already, and there is no '{self._keys.checkpoint}' to go on from. If it was "
                    "lost, begin anew with another --to (and other --certificates and --ledger): what is not out yet "
                    "is still pending in the group."
                )
            data = self._found[key]
            check_free(None if data is None else OutputMark.of(data, key), key)

    def _marks(self, read: Callable[[list[str]], list[bytes | None]]) -> dict[str, bytes | None]:
        """What the mark of each stream says."""
        keys = self._keys.written()
        return dict(zip(keys, read([self._keys.mark(key) for key in keys]), strict=True))

    def _streams(self) -> dict[str, Any]:
        """What Redis says about the streams that are there."""
        there = self._at_once("exists", self._keys.written())
        keys = [key for key, found in there.items() if found]
        return self._at_once("xinfo_stream", keys)

    def _at_once(self, command: str, keys: Iterable[str]) -> dict[str, Any]:
        """What a command answers for each key."""
        keys = list(keys)
        with self._client.pipeline(transaction=False) as pipe:
            for key in keys:
                getattr(pipe, command)(key)
            return dict(zip(keys, pipe.execute(), strict=True))

    def check_types(self) -> None:
        """A command that fails within a transaction does not undo the others: none may."""
        wanted = self._keys.types()
        for key, found in self._at_once("type", wanted).items():
            if found.decode() not in (wanted[key], "none"):
                raise TableError(
                    f"In Redis '{key}' is a {found.decode()}, and must be a {wanted[key]}. Name another, or remove it."
                )

    def check_marks(self, pipe: Any) -> None:
        """Watch the marks, and refuse to write where another stream has written since."""
        pipe.watch(*map(self._keys.mark, self._keys.written()))
        now = self._marks(lambda marks: pipe.immediate_execute_command("MGET", *marks))
        for key, data in now.items():
            if data != self._found[key]:
                raise TableError(f"'{key}' is written by another stream too. Give each its own --to. {ANEW}")

    def commit(self, pipe: Any, pending: PendingOutcome, state: bytes) -> None:
        """Put all that is to be written into a transaction."""
        mark, added = self._mark.next(), dict(self._added)
        for key, fields in self._written(pending):
            pipe.execute_command("XADD", key, "*", *fields)
            added[key] += 1
        head = {"stream": mark.stream, "generation": mark.generation, "added": added}
        pipe.set(self._keys.checkpoint, pack(head, {"": state}))
        for key in self._found:
            pipe.set(self._keys.mark(key), mark.as_bytes())
        for start in range(0, len(pending.entries), MANY):
            pipe.xack(self._keys.source, self._keys.group, *pending.entries[start : start + MANY])
        self._next = mark, added

    def committed(self) -> None:
        """The transaction was carried out."""
        self._mark, self._added = self._next
        self._found = dict.fromkeys(self._found, self._mark.as_bytes())

    def _written(self, pending: PendingOutcome) -> Iterator[tuple[str, list[Any]]]:
        """What is to be written: the key of a stream, and field after field."""
        keys = self._keys
        for released in pending.released:
            if self._json_field is not None:
                for line in as_jsonl(released, self._field, self._schema).splitlines():
                    yield keys.to, [self._json_field, line]
            else:
                names = released.frame.columns
                for row, number in zip(released.frame.iter_rows(), released.classes.tolist(), strict=True):
                    yield keys.to, _fields({**dict(zip(names, row, strict=True)), self._field: number})
            if keys.ledger is not None:
                for told in ledger(released):
                    yield keys.ledger, ["json", as_line(told).rstrip()]
        for letter in pending.letters:
            yield keys.rejected, _fields(letter)
        if keys.certificates is not None:
            for certificate in pending.certificates:
                yield keys.certificates, ["json", as_line(certificate).rstrip()]


def _fields(told: Mapping[str, Any]) -> list[Any]:
    """Names and values in turn, empty where there is none."""
    return [part for name, value in told.items() for part in (name, "" if value is None else str(value))]
