"""Forms as browsers post them: names and texts, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

MOST_BYTES = 8 << 20  # hierarchies of thousands of codes are pasted into a form
MOST_FIELDS = 5000


@dataclass(frozen=True)
class PostedForm:
    """What a form holds.

    Attributes
    ----------
    fields
        Names and values in the order of the form.

    Examples
    --------
    >>> form = PostedForm.parse(b"column=0&column=2&k=5")
    >>> form.text("k"), form.every("column"), form.text("absent")
    ('5', ['0', '2'], '')
    """

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, body: bytes) -> PostedForm:
        """Read a body of `application/x-www-form-urlencoded`.

        Raises
        ------
        ValueError
            It is no such form, or has too many fields.
        """
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MOST_FIELDS)
        return cls(tuple(pairs))

    def text(self, name: str) -> str:
        """The last value of this name, without spaces around it; empty if there is none."""
        return next((value.strip() for key, value in reversed(self.fields) if key == name), "")

    def every(self, name: str) -> list[str]:
        """All values of this name."""
        return [value for key, value in self.fields if key == name]

    def has(self, name: str) -> bool:
        """Whether a field of this name was sent: a box that is not ticked sends none."""
        return any(key == name for key, _ in self.fields)

    def number(self, name: str) -> int | None:
        """A whole number of a few digits; None if it is none."""
        given = self.text(name)
        return int(given) if given.isascii() and given.isdigit() and len(given) <= 9 else None
