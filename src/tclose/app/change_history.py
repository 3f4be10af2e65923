"""Undo and redo: settings as they were, one after the other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from tclose.app.project_settings import ProjectSettings

MOST_STEPS = 100
_STATES = itertools.count(1)  # of all projects together: a form of one project is never one of another


@dataclass
class ChangeHistory:
    """All settings that were, and which of them is the one now.

    Attributes
    ----------
    steps, place
        The settings, and which of them is the one now.
    revision
        Another number after every change, which no other project had since the app began.

    Examples
    --------
    >>> first, second = ProjectSettings({}, {"k": 5}), ProjectSettings({}, {"k": 6})
    >>> history = ChangeHistory([first])
    >>> history.change(second); history.undo(); history.now.keys, history.can_redo
    ({'k': 5}, True)
    """

    steps: list[ProjectSettings]
    place: int = 0
    revision: int = field(default_factory=lambda: next(_STATES))

    @property
    def now(self) -> ProjectSettings:
        """What is settled."""
        return self.steps[self.place]

    @property
    def can_undo(self) -> bool:
        """Whether something was before."""
        return self.place > 0

    @property
    def can_redo(self) -> bool:
        """Whether something was undone."""
        return self.place < len(self.steps) - 1

    def change(self, settings: ProjectSettings) -> None:
        """Settle something else; what was undone is gone."""
        if settings == self.now:
            return
        self.steps = [*self.steps[: self.place + 1], settings][-MOST_STEPS:]
        self.place = len(self.steps) - 1
        self.revision = next(_STATES)

    def undo(self) -> None:
        """Go back by one."""
        if self.can_undo:
            self.place -= 1
            self.revision = next(_STATES)

    def redo(self) -> None:
        """Go on by one."""
        if self.can_redo:
            self.place += 1
            self.revision = next(_STATES)
