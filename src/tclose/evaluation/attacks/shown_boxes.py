"""What a release shows of each class: on every axis a stretch of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.table.axes import Axis, SpanAxis
from tclose.table.encode import EncodedTable

Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Boxes:
    """One box a class.

    Attributes
    ----------
    lows, highs
        For each class and axis, the first and last place that looks like the class.
    """

    lows: Places
    highs: Places

    @classmethod
    def of(cls, table: EncodedTable, labels: NDArray[np.int64]) -> Boxes:
        """The boxes of classes 0, 1, 2, ...

        A class is shown by an interval or by the lowest common ancestor, which other places may fit too.
        """
        spans = table.spans(labels, int(labels.max()) + 1)
        shown = [show(axis, low, high) for axis, (low, high) in zip(table.axes, spans, strict=True)]
        lows, highs = zip(*shown, strict=True)
        return cls(np.ascontiguousarray(np.stack(lows, axis=1)), np.ascontiguousarray(np.stack(highs, axis=1)))


def show(axis: Axis, low: Places, high: Places) -> tuple[Places, Places]:
    """All places that fit what is released for each span: anything fits one that mixes missing with other values."""
    last = axis.size - axis.missing
    inner = high < last
    first, final = np.where(low == high, low, 0), np.where(low == high, high, axis.size - 1)
    first[inner], final[inner] = _fitting(axis, low[inner], high[inner])
    return first.astype(np.int32), final.astype(np.int32)


def shown_classes(table: EncodedTable, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each row as a release shows it: classes of the same box are one; numbered by their boxes."""
    boxes = Boxes.of(table, labels)
    corners = np.concatenate([boxes.lows, boxes.highs], axis=1)
    numbers: NDArray[np.int64] = np.unique(corners, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return numbers[labels]


def _fitting(axis: Axis, low: Places, high: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(axis, SpanAxis):
        # Values that are released alike, by `step` or in a tail, stand together.
        starts, stops = _runs(axis.low_labels), _runs(axis.high_labels)
        first = starts[np.searchsorted(starts, low, side="right") - 1]
        return first, np.append(stops[1:], len(axis.highs))[np.searchsorted(stops, high, side="right") - 1] - 1
    node = axis.cover(low, high)
    first, last = axis.below
    return first[node], last[node]


def _runs(labels: NDArray[np.object_]) -> NDArray[np.int64]:
    """Where each run of equal labels begins."""
    return np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
