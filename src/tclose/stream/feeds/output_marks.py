"""Marks beside what a stream writes: which stream it belongs to, and which commit was the last.

A checkpoint alone cannot know that it is an older copy of itself. The mark beside the output can: it is written
with each commit. Released rows carry nothing of it.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from tclose.errors import TableError
from tclose.release.atomic import PRIVATE, write_whole
from tclose.stream.envelope import ANEW


@dataclass(frozen=True)
class OutputMark:
    """Whose an output is.

    Attributes
    ----------
    stream
        A random name of the stream.
    generation
        How many commits there were; 0 before the first.
    """

    stream: str
    generation: int

    @classmethod
    def new(cls) -> OutputMark:
        """That of a stream which begins."""
        return cls(secrets.token_hex(16), 0)

    def next(self) -> OutputMark:
        """The mark after one more commit."""
        return replace(self, generation=self.generation + 1)

    def as_bytes(self) -> bytes:
        """One line of JSON."""
        return json.dumps({"stream": self.stream, "generation": self.generation}).encode() + b"\n"

    @classmethod
    def of(cls, data: bytes, name: str) -> OutputMark:
        """The inverse of `as_bytes`.

        Raises
        ------
        TableError
            It is none.

        Examples
        --------
        >>> OutputMark.of(OutputMark("a", 3).as_bytes(), "out")
        OutputMark(stream='a', generation=3)
        """
        try:
            told = json.loads(data)
            found = cls(told["stream"], told["generation"])
        except (ValueError, KeyError, TypeError):
            found = cls("", -1)
        if not (isinstance(found.stream, str) and isinstance(found.generation, int) and found.generation >= 0):
            raise TableError(f"The mark of '{name}' is damaged. Put it back as it was. {ANEW}")
        return found


def mark_path(target: Path) -> Path:
    """Where the mark of a file or folder lies: beside what its name leads to, hidden.

    Examples
    --------
    >>> mark_path(Path("out.jsonl")).name
    '.out.jsonl.stream'
    """
    real = Path(os.path.realpath(target))
    return real.with_name(f".{real.name}.stream")


def read_mark(target: Path) -> OutputMark | None:
    """The mark of a file or folder; None if it has none."""
    try:
        data = mark_path(target).read_bytes()
    except FileNotFoundError:
        return None
    return OutputMark.of(data, target.name)


def write_mark(target: Path, mark: OutputMark) -> None:
    """Mark a file or folder, for its owner's eyes only."""
    write_whole(mark_path(target), mark.as_bytes(), PRIVATE, alone=True)


def check_free(found: OutputMark | None, name: str) -> None:
    """Refuse to begin with an output that another stream goes on with, though it may be empty still."""
    if found is not None and found.generation:
        raise TableError(
            f"'{name}' belongs to another stream, which goes on from a checkpoint of its own. Name another output; if "
            f"that stream is no more, remove '{name}' first."
        )


def check_owned(found: OutputMark | None, own: OutputMark, name: str) -> None:
    """Refuse an output that is not marked as that of the stream whose checkpoint this is."""
    if found is None:
        raise TableError(
            f"The mark of '{name}', which says what was committed last, is gone. Put it back as it was. {ANEW}"
        )
    if found.stream != own.stream:
        raise TableError(
            f"'{name}' belongs to another stream than the checkpoint. Name the output of this one, and put it back "
            "if it was replaced."
        )


def check_latest(found: OutputMark | None, own: OutputMark, name: str, behind: int) -> None:
    """Refuse a checkpoint that is not the last one, by the mark of the output.

    Parameters
    ----------
    found, own
        The mark of the output, and that of the checkpoint.
    name
        The output.
    behind
        By how many commits a crash may leave the mark behind the checkpoint.
    """
    check_owned(found, own, name)
    assert found is not None
    if own.generation < found.generation:
        raise TableError(
            f"The checkpoint is an older copy: it is number {own.generation}, and '{name}' was written up to number "
            f"{found.generation}. To go on from it would release rows again, in other classes. Put the last "
            f"checkpoint back. {ANEW}"
        )
    if own.generation > found.generation + behind:
        raise TableError(
            f"The mark of '{name}' is older than the checkpoint, so '{name}' was put back from an older copy. Put both "
            f"back as they were last. {ANEW}"
        )
