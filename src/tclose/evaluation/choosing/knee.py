"""The knee of a curve of loss or error over t."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tclose.evaluation.choosing.trials import Trial

MARGIN = 0.05  # how far, both axes being of length 1, a knee must lie below the chord
LEAST_FALL = 0.01  # of a curve that is worth looking at
CurveName = Literal["loss", "queries"]


def height(run: Trial, by: CurveName) -> float:
    """Of the curve, at this run."""
    return run.loss if by == "loss" else run.query_error or 0.0


def find_knee(points: Sequence[tuple[float, float]]) -> tuple[int | None, float]:
    """Where a falling curve lies farthest below the straight line between its ends, and how far.

    Both axes are scaled to length 1 between the ends. Before the knee the curve falls faster than on
    average, after it more slowly. There is none if the curve hardly falls (`LEAST_FALL`), or if
    it is nowhere below the line by `MARGIN`. The idea is that of Satopää et al.: Finding a
    "Kneedle" in a haystack (2011), without its smoothing.

    Examples
    --------
    >>> find_knee([(0.0, 1.0), (0.1, 0.2), (0.5, 0.1), (1.0, 0.0)])
    (1, 0.7)
    >>> find_knee([(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)])
    (None, 0.0)
    """
    (first, high), (last, low) = points[0], points[-1]
    if high - low < LEAST_FALL:
        return None, 0.0
    depths = [1 - (x - first) / (last - first) - (y - low) / (high - low) for x, y in points]
    depth = max(depths)
    return (depths.index(depth) if depth >= MARGIN else None), round(depth, 12)
