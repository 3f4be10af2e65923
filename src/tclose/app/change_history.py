"""Undo and redo: settings as they were, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from tclose.app.project_settings import ProjectSettings

MOST_STEPS = 100


@dataclass
class ChangeHistory:
    """All settings that were, and which of them is the one now.

    Examples
    --------
    >>> first, second = ProjectSettings({}, {"k": 5}), ProjectSettings({}, {"k": 6})
    >>> history = ChangeHistory([first])
    >>> history.change(second); history.undo(); history.now.keys, history.can_redo
    ({'k': 5}, True)
    """

    steps: list[ProjectSettings]
    place: int = 0
    revision: int = field(default=0)

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
        self.revision += 1

    def undo(self) -> None:
        """Go back by one."""
        if self.can_undo:
            self.place -= 1
            self.revision += 1

    def redo(self) -> None:
        """Go on by one."""
        if self.can_redo:
            self.place += 1
            self.revision += 1
