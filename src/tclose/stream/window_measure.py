"""Classes measured against their window by the verifier: exact distances, and how diverse each class is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, fsum, log
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity, Sensitive
from tclose.schema.schema import Schema
from tclose.verification.belief_rises import RiseSearch
from tclose.verification.class_diversity import DiversitySearch
from tclose.verification.class_work import ClassWork
from tclose.verification.measure_release import join, work_under
from tclose.verification.released_classes import ClassCounts, Grouping, count_values
from tclose.verification.sensitive_domains import PlacedValues, place_values

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class WindowMeasure:
    """What classes of a window reach.

    Attributes
    ----------
    distances
        Of each sensitive attribute with a t and each joint, how far each class is from the window.
    diversity
        Of each sensitive attribute, how diverse each class is.
    not_diverse
        Of each attribute of which an l is asked, the kinds of diversity that a class lacks.
    above_caps
        Of each attribute with caps on belief, those that the share of a value in a class is above.
    """

    distances: dict[str, list[Fraction]] = field(default_factory=dict)
    diversity: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    not_diverse: dict[str, list[str]] = field(default_factory=dict)
    above_caps: dict[str, list[str]] = field(default_factory=dict)


def measure_window(
    window: pl.DataFrame, rows: Integers, classes: Integers, schema: Schema, told: bool = True
) -> WindowMeasure:
    """Measure classes that are a part of a window against all of it.

    Parameters
    ----------
    window
        The rows of the window as they came in.
    rows, classes
        Those of them that are in a class, by their places in the window, and the class of each, from 0 up.
    schema
        How values are read, and what is asked.
    told
        Whether it is also measured what certificates tell of diversity.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "text"}},
    ...     "sensitive": {"ill": {"distance": "equal", "t": 1}}})
    >>> window = pl.DataFrame({"ill": ["flu", "flu", "cold", "cold"]})
    >>> measure_window(window, np.array([0, 2, 3]), np.array([0, 1, 1]), schema).distances
    {'ill': [Fraction(1, 2), Fraction(1, 2)]}
    """
    found = WindowMeasure()
    groups = Grouping(classes, np.bincount(classes))
    placed: dict[str, PlacedValues] = {}
    for sensitive in schema.sensitive:
        name = sensitive.column
        placed[name] = place_values(window[name], sensitive, schema)
        blocks = list(count_values(groups, placed[name].codes[rows], placed[name].ground.size))
        if sensitive.t is not None:
            found.distances[name] = _distances(blocks, work_under(placed[name]))
        if told:
            found.diversity[name] = [each for block in blocks for each in _diversity(block, sensitive)]
        if sensitive.l is not None:
            found.not_diverse[name] = _lacking(blocks, sensitive.l)
        if sensitive.caps is not None:
            found.above_caps[name] = _above(blocks, sensitive.caps, placed[name])
    for joint in schema.joint:
        joined = join(joint, placed)
        blocks = list(count_values(groups, joined.codes[rows], joined.ground.size))
        found.distances[joint.name] = _distances(blocks, work_under(joined))
    return found


def _distances(blocks: list[ClassCounts], work: ClassWork) -> list[Fraction]:
    """The distance of each class; those without a closed form are solved, equal ones once."""
    found: list[Fraction] = []
    known: dict[tuple[int, bytes, bytes], Fraction] = {}
    for block in blocks:
        moved, sizes = work.work(block), block.sizes.tolist()
        if moved is not None:
            found += [Fraction(int(each), size * work.unit) for each, size in zip(moved, sizes, strict=True)]
            continue
        for place, size in enumerate(sizes):
            codes, counts = block.of(place)
            key = (size, codes.tobytes(), counts.tobytes())
            if key not in known:
                known[key] = work.exact(size, codes, counts)
            found.append(known[key])
    return found


def _diversity(block: ClassCounts, sensitive: Sensitive) -> Iterator[dict[str, Any]]:
    """What a certificate tells of the diversity of each class, from the definitions."""
    counts, stops = block.counts.tolist(), np.append(block.starts[1:], len(block.counts)).tolist()
    for start, stop, rows in zip(block.starts.tolist(), stops, block.sizes.tolist(), strict=True):
        falling = sorted(counts[start:stop], reverse=True)
        told: dict[str, Any] = {
            "distinct": len(falling),
            "entropy": exp(max(log(rows) - fsum(count * log(count) for count in falling) / rows, 0.0)),
            "frequency": rows / falling[0],
        }
        if sensitive.l is not None and sensitive.l.recursive is not None:
            first = sensitive.l.recursive[1]
            tail = sum(falling[first - 1 :])
            told["recursive"] = {"l": first, "c_above": falling[0] / tail if tail else None}
        yield told


def _lacking(blocks: list[ClassCounts], asked: Diversity) -> list[str]:
    search = DiversitySearch(asked)
    for block in blocks:
        search.look(block)
    return [kind for kind, met in search.result().meets.items() if not met]


def _above(blocks: list[ClassCounts], asked: BeliefCaps, placed: PlacedValues) -> list[str]:
    """The caps that some class breaks, its shares compared with those of the window."""
    reference = np.bincount(placed.codes, minlength=placed.ground.size).astype(np.int64)
    search = RiseSearch.of(asked, placed.ground, reference)
    for block in blocks:
        search.look(block)
    return [kind for kind, met in search.result().meets.items() if not met]
