"""FileFeed: lines in, lines out, and a checkpoint that commits both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream.feeds.feed import Batch, PendingOutcome, Position
from tclose.stream.feeds.file_outputs import FileOutputs, LineTargets
from tclose.stream.feeds.folder_feed import FolderInput
from tclose.stream.feeds.lines import Format, LineInput, Pipe, open_file, refuse_device
from tclose.stream.feeds.written import as_csv, as_jsonl, as_line, check_field, ledger
from tclose.table.row_selection import check_columns

EXACTLY_ONCE = "Every row comes out exactly once, whenever this is stopped and started again."
AT_LEAST_ONCE = (
    "Standard output is at least once: after a crash the classes written last may be written again, identically and "
    "with the same numbers."
)
NO_CHECKPOINT = (
    "There is no --checkpoint: after a crash the stream must begin anew, and both outputs together tell more."
)


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
        targets: LineTargets,
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
        if source is not None:
            refuse_device(source)
        self._schema, self._source, self._targets, self._format = schema, source, targets, format
        self._field, self._follow, self._continues = field, follow, continues
        self._outputs = FileOutputs(targets, format)
        self._input: LineInput | FolderInput | None = None

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
        return self._outputs.open()

    def begin(self, position: Position | None, pauses: bool = False) -> None:
        """See `Feed`."""
        if self._source is None:
            rewound = position is not None and not self._continues
            self._input = LineInput(
                Pipe(), self._schema, self._format, position, rewound=rewound, check_header=check_columns
            )
        elif self._source.is_dir():
            self._input = FolderInput(
                self._source, self._schema, self._format, position, follow=self._follow, pauses=pauses
            )
        else:
            self._input = open_file(
                self._source,
                self._schema,
                self._format,
                position,
                follow=self._follow,
                pauses=pauses,
                check_header=check_columns,
            )

    def read(self) -> Batch:
        """See `Feed`."""
        assert self._input is not None
        return self._input.read()

    def end(self) -> None:
        """See `Feed`."""
        assert self._input is not None
        self._input.end()

    def commit(self, pending: PendingOutcome, checkpoint: bytes) -> None:
        """See `Feed`."""
        self._outputs.commit(dict(self._parts(pending)), checkpoint)

    def _parts(self, pending: PendingOutcome) -> Iterator[tuple[str, bytes]]:
        """What is to be written, by name."""
        if pending.released:
            yield "output", b"".join(self._rows(pending))
        others = {"rejected": pending.letters, "certificates": pending.certificates}
        if self._outputs.wants("ledger"):
            others["ledger"] = [line for released in pending.released for line in ledger(released)]
        for name, told in others.items():
            if told and (self._outputs.wants(name) or name == "rejected"):
                yield name, b"".join(map(as_line, told))

    def _rows(self, pending: PendingOutcome) -> Iterator[bytes]:
        header = self._targets.is_folder or self._outputs.is_empty
        for released in pending.released:
            if self._format == "jsonl":
                yield as_jsonl(released, self._field, self._schema)
            else:
                yield as_csv(released, self._field, self._schema, header)
                header = False

    def close(self) -> None:
        """See `Feed`."""
        if self._input is not None:
            self._input.close()
        self._input = None
        self._outputs.close()
