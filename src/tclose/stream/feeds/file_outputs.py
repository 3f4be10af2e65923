"""FileOutputs: what a stream writes into files, and the checkpoint that commits it.

What came out is put into the checkpoint before it is appended anywhere. So nobody sees a line of output that a
restart would take back: a restart sees that the files hold what the checkpoint says, and at most a beginning of what
was to be appended last, and appends the rest. Files that hold anything else are left alone. The mark of the output is
written in between: whatever was appended, an older checkpoint is known to be one.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tclose.errors import TableError
from tclose.release.atomic import PRIVATE, PUBLIC, write_whole
from tclose.release.file_lock import TargetLocks
from tclose.schema.guarding import guarded
from tclose.stream.envelope import pack, unpack
from tclose.stream.feeds.durable import Appended, OutputFolder
from tclose.stream.feeds.output_marks import OutputMark, check_free, check_latest, check_owned, read_mark, write_mark

APPENDED = ("output", "rejected", "certificates", "ledger")


@dataclass(frozen=True)
class LineTargets:
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

    def written(self) -> dict[str, Path]:
        """The files and the folder that are written to, by name."""
        named = {name: getattr(self, name) for name in APPENDED}
        return {name: path for name, path in named.items() if path is not None}

    @property
    def is_folder(self) -> bool:
        """Whether the output is a folder."""
        return self.output is not None and self.output.is_dir()


class FileOutputs:
    """The outputs of one stream.

    Parameters
    ----------
    targets
        Where lines go.
    suffix
        How the names of files end that are put into a folder.
    """

    def __init__(self, targets: LineTargets, suffix: str) -> None:
        self._targets, self._suffix = targets, suffix
        self._mark, self._n_put = OutputMark.new(), 0
        self._locks: TargetLocks | None = None
        self._files: dict[str, Appended] = {}
        self._folder: OutputFolder | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no released rows were written yet."""
        return not self._n_put

    def wants(self, name: str) -> bool:
        """Whether it has a file or folder for some kind of lines."""
        return name in self._targets.written()

    def open(self) -> bytes | None:
        """The state that was committed last, everything being as it was then; None if nothing was.

        Raises
        ------
        BusyError
            Another process writes to one of the files.
        TableError
            A file holds something that the checkpoint does not know of.
        """
        targets = self._targets
        named = [path for path in (targets.checkpoint, *targets.written().values()) if path is not None]
        self._locks = TargetLocks(named)
        saved = None
        if targets.checkpoint is not None:
            with contextlib.suppress(FileNotFoundError):
                saved = targets.checkpoint.read_bytes()
        if saved is None:
            self._check_new()
            self._begin()
            return None
        return guarded("The checkpoint is damaged", lambda: self._restore(saved))

    def _check_new(self) -> None:
        """Refuse to write to what is there already, or is another stream's."""
        for path in self._marked().values():
            if path.exists():
                check_free(read_mark(path), path.name)
        for name, path in self._targets.written().items():
            if name == "output" and self._targets.is_folder:
                if not OutputFolder(path, self._suffix).is_empty():
                    raise TableError(f"'{path.name}' has files already, and there is no checkpoint to go on from.")
            elif path.exists() and path.stat().st_size:
                raise TableError(
                    f"'{path.name}' is there already, and no checkpoint to go on from. Name another, or remove it."
                )

    def _begin(self) -> None:
        self._mark, self._n_put = OutputMark.new(), 0
        if self._targets.checkpoint is not None:
            for path in self._marked().values():
                write_mark(path, self._mark)
        self._open_files()

    def _open_files(self) -> None:
        for name, path in self._targets.written().items():
            if name == "output" and self._targets.is_folder:
                self._folder = OutputFolder(path, self._suffix)
            else:
                self._files[name] = Appended(path, PUBLIC if name in ("output", "certificates") else PRIVATE)

    def _marked(self) -> dict[str, Path]:
        """What has a mark, by name; the checkpoint stands in for standard output."""
        named = self._targets.written()
        if "output" not in named and self._targets.checkpoint is not None:
            named["checkpoint"] = self._targets.checkpoint
        return named

    @property
    def _main(self) -> str:
        """What is marked with each commit."""
        return "checkpoint" if self._targets.output is None else "output"

    def _restore(self, saved: bytes) -> bytes:
        """See that all is as the checkpoint says, before anything is written; what it was given, back."""
        head, parts = unpack(saved)
        if head["files"] != self._names():
            raise TableError("The checkpoint was made with other outputs or another format. Name the same again.")
        self._mark, self._n_put = OutputMark(head["stream"], head["generation"]), head["n_put"]
        marks = {name: read_mark(path) for name, path in self._marked().items()}
        for name, path in self._marked().items():
            if name == self._main:
                check_latest(marks[name], self._mark, path.name, behind=1)
            else:
                check_owned(marks[name], self._mark, path.name)
        self._open_files()
        known, left = head["outputs"], dict(parts)
        for name, file in self._files.items():
            left[name] = file.recognize(known[name], parts.get(name, b""))
        if self._folder is not None:
            left["output"] = self._folder.recognize(known["output"], parts.get("output", b""))
        for file in self._files.values():
            file.sync()  # what a crash left there may not be durable
        unmarked = [name for name, mark in marks.items() if mark is None or not mark.generation]
        self._write_marks(sorted({self._main, *unmarked}))
        self._write(left, "output" in parts)
        return parts[""]

    def _names(self) -> dict[str, str | None]:
        """What must stay as it is for as long as the stream goes on."""
        names = {name: path.name for name, path in self._targets.written().items()}
        kind = "folder" if self._targets.is_folder else "file"
        return {"output": None, **names, "format": self._suffix, "kind": kind}

    def commit(self, parts: dict[str, bytes], state: bytes) -> None:
        """Make lines, by the name of where they go, and the state durable together."""
        path = self._targets.checkpoint
        if path is None:
            self._write(parts, "output" in parts)
            return
        self._mark = self._mark.next()
        outputs = {name: file.known() for name, file in self._files.items()}
        if self._folder is not None:
            outputs["output"] = self._folder.known()
        head = {"stream": self._mark.stream, "generation": self._mark.generation, "n_put": self._n_put}
        whole = pack({**head, "files": self._names(), "outputs": outputs}, {**parts, "": state})
        write_whole(path, whole, PRIVATE, alone=True)
        self._write_marks([self._main] if self._mark.generation > 1 else [*self._marked()])
        self._write(parts, "output" in parts)

    def _write_marks(self, names: list[str]) -> None:
        for name in names:
            write_mark(self._marked()[name], self._mark)

    def _write(self, parts: dict[str, bytes], releases: bool) -> None:
        """Append to files, and give to others what is not appended to one."""
        for name, file in self._files.items():
            file.append(parts.get(name, b""))
        if not self.wants("rejected"):  # a row is never dropped without a word
            letters = parts.get("rejected", b"").split(b"\n")
            sys.stderr.write("".join(f"{json.dumps(json.loads(each))}\n" for each in letters if each))  # in ASCII
        if self._folder is not None:
            self._folder.put(parts.get("output", b""))
        elif not self.wants("output") and releases:
            sys.stdout.buffer.write(parts["output"])
            sys.stdout.buffer.flush()
        self._n_put += releases

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            file.close()
        self._files, self._folder = {}, None
        if self._locks is not None:
            self._locks.close()
            self._locks = None
