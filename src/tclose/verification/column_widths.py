"""Whether every released cell is as fine as `coarsest` asks, and no finer than `finest` allows: by its text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from tclose.schema.builders import Builder, Dates, Intervals, Prefixes
from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import period_ends
from tclose.verification.cell_meanings import names_of
from tclose.verification.covering import HIDDEN, PERIOD, half_open, limits_of
from tclose.verification.exact_numbers import fraction_of
from tclose.verification.released_forms import ReleasedForm
from tclose.verification.released_spans import Span, read_span
from tclose.verification.sensitive_domains import factored_column
from tclose.verification.value_pairs import count_pairs

Levels = set[tuple[int, int]]  # of the nodes with a label: the height of each, and that of its parent less one
ROOT = 2**31  # in place of the last, for a root


def limit_problems(source: Source, schema: Schema) -> list[str]:
    """What `coarsest` and `finest` forbid of what is released: sentences that name columns and count rows.

    Examples
    --------
    >>> import polars as pl
    >>> quasi = {"age": {"kind": "numeric", "coarsest": 20}, "zip": {"kind": "text", "coarsest": 3, "finest": 4}}
    >>> table = pl.DataFrame({"age": ["[20, 45]", "[20, 40]", "*"], "zip": ["02***", "021**", "02139"]})
    >>> for problem in limit_problems(Source.of(table), Schema.from_dict({"k": 1, "quasi": quasi})):
    ...     print(problem)
    'age': 2 rows are coarser than its `coarsest` allows.
    'zip': 1 row is coarser than its `coarsest` allows.
    'zip': 1 row is finer than its `finest` allows.
    """
    return list(limit_sentences(count_beyond_limits(source, schema)))


def count_beyond_limits(source: Source, schema: Schema) -> Counter[tuple[str, str]]:
    """How many rows are beyond each limit of each column; those of several files add up.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric", "coarsest": 20}}})
    >>> count_beyond_limits(Source.of(pl.DataFrame({"age": ["[20, 45]", "[20, 40]", "*"]})), schema)
    Counter({('age', 'coarsest'): 2})
    """
    found: Counter[tuple[str, str]] = Counter()
    for quasi in schema.quasi:
        if quasi.coarsest is not None or quasi.finest is not None:
            for key, count in zip(("coarsest", "finest"), _beyond(source, quasi, schema), strict=True):
                found += Counter({(quasi.column, key): count})
    return found


def limit_sentences(beyond: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """A sentence for each limit that some rows are beyond."""
    for (column, key), count in beyond.items():
        rows = "1 row is" if count == 1 else f"{count} rows are"
        yield f"'{column}': {rows} {'coarser' if key == 'coarsest' else 'finer'} than its `{key}` allows."


def _beyond(source: Source, quasi: Quasi, schema: Schema) -> tuple[int, int]:
    """How many rows are too coarse, and too fine."""
    if quasi.publish == "bounds":
        return _too_wide_bounds(source, quasi, schema), 0
    found = factored_column(source.column(quasi.column))
    form, names = ReleasedForm.of(found.values, quasi, schema), names_of(found.values)
    counts = found.counts.tolist()  # a missing value is neither
    judge = _judge_of(quasi, form)
    told = [judge(name) for name in names]
    coarse = sum(count for (is_coarse, _), count in zip(told, counts, strict=True) if is_coarse)
    return coarse, sum(count for (_, is_fine), count in zip(told, counts, strict=True) if is_fine)


def _judge_of(quasi: Quasi, form: ReleasedForm) -> Callable[[str], tuple[bool, bool]]:
    """Says of a released text whether it is too coarse, and whether it is too fine."""
    if quasi.kind in ("numeric", "date"):
        dates = quasi.kind == "date"
        return lambda name: (name == HIDDEN or not _is_narrow(read_span(name, dates, form), quasi), False)
    if quasi.kind == "text":
        return lambda name: _judge_text(name, quasi)
    levels_of, is_allowed = _levels_of(quasi.hierarchy, form), _allowed_by(quasi)

    def judge(name: str) -> tuple[bool, bool]:
        levels = levels_of(name)
        is_fine = quasi.finest is not None and all(above < quasi.finest for _, above in levels)
        return quasi.coarsest is not None and not is_allowed(name, levels), is_fine

    return judge


def _judge_text(name: str, quasi: Quasi) -> tuple[bool, bool]:
    shown = len(name.rstrip(HIDDEN))
    is_coarse = quasi.coarsest is not None and shown < len(name) and shown < int(quasi.coarsest)
    return is_coarse, quasi.finest is not None and shown > quasi.finest


def _is_narrow(span: Span | None, quasi: Quasi) -> bool:
    """Whether an interval is within `coarsest`; an open end counts as where it begins."""
    if quasi.coarsest is None:
        return True
    if span is None:
        return False
    low, high = (span.low if span.low is not None else span.below), (span.high if span.high is not None else span.above)
    low, high = (low if low is not None else high), (high if high is not None else low)
    if low is None or high is None:
        return False
    if quasi.kind == "numeric":
        assert not isinstance(quasi.coarsest, str)
        return high - low <= fraction_of(quasi.coarsest)
    return _period(low, quasi) == _period(high, quasi)


def _period(day: Fraction, quasi: Quasi) -> int:
    """The first day of the day, month, quarter or year that a day lies in."""
    period = str(quasi.coarsest)
    return int(day) if period == "day" else int(period_ends(int(day), period)[0])


def _too_wide_bounds(source: Source, quasi: Quasi, schema: Schema) -> int:
    """How many rows have bounds that are too far apart; one that is missing is where the tail begins."""
    columns = [factored_column(source.column(name)) for name in quasi.released]
    at, which, counts = count_pairs(columns[0], columns[1])
    limits, ends = limits_of(quasi), []
    for column, limit in zip(columns, limits, strict=True):
        form = ReleasedForm.of(column.values, quasi, schema)
        spans = [
            None if name == HIDDEN else read_span(name, quasi.kind == "date", form) for name in names_of(column.values)
        ]
        ends.append([*(None if span is None or not span.is_single else span.low for span in spans), limit])
    found = 0
    for one, other, count in zip(at.tolist(), which.tolist(), counts.tolist(), strict=True):
        if one == other == -1:  # a missing value
            continue
        low, high = ends[0][one], ends[1][other]
        known = low is not None and high is not None
        found += 0 if known and _is_narrow(Span(low, high), quasi) else count
    return found


def _allowed_by(quasi: Quasi) -> Callable[[str, Levels], bool]:
    """Says of a label whether it may be released: at a level up to `coarsest`, or not above the label that it is."""
    coarsest, tree = quasi.coarsest, quasi.hierarchy
    if not isinstance(coarsest, str) or not isinstance(tree, Hierarchy):
        return lambda _name, levels: any(height <= int(coarsest or 0) for height, _ in levels)
    above: set[int] = set()
    for node in (place for place, label in enumerate(tree.labels) if label == coarsest):
        parent = int(tree.parents[node])
        while parent >= 0:
            above.add(parent)
            parent = int(tree.parents[parent])
    allowed = {label for place, label in enumerate(tree.labels) if place not in above}
    return lambda name, _levels: name in allowed or (name == HIDDEN and 0 not in above)


def _levels_of(hierarchy: Hierarchy | Builder | None, form: ReleasedForm) -> Callable[[str], Levels]:
    """Gives the levels at which a label stands; none where it is no label. A star is the root."""
    if isinstance(hierarchy, Hierarchy):
        return _in_tree(hierarchy, form)
    if isinstance(hierarchy, Prefixes):
        return lambda name: _between(_prefix_levels(name, hierarchy), len(hierarchy.lengths) + 1)
    if isinstance(hierarchy, Dates):
        return lambda name: _between(_period_levels(name, hierarchy, form), len(hierarchy.levels) + 1)
    if isinstance(hierarchy, Intervals):
        return lambda name: _between(_interval_levels(name, hierarchy, form), len(hierarchy.widths) + 1)
    return lambda name: _between([] if name == HIDDEN else [0], 1, name)


def _in_tree(tree: Hierarchy, form: ReleasedForm) -> Callable[[str], Levels]:
    heights = [0] * len(tree.labels)  # the longest way down; a parent stands before its children
    parents = tree.parents.tolist()
    for node in range(len(heights) - 1, 0, -1):
        heights[parents[node]] = max(heights[parents[node]], heights[node] + 1)
    known: dict[str, Levels] = {}
    for node, label in enumerate(tree.labels):
        known.setdefault(label, set()).add((heights[node], ROOT if node == 0 else heights[parents[node]] - 1))
    known.setdefault(HIDDEN, set()).add((heights[0], ROOT))

    def levels(name: str) -> Levels:
        if name not in known and form.mark != "." and form.number(name) is not None:
            return known.get(name.replace(form.mark, "."), set())
        return known.get(name, set())

    return levels


def _between(levels: list[int], top: int, name: str = "") -> Levels:
    """Nodes of a tree all of whose leaves have the same depth: the parent of each is one higher."""
    return {(top, ROOT)} if name == HIDDEN or levels == [top] else {(level, level) for level in levels}


def _prefix_levels(name: str, builder: Prefixes) -> list[int]:
    """The level of the shortest declared length that a beginning has or is below; all up to it if nothing is hidden."""
    if name == HIDDEN:
        return [len(builder.lengths) + 1]
    shown = len(name.rstrip(HIDDEN))
    highest = sum(length >= shown for length in builder.lengths)
    return [highest] if shown < len(name) else list(range(highest + 1))


def _period_levels(name: str, builder: Dates, form: ReleasedForm) -> list[int]:
    if name == HIDDEN:
        return [len(builder.levels) + 1]
    if form.format is not None and form.day(name) is not None:
        return [0]
    match = PERIOD.fullmatch(name)
    if match is None:
        return []
    period = "day" if match[4] else "month" if match[3] else "quarter" if match[2] else "year"
    return [0] if period == "day" else [place + 1 for place, each in enumerate(builder.levels) if each == period]


def _interval_levels(name: str, builder: Intervals, form: ReleasedForm) -> list[int]:
    if name == HIDDEN:
        return [len(builder.widths) + 1]
    ends = half_open(name, form)
    if ends is None:
        return [] if form.number(name) is None else [0]
    widths = [fraction_of(width) for width in builder.widths]
    return [place + 1 for place, width in enumerate(widths) if width == ends[1] - ends[0]]
