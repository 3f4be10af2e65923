"""Which state of a history is the last one, in a line beside its key: an older state alone is noticed by it.

The key may be a link to where it is kept. Then this line lies there, too, and a folder that was put back as a whole
from an older copy is noticed as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tclose.errors import TableError
from tclose.history.history_state import HistoryState
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.known_persons import KEY

GENERATION = f"{KEY}.generation"  # where the key is no link
LINE = re.compile(r"(\d{1,9}) ([0-9a-f]{64})\n?", re.ASCII)


@dataclass(frozen=True)
class Generation:
    """The last release of a history.

    Attributes
    ----------
    number
        Its number.
    certificate_sha256
        The digest of its certificate.
    """

    number: int
    certificate_sha256: str

    @classmethod
    def of(cls, state: HistoryState) -> Generation:
        """That of a state, which has a release."""
        last = state.releases[-1]
        return cls(last.number, last.certificate_sha256)

    @classmethod
    def read(cls, folder: Path) -> Generation | None:
        """The one that was written last; None if none was.

        Raises
        ------
        TableError
            The file is damaged.
        """
        path = _path(folder)
        try:
            found = LINE.fullmatch(path.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            found = None
        if found is None:
            raise TableError(f"'{path.name}' of the history '{folder.name}' is damaged. Put it back as it was written.")
        return cls(int(found[1]), found[2])

    def write(self, folder: Path) -> None:
        """Write it down; the caller holds the lock of the folder."""
        line = f"{self.number} {self.certificate_sha256}\n"
        write_whole(_path(folder), line.encode("ascii"), PRIVATE, alone=True)


def check_generation(folder: Path, state: HistoryState) -> None:
    """Refuse a state that is not the one which was written last.

    Raises
    ------
    TableError
        It is older, or follows on another release; or what says so is gone.
    """
    last, name = Generation.read(folder), folder.name
    if last is None:
        if state.number:
            raise TableError(
                f"'{_path(folder).name}' of the history '{name}' is gone, by which an older state is noticed. Put it "
                "back. If you are sure that the state is the last one, write it anew: the number of the last release, "
                "a blank and the SHA-256 of its certificate."
            )
        return
    if last.number > state.number:
        raise TableError(
            f"The state of the history '{name}' is that of release {state.number}, and release {last.number} was "
            "written. Put the state back as it was written with that one: what follows on an older state would not "
            "keep what later releases promised."
        )
    if last.number == state.number and last != Generation.of(state):
        raise TableError(
            f"The state of the history '{name}' knows another release {state.number} than the one that was written "
            "last. Put the state back as it was written with that one."
        )


def _path(folder: Path) -> Path:
    """Beside the key, wherever that is."""
    key = (folder / KEY).resolve()
    return key.with_name(f"{key.name}.generation")
