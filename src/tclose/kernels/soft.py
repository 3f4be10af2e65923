"""How far a class is from what is asked, in floats, and which values would bring it nearer.

Only for searching: whether a class is accepted, `closeness` decides in integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Soft(NamedTuple):
    """All attributes side by side: values numbered through, each distance a tree over runs of them."""

    edges: Integers  # of each edge the first value on its far side, the one after the last, and the attribute
    weights: Floats  # of each edge, over the attribute's denominator and t: so that 1 is just close enough
    shares: Floats  # of the reference on each edge's far side
    n_values: int


class Gauge(NamedTuple):
    """What `measure` finds, and room for it."""

    below: Integers  # rows up to each value
    potentials: Floats  # of each value: how fast a row of it drives the class away
    ratios: Floats  # of each attribute: distance over t


@inner
def measure(soft: Soft, counts: Integers, size: int, gauge: Gauge) -> float:
    """The largest distance over t: sum over edges of w |c(e) / s - P(e)|.

    One row more on the far side of an edge adds w sign(c(e) / s - P(e)) / s, and a value has all
    edges around it: the signs, summed up along the values, are their potentials.
    """
    edges, weights, shares = soft.edges, soft.weights, soft.shares
    below, potentials, ratios = gauge.below, gauge.potentials, gauge.ratios
    for value in range(soft.n_values):
        below[value + 1] = below[value] + counts[value]
        potentials[value] = 0.0
    for attribute in range(len(ratios)):
        ratios[attribute] = 0.0
    for edge in range(len(weights)):
        low, high = edges[edge, 0], edges[edge, 1]
        surplus = (below[high] - below[low]) / size - shares[edge]
        weight = weights[edge]
        ratios[edges[edge, 2]] += weight * abs(surplus)
        step = weight if surplus > 1e-12 else -weight if surplus < -1e-12 else 0.0
        potentials[low] += step
        potentials[high] -= step
    worst, running = 0.0, 0.0
    for value in range(soft.n_values):
        running += potentials[value]
        potentials[value] = running
    potentials[soft.n_values] = 0.0
    for attribute in range(len(ratios)):
        worst = max(worst, ratios[attribute])
    return worst
