"""Projects on disk: a folder each, with what was settled and what was run. The table itself stays where it is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tclose.app.change_history import MOST_STEPS, ChangeHistory
from tclose.app.open_table import TableRequest
from tclose.app.project_settings import ProjectSettings
from tclose.app.texts import said
from tclose.errors import BusyError, SchemaError
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.file_lock import TargetLocks
from tclose.table.formats.database_urls import POSTGRESQL, database_of

FORMAT = 2
INCOMING = ".incoming-"  # and the number of the process
MOST_OF_STEPS = 4 << 20  # characters of all changes that are kept for undo after a restart
ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}", re.ASCII)


@dataclass(frozen=True)
class ShelfEntry:
    """A project in the list of all.

    Attributes
    ----------
    id
        The name of its folder.
    name
        Of its table.
    rows, runs
        How many it has.
    changed
        When something was last settled.
    source
        Where its table is: a file, a file that was dropped and is gone, or a database that may ask for a password.
    """

    id: str
    name: str
    rows: int
    runs: int
    changed: datetime
    source: str


@dataclass(frozen=True)
class ProjectShelf:
    """The folder in which all projects lie, open to its owner alone."""

    folder: Path

    @classmethod
    def usual(cls) -> ProjectShelf:
        """Where projects lie if nobody says otherwise."""
        data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
        return cls(Path(data) / "tclose" / "projects")

    def prepare(self) -> None:
        """Make the folder, and remove dropped files of apps that were killed."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for each in self.folder.glob(f"{INCOMING}*"):
            if not _is_alive(each.name.removeprefix(INCOMING)):
                shutil.rmtree(each, ignore_errors=True)

    @property
    def incoming(self) -> Path:
        """Where dropped files lie while the app runs."""
        return self.folder / f"{INCOMING}{os.getpid()}"

    def remove_incoming(self) -> None:
        """Remove dropped files."""
        shutil.rmtree(self.incoming, ignore_errors=True)

    def tidy(self) -> None:
        """Remove the folder of dropped files if it is empty."""
        with contextlib.suppress(OSError):
            self.incoming.rmdir()

    def new_incoming(self) -> Path:
        """A folder for one dropped file."""
        folder = self.incoming / secrets.token_hex(8)
        self.incoming.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
        return folder

    def begin(self) -> ProjectFolder:
        """A folder for a new project."""
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        folder = self.folder / name
        folder.mkdir(parents=True, mode=0o700)  # the mode is not that of parents, so each is made by itself
        (folder / "runs").mkdir(mode=0o700)
        return ProjectFolder(folder)

    def find(self, given: str) -> ProjectFolder:
        """The folder of a project by its id; anything else is no project."""
        if not ID.fullmatch(given) or not (self.folder / given / "project.json").is_file():
            raise SchemaError(said("no_project"))
        return ProjectFolder(self.folder / given)

    def remove(self, given: str) -> None:
        """Remove a project with all that is in its folder, unless another app has it open."""
        folder = self.find(given)
        with folder.locked():
            shutil.rmtree(folder.folder)

    def entries(self) -> list[ShelfEntry]:
        """All projects, the last changed first; what cannot be read is left out."""
        return sorted(self._entries(), key=lambda entry: entry.changed, reverse=True)

    def _entries(self) -> Iterator[ShelfEntry]:
        for each in self.folder.iterdir() if self.folder.is_dir() else ():
            if not ID.fullmatch(each.name):
                continue
            folder = ProjectFolder(each)
            try:
                held, changed = folder.read(), folder.file.stat().st_mtime
            except (OSError, ValueError, SchemaError):
                continue
            when = datetime.fromtimestamp(changed)
            about = (str(held.get("name", "")), int(held.get("rows", 0)), len(folder.runs()), when)
            yield ShelfEntry(each.name, *about, _source_of(held))


def _source_of(held: Mapping[str, Any]) -> str:
    """Which kind of place the table of a project is at."""
    place = str(held.get("table", {}).get("place", ""))
    if database_of(place) == POSTGRESQL:
        return "database"
    return "dropped" if INCOMING in place and not Path(place).is_file() else "file"


def _parsed(path: Path) -> dict[str, Any]:
    """The fields of a file of a project.

    Raises
    ------
    SchemaError
        It is not there, or holds no fields.
    """
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        raise SchemaError(said("unread_project")) from None
    if not isinstance(held, dict):
        raise SchemaError(said("unread_project"))
    return held


def kept_steps(sizes: Sequence[int], place: int) -> tuple[int, int]:
    """Which changes of a project are written: those that fit, and always the one that is settled.

    Trees of many values make steps of megabytes, and all of them are written with every change.

    Examples
    --------
    >>> kept_steps([10, 10, 10], 2), kept_steps([MOST_OF_STEPS] * 3, 2), kept_steps([MOST_OF_STEPS] * 3, 1)
    ((0, 3), (2, 3), (1, 2))
    """
    first, end = min(max(len(sizes) - MOST_STEPS, 0), place), len(sizes)
    while sum(sizes[first:end]) > MOST_OF_STEPS and (first < place or end > place + 1):
        if first < place:
            first += 1
        else:
            end -= 1
    return first, end


def _is_alive(number: str) -> bool:
    """Whether there is a process of this number, which may be the app that the files belong to."""
    try:
        os.kill(int(number), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:  # it is there, and someone else's
        return True
    return True


@dataclass(frozen=True)
class ProjectFolder:
    """One project."""

    folder: Path

    @property
    def id(self) -> str:
        """Its name on the shelf."""
        return self.folder.name

    @property
    def file(self) -> Path:
        """What it is about: small, for the first page reads those of all projects."""
        return self.folder / "project.json"

    @property
    def changes(self) -> Path:
        """What was settled, change by change."""
        return self.folder / "changes.json"

    def locked(self) -> TargetLocks:
        """A lock that one app holds while it has the project open.

        Raises
        ------
        SchemaError
            Another app has it open.
        """
        try:
            return TargetLocks([self.folder])
        except BusyError:
            raise SchemaError(said("open_elsewhere")) from None

    def read(self) -> dict[str, Any]:
        """What it is about, as it was last written."""
        held = _parsed(self.file)
        if held.get("format") != FORMAT:
            raise SchemaError(said("other_version"))
        if (
            not isinstance(held.get("table"), dict)
            or "place" not in held["table"]
            or not {"name", "digest"} <= set(held)
        ):
            raise SchemaError(said("unread_project"))
        return held

    def write(self, about: Mapping[str, Any], history: ChangeHistory) -> None:
        """Write its state, and its schema once there is one."""
        first, end = kept_steps([len(settings.to_text()) for settings in history.steps], history.place)
        steps = [settings.to_text() for settings in history.steps[first:end]]
        changes = {"place": history.place - first, "steps": steps}
        write_whole(self.changes, json.dumps(changes, ensure_ascii=False, indent=1).encode(), PRIVATE)
        told = {"format": FORMAT, **about}
        write_whole(self.file, json.dumps(told, ensure_ascii=False, indent=1).encode(), PRIVATE)
        try:
            schema = history.now.schema(self.folder)
        except SchemaError:
            return
        write_whole(self.folder / "schema.toml", schema.to_toml(self.folder).encode(), PRIVATE)

    def history(self) -> ChangeHistory:
        """The settings that were."""
        held = _parsed(self.changes)
        try:
            steps = [ProjectSettings.from_text(text) for text in held["steps"]]
            return ChangeHistory(steps, range(len(steps)).index(held["place"]))
        except (ValueError, TypeError, KeyError):
            raise SchemaError(said("unread_project")) from None

    def adopt(self, request: TableRequest) -> TableRequest:
        """Keep a dropped file here: the same bytes under another name, so that nothing is copied where links work."""
        given = Path(request.location.place)
        own = self.folder / given.name
        try:
            os.link(given, own)
        except OSError:
            shutil.copyfile(given, own)
        own.chmod(0o600)
        return replace(request, location=replace(request.location, place=str(own)))

    def runs(self) -> list[int]:
        """The numbers of its runs."""
        found = [each.name for each in (self.folder / "runs").iterdir()] if (self.folder / "runs").is_dir() else []
        return sorted(int(name) for name in found if name.isascii() and name.isdigit() and len(name) < 7)

    def run_folder(self, number: int) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / str(number)
