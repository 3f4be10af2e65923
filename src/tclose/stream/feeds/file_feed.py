"""FileFeed: lines in, lines out, and a checkpoint that commits both.

What came out is put into the checkpoint before it is appended anywhere. So nobody sees a line of
output that a restart would take back: a restart cuts the files to the lengths the checkpoint tells,
and appends what it holds again.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import TableError
from tclose.release.atomic import PRIVATE, PUBLIC, write_whole
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.stream.envelope import pack, unpack
from tclose.stream.feeds.durable import Appended, Lock
from tclose.stream.feeds.feed import Batch, Pending, Position
from tclose.stream.feeds.folder_feed import FolderInput
from tclose.stream.feeds.lines import Format, LineInput, Pipe, open_file
from tclose.stream.feeds.written import as_csv, as_jsonl, as_line, check_field, ledger

EXACTLY_ONCE = "Every row comes out exactly once, whenever this is stopped and started again."
AT_LEAST_ONCE = (
    "Standard output is at least once: after a crash the classes written last may be written again, identically and "
    "with the same numbers."
)
NO_CHECKPOINT = (
    "There is no --checkpoint: after a crash the stream must begin anew, and both outputs together tell more."
)


@dataclass(frozen=True)
class Targets:
    """Where lines go.

    Attributes
    ----------
    output
        Released rows: a file, a folder that gets a file for each commit, or None for standard output.
    rejected
        Dead letters; None for standard error.
    certificates, ledger
        Certificates, and the rows of each class; None for nowhere.
    checkpoint
        Where the checkpoint lies; None for none.
    """

    output: Path | None = None
    rejected: Path | None = None
    certificates: Path | None = None
    ledger: Path | None = None
    checkpoint: Path | None = None

    def appended(self) -> dict[str, Path]:
        """The files that lines are appended to, by name."""
        named = {name: getattr(self, name) for name in ("output", "rejected", "certificates", "ledger")}
        return {name: path for name, path in named.items() if path is not None and not path.is_dir()}


class FileFeed:
    """Rows on lines, from standard input, a file or a folder.

    Parameters
    ----------
    schema
        How lines of CSV are read and written.
    source
        A file or folder; None for standard input.
    targets
        Where lines go.
    format
        `jsonl` or `csv`, of both input and output.
    field
        What the class of a row is called in the output.
    follow
        Whether to wait for more rows at the end of a file or folder.
    continues
        Whether standard input goes on after the checkpoint instead of beginning again.
    """

    def __init__(
        self,
        schema: Schema,
        source: Path | None,
        targets: Targets,
        *,
        format: Format = "jsonl",
        field: str = "class",
        follow: bool = False,
        continues: bool = False,
    ) -> None:
        check_field(field, schema)
        if targets.checkpoint is None and targets.output is not None:
            raise TableError(
                "An output file needs a --checkpoint, which holds rows as they came in: keep it to yourself."
            )
        self._schema, self._source, self._targets, self._format = schema, source, targets, format
        self._field, self._follow, self._continues = field, follow, continues
        self._files: dict[str, Appended] = {}
        self._lock: Lock | None = None
        self._input: LineInput | FolderInput | None = None
        self._n_put = 0

    @property
    def promise(self) -> str:
        """What a restart does."""
        if self._targets.checkpoint is None:
            return NO_CHECKPOINT
        return AT_LEAST_ONCE if self._targets.output is None else EXACTLY_ONCE

    @property
    def fixed(self) -> dict[str, Any]:
        """See `Feed`."""
        source = "standard input" if self._source is None else "a folder" if self._source.is_dir() else "a file"
        return {"input": source, "class-field": self._field}

    def open(self) -> bytes | None:
        """See `Feed`."""
        path = self._targets.checkpoint
        saved = None
        if path is not None:
            self._lock = Lock(path.with_name(f".{path.name}.lock"))
            with contextlib.suppress(FileNotFoundError):
                saved = path.read_bytes()
        if saved is None:
            self._check_new()
        self._files = {name: Appended(file, _mode(name)) for name, file in self._targets.appended().items()}
        return None if saved is None else guarded("The checkpoint is damaged", lambda: self._restored(saved))

    def _check_new(self) -> None:
        """Refuse to write to what is there already."""
        for file in self._targets.appended().values():
            if file.exists() and file.stat().st_size:
                raise TableError(
                    f"'{file.name}' is there already, and no checkpoint to go on from. Name another, or remove it."
                )
        output = self._targets.output
        if output is not None and output.is_dir() and any(output.glob(f"*.{self._format}")):
            raise TableError(f"'{output.name}' has files already, and there is no checkpoint to go on from.")

    def _restored(self, saved: bytes) -> bytes:
        """Bring the outputs to where the checkpoint says they are; what it was given, back."""
        head, parts = unpack(saved)
        if head["files"] != self._names():
            raise TableError("The checkpoint was made with other outputs or another format. Name the same again.")
        for name, file in self._files.items():
            file.settle(head["lengths"][name], parts.get(name, b""))
        self._n_put = head["n_put"]
        self._put(parts)
        return parts[""]

    def _names(self) -> dict[str, str | None]:
        """What must stay as it is for as long as the stream goes on."""
        names = {name: path.name for name, path in self._targets.appended().items()}
        output = None if self._targets.output is None else self._targets.output.name
        return {**names, "output": output, "format": self._format}

    def begin(self, position: Position | None, pauses: bool = False) -> None:
        """See `Feed`."""
        if self._source is None:
            rewound = position is not None and not self._continues
            self._input = LineInput(Pipe(), self._schema, self._format, position, rewound=rewound)
        elif self._source.is_dir():
            self._input = FolderInput(
                self._source, self._schema, self._format, position, follow=self._follow, pauses=pauses
            )
        else:
            self._input = open_file(self._source, self._schema, self._format, position, self._follow, pauses)

    def read(self) -> Batch:
        """See `Feed`."""
        assert self._input is not None
        return self._input.read()

    def end(self) -> None:
        """See `Feed`."""
        assert self._input is not None
        self._input.end()

    def commit(self, pending: Pending, checkpoint: bytes) -> None:
        """See `Feed`."""
        parts = dict(self._parts(pending))
        path = self._targets.checkpoint
        if path is not None:
            lengths = {name: file.length for name, file in self._files.items()}
            head = {"files": self._names(), "lengths": lengths, "n_put": self._n_put}
            write_whole(path, pack(head, {**parts, "": checkpoint}), PRIVATE, alone=True)
        self._append(parts)

    def _parts(self, pending: Pending) -> Iterator[tuple[str, bytes]]:
        """What is to be written, by name."""
        if pending.released:
            yield "output", b"".join(self._rows(pending))
        others = {"rejected": pending.letters, "certificates": pending.certificates}
        if "ledger" in self._files:
            others["ledger"] = [line for released in pending.released for line in ledger(released)]
        for name, told in others.items():
            if told and (name in self._files or name == "rejected"):
                yield name, b"".join(map(as_line, told))

    def _rows(self, pending: Pending) -> Iterator[bytes]:
        header = "output" not in self._files or not self._files["output"].length
        if self._targets.output is None:
            header = not self._n_put
        for released in pending.released:
            if self._format == "jsonl":
                yield as_jsonl(released, self._field, self._schema)
            else:
                yield as_csv(released, self._field, self._schema, header)
                header = False

    def _append(self, parts: dict[str, bytes]) -> None:
        for name, file in self._files.items():
            file.append(parts.get(name, b""))
        self._put(parts)

    def _put(self, parts: dict[str, bytes]) -> None:
        """Give to others what is not appended to a file."""
        if "rejected" not in self._files:  # a row is never dropped without a word
            letters = parts.get("rejected", b"").split(b"\n")
            sys.stderr.write("".join(f"{json.dumps(json.loads(each))}\n" for each in letters if each))  # in ASCII
        if "output" not in parts:
            return
        if self._targets.output is None:
            sys.stdout.buffer.write(parts["output"])
            sys.stdout.buffer.flush()
        elif "output" not in self._files:
            part = self._targets.output / f"{self._n_put:012}.{self._format}"
            write_whole(part, parts["output"], alone=True)
        self._n_put += 1

    def close(self) -> None:
        """See `Feed`."""
        for each in (self._input, self._lock, *self._files.values()):
            if each is not None:
                each.close()
        self._files, self._lock, self._input = {}, None, None


def files_read(checkpoint: bytes) -> list[str]:
    """The files of a folder that a stream has begun to read, in that order; none if it read no folder."""
    position = unpack(unpack(checkpoint)[1][""])[0]["position"] or {}
    return [*position.get("done", ()), *([position["file"]] if "file" in position else [])]


def _mode(name: str) -> int:
    return PUBLIC if name in ("output", "certificates") else PRIVATE
