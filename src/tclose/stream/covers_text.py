"""Whether a released value covers an original one: from the text alone, by no code that made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction

from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy

Number = Fraction | int
EVERYTHING = "*"


def covers(quasi: Quasi, released: Sequence[str | None], original: str | None, suppress: bool) -> bool:
    """Whether what is released for a quasi-identifier, a text a column, is true of a value.

    Parameters
    ----------
    quasi
        Its kind and hierarchy.
    released
        One text, or the two ends under publish = "bounds"; a mean covers whatever it is the mean of.
    original
        The value as text: plain numbers, ISO dates; None where missing.
    suppress
        Whether values are kept or hidden, never generalized.

    Examples
    --------
    >>> age = Quasi("age", "numeric")
    >>> covers(age, ["[20, 45]"], "45", False), covers(age, ["[20, 45]"], "46", False)
    (True, False)
    """
    if quasi.publish == "mean" or all(each == EVERYTHING for each in released):
        return True
    if original is None:
        return all(each is None for each in released)
    if quasi.publish == "bounds":
        return _between(released[0], released[1], original, _measure(quasi))
    text = released[0]
    if text is None:
        return False
    if quasi.kind == "digits":
        return len(text) == len(original) and all(a in (b, "*") for a, b in zip(text, original, strict=True))
    if text == original or suppress:
        return text == original
    if quasi.kind in ("numeric", "date"):
        return _within(text, original, quasi)
    if quasi.kind == "text":
        return text.endswith("*") and original.startswith(text.rstrip("*"))
    return quasi.hierarchy is not None and text in _above(quasi, original)


def _above(quasi: Quasi, leaf: str) -> set[str]:
    """The labels on the way from a leaf to the root."""
    assert quasi.hierarchy is not None
    tree = quasi.hierarchy if isinstance(quasi.hierarchy, Hierarchy) else quasi.hierarchy.build([leaf])
    if leaf not in tree.leaves:
        return set()
    node, labels = int(tree.leaf_nodes[tree.leaves.index(leaf)]), set()
    while node >= 0:
        labels.add(tree.labels[node])
        node = int(tree.parents[node])
    return labels


def _measure(quasi: Quasi) -> Callable[[str], Number]:
    return (lambda text: date.fromisoformat(text).toordinal()) if quasi.kind == "date" else Fraction


def _within(text: str, original: str, quasi: Quasi) -> bool:
    """`[20, 45]`, `2021-03-02/2021-03-09`, a single value, and ends such as `<18` and `>90`."""
    if quasi.kind == "date":
        low, _, high = text.partition("/")
    else:
        low, _, high = text.removeprefix("[").removesuffix("]").partition(", ")
    high, measure = high or low, _measure(quasi)
    value = measure(original)
    above = low.startswith("<") or (value > measure(low[1:]) if low.startswith(">") else value >= measure(low))
    below = high.startswith(">") or (value < measure(high[1:]) if high.startswith("<") else value <= measure(high))
    return above and below


def _between(low: str | None, high: str | None, original: str, measure: Callable[[str], Number]) -> bool:
    """Two ends by themselves; an open one is not there."""
    if EVERYTHING in (low, high):
        return False
    value = measure(original)
    return (low is None or measure(low) <= value) and (high is None or value <= measure(high))
