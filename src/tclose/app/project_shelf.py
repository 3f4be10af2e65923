"""Projects on disk: a folder each, with what was settled and what was run. The table itself stays where it is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tclose.app.change_history import MOST_STEPS, ChangeHistory
from tclose.app.project_settings import ProjectSettings
from tclose.errors import SchemaError
from tclose.release.atomic import PRIVATE, write_whole

FORMAT = 1
INCOMING = ".incoming-"  # and the number of the process
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
    """

    id: str
    name: str
    rows: int
    runs: int
    changed: datetime


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
            raise SchemaError("There is no such project any more.")
        return ProjectFolder(self.folder / given)

    def remove(self, given: str) -> None:
        """Remove a project with all that is in its folder."""
        shutil.rmtree(self.find(given).folder)

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
            yield ShelfEntry(each.name, str(held.get("name", "")), int(held.get("rows", 0)), len(folder.runs()), when)


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
        """Where its state lies."""
        return self.folder / "project.json"

    def read(self) -> dict[str, Any]:
        """Its state as it was last written."""
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
        except ValueError:
            raise SchemaError("The project's file cannot be read. Begin a new project with its schema.toml.") from None
        if not isinstance(held, dict) or held.get("format") != FORMAT:
            raise SchemaError("The project was made by another version of tclose. Begin a new one.")
        return held

    def write(self, about: Mapping[str, Any], history: ChangeHistory) -> None:
        """Write its state, and its schema once there is one."""
        told = {
            "format": FORMAT,
            **about,
            "place": history.place,
            "steps": [settings.to_text() for settings in history.steps[-MOST_STEPS:]],
        }
        write_whole(self.file, json.dumps(told, ensure_ascii=False, indent=1).encode(), PRIVATE)
        try:
            schema = history.now.schema(self.folder)
        except SchemaError:
            return
        write_whole(self.folder / "schema.toml", schema.to_toml(self.folder).encode(), PRIVATE)

    def history(self, held: Mapping[str, Any]) -> ChangeHistory:
        """The settings that were, from its state."""
        steps = [ProjectSettings.from_text(text) for text in held["steps"]]
        return ChangeHistory(steps, min(max(int(held["place"]), 0), len(steps) - 1))

    def runs(self) -> list[int]:
        """The numbers of its runs."""
        found = [each.name for each in (self.folder / "runs").iterdir()] if (self.folder / "runs").is_dir() else []
        return sorted(int(name) for name in found if name.isascii() and name.isdigit() and len(name) < 7)

    def run_folder(self, number: int) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / str(number)
