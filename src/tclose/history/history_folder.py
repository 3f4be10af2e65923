"""The folder of a history: its key, the generations of its state, and how one follows on another.

A state knows of a release before the file of that release gets its name: at no moment is there a release that its
history does not know. The order is this.

1. The files of the release are written and verified under temporary names.
2. The new state is written under its number, in one step. It names these files with their digests.
3. The files get their names, the certificate last.
4. The number of the state is written beside the key.
5. The state before is removed.

Whoever opens a folder with two states finds a process that was ended between 2 and 5, and does what is left to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tclose.errors import BusyError, EarlierReleaseWarning, TableError
from tclose.history.certificate_chain import check_chain, warn_of_lost
from tclose.history.history_state import HistoryState, pack_state, unpack_state
from tclose.history.last_generation import GENERATION, Generation, check_generation
from tclose.release.atomic import (
    PRIVATE,
    UNFINISHED,
    locked,
    put_together,
    remove,
    sync_file,
    sync_folder,
    write_whole,
)
from tclose.release.file_lock import TargetLocks
from tclose.release.known_persons import KEY, KNOWN, make_key, read_key, write_known
from tclose.table.source import file_digest

FOLDER_MODE = 0o700
STATE = re.compile(r"state-(\d{6})")
FILES = (KEY, KNOWN, GENERATION)  # that a folder without a state may have


@dataclass(frozen=True)
class HistoryFolder:
    """Where a history is kept.

    Attributes
    ----------
    path
        The folder.
    key
        By which persons are hashed.
    state
        What the releases so far have told.
    digest
        That of the state as it was read, by which it is noticed that another process went on meanwhile.
    """

    path: Path
    key: bytes = field(repr=False)
    state: HistoryState = field(repr=False)
    digest: str

    @classmethod
    def create(cls, path: Path) -> HistoryFolder:
        """A folder for a table that was not released yet.

        Raises
        ------
        TableError
            The folder holds something else, or a history that has a release already, or one that lost its state.
        """
        path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        if any(STATE.fullmatch(each.name) for each in path.iterdir()):
            found = cls.open(path)
            if found.state.number:
                raise TableError(
                    f"The history '{path.name}' has {_releases(found.state.number)} already. Continue it with `tclose "
                    "republish`, or name a new folder for another table."
                )
            return found
        if any(each.name not in FILES and not each.name.startswith(".") for each in path.iterdir()):
            raise TableError(f"The folder '{path.name}' is not empty and is no history. Name a new one.")
        _check_not_lost(path)
        path.chmod(FOLDER_MODE)
        with TargetLocks([path]):
            key = read_key(path) if os.path.lexists(path / KEY) else make_key(path)
            write_known(path, ())
            write_whole(path / _name(0), pack_state(HistoryState.empty(), key), PRIVATE, alone=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> HistoryFolder:
        """The history in a folder; what a process that was killed has left to do is done first.

        Raises
        ------
        TableError
            There is none, it is damaged, of another key, or older than the last release.
        BusyError
            Another process is writing it.
        """
        if path.is_dir() and not _states(path):
            _check_not_lost(path)
        if not path.is_dir() or not _states(path):
            raise TableError(
                f"'{path.name}' is not the folder of a history. Begin one with the first release of a table: `tclose "
                "anonymize --history`."
            )
        key = read_key(path)
        with TargetLocks([path]):
            _close_to_others(path)
            data, state = _finish(path, key)
        check_generation(path, state)
        folders = {Path(output[1]).parent for each in state.releases for output in each.outputs[-1:]}
        check_chain(state, path.name, folders)
        return cls(path, key, state, hashlib.sha256(data).hexdigest())

    @contextlib.contextmanager
    def recorded(self, after: HistoryState, certificate: bytes, files: Sequence[tuple[Path, Path]]) -> Iterator[None]:
        """Write the state that follows; within, the files of its release get their names.

        If that fails before any file has its name, the state is as before.

        Parameters
        ----------
        after
            The state that follows; its last entry does not know its files yet.
        certificate
            The certificate as it is written.
        files
            Temporary files and what they will be called, the certificate last.
        """
        check_outside(self.path, [to for _, to in files])
        for made, _ in files:  # what the state names must be there after a loss of power, too
            sync_file(made)
            sync_folder(made.absolute().parent)
        outputs = [(str(made.absolute()), str(to.absolute()), file_digest(made)) for made, to in files]
        entry = replace(
            after.releases[-1],
            outputs=outputs,
            certificate=json.loads(certificate),
            certificate_sha256=hashlib.sha256(certificate).hexdigest(),
        )
        after = replace(after, releases=(*after.releases[:-1], entry))
        new, old = self.path / _name(after.number), self.path / _name(self.state.number)
        with TargetLocks([self.path]), UNFINISHED.naming:
            self._check_is_last(new, old)
            beside = files[-1][1].absolute().parent
            check_chain(self.state, self.path.name, [beside])
            if not self.state.number:
                warn_of_lost(beside, entry.certificate, stacklevel=5)
            write_known(self.path, after.hashes)
            try:
                write_whole(new, pack_state(after, self.key), PRIVATE, alone=True)
                yield
            except BaseException:
                # If a file has its name already, the state stays: whoever opens the history next does what is left.
                if not any(_is(Path(to), digest) for _, to, digest in outputs):
                    remove(new)
                    sync_folder(self.path)
                raise
            with contextlib.suppress(OSError):  # whoever opens the history next does what is left
                Generation.of(after).write(self.path)
                remove(old)
                sync_folder(self.path)

    def _check_is_last(self, new: Path, old: Path) -> None:
        """Whether no other process went on since the state was read; the caller holds the lock of the folder."""
        if new.exists() or not old.exists() or file_digest(old) != self.digest:
            raise BusyError(
                f"Another process has continued the history '{self.path.name}' meanwhile, so nothing is written. "
                "Run it again."
            )


def check_outside(path: Path, targets: Iterable[Path]) -> None:
    """Refuse files that would lie in the folder of a history, or take the place of its key where that is a link.

    Nobody can make the key again, and what is released has no business among what is confidential.

    Raises
    ------
    TableError
        The message names the file.
    """
    key = (path / KEY).resolve()
    own = {path.resolve(), key, key.with_name(GENERATION)}
    for target in targets:
        if own & {target.resolve(), *target.resolve().parents}:
            raise TableError(
                f"'{target.name}' would lie in the folder of the history '{path.name}', or take the place of its key. "
                "That folder holds nothing else: name another one."
            )


def _releases(number: int) -> str:
    return "one release" if number == 1 else f"{number} releases"


def _name(number: int) -> str:
    return f"state-{number:06}"


def _states(path: Path) -> list[int]:
    """The numbers of the states in a folder, ascending."""
    found = (STATE.fullmatch(each) for each in os.listdir(path))
    return sorted(int(each[1]) for each in found if each)


def _check_not_lost(path: Path) -> None:
    """Refuse a folder without a state whose other files tell of releases."""
    known, last = path / KNOWN, Generation.read(path)
    if last is not None or (known.is_file() and known.stat().st_size):
        raise TableError(
            f"The history '{path.name}' has lost its state, which says what was released. Put it back: without it, "
            "nothing can be released that keeps what earlier releases promised."
        )


def _close_to_others(path: Path) -> None:
    """A copy of a folder may have become readable for others on its way."""
    if os.name == "posix" and path.stat().st_mode & 0o077:
        with contextlib.suppress(OSError):  # it is not ours
            path.chmod(FOLDER_MODE)


def _finish(path: Path, key: bytes) -> tuple[bytes, HistoryState]:
    """The last state; if that before it is still there, the files of its release get their names first."""
    numbers = _states(path)
    data = (path / _name(numbers[-1])).read_bytes()
    state = unpack_state(data, key)
    if state.number != numbers[-1]:
        raise TableError(
            f"'{_name(numbers[-1])}' of the history '{path.name}' is the state after release {state.number}. Give it "
            "its name back, and put back the state that was written last."
        )
    if len(numbers) > 1:
        if Generation.read(path) is not None:
            check_generation(path, state)
        last = state.releases[-1]
        if not _put_left(last.outputs):
            warnings.warn(
                f"A process was ended while it wrote release {last.number} of the history '{path.name}', and its file "
                "is not where it was to be. The history counts it as published.",
                EarlierReleaseWarning,
                stacklevel=4,
            )
        Generation.of(state).write(path)
        for number in numbers[:-1]:
            remove(path / _name(number))
        sync_folder(path)
    if not (path / KNOWN).is_file():
        write_known(path, state.hashes)
    return data, state


def _put_left(outputs: Sequence[Sequence[str]]) -> bool:
    """Give the files of a release their names, as far as they have not got them; whether all are there."""
    targets = [Path(to) for _, to, _ in outputs]
    if not all(each.parent.is_dir() for each in targets):
        return False
    with TargetLocks(targets):  # `locked` would remove the temporary files
        left = [(Path(made), Path(to), digest) for made, to, digest in outputs if not _is(Path(to), digest)]
        if not all(_is(made, digest) for made, _, digest in left):
            return False
        if left:
            put_together([(made, to) for made, to, _ in left])
    with locked(targets):  # which removes second names of what was there before
        return True


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and file_digest(path) == digest
