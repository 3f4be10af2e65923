"""How far a class is from what is asked, in floats, and which values would bring it nearer.

Only for searching: whether a class is accepted, `closeness` decides in integers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner, once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NEAR_CAP = 0.9  # of what a cap allows: from there on its value repels
DISTINCT, ENTROPY, ROOM = range(3)  # columns of `diverse`


class Soft(NamedTuple):
    """All attributes side by side: values numbered through, each distance a tree over runs of them."""

    edges: Integers  # of each edge the first value on its far side, the one after the last, and the attribute
    weights: Floats  # of each edge, over the attribute's denominator and t: so that 1 is just close enough
    shares: Floats  # of the reference on each edge's far side
    n_values: int
    values: Floats  # the share of each in the reference
    caps: Integers  # of each run of values that is capped the first, the one after the last, and the attribute
    tops: Floats  # of each: its share of the reference, and how far above that it may be
    firsts: Integers  # of each attribute its first value, and at the end the one after the last
    diverse: (
        Floats  # of each attribute: distinct values asked, log l of the entropy (-1: none), and the reference's less it
    )
    base: Floats  # of each attribute: what its distance is at least, by edges that are left out


class Gauge(NamedTuple):
    """What `measure` finds, and room for it."""

    below: Integers  # rows up to each value
    potentials: Floats  # of each value: how fast a row of it drives the class away
    ratios: Floats  # of each attribute: distance over t, or how near it is to what else is asked; 1 is just enough


@once
def measure_caps(soft: Soft, size: int, gauge: Gauge) -> None:
    """How much of its cap each run uses, (c / s - p) / (q - p): 0 as in the reference, 1 at the cap q.

    One row more of the run adds (1 - c / s) / (q - p) / s to that, and any other row takes (c / s) / (q - p) / s off.
    """
    below, potentials, ratios = gauge.below, gauge.potentials, gauge.ratios
    for run in range(len(soft.caps)):
        low, high, attribute = soft.caps[run, 0], soft.caps[run, 1], soft.caps[run, 2]
        share = (below[high] - below[low]) / size
        ratio = (share - soft.tops[run, 0]) / soft.tops[run, 1]
        ratios[attribute] = max(ratios[attribute], ratio)
        if ratio > NEAR_CAP:
            step = 1.0 / soft.tops[run, 1]
            potentials[low] += step
            potentials[high] -= step
            potentials[soft.firsts[attribute]] -= step * share
            potentials[soft.firsts[attribute + 1]] += step * share


@once
def measure_diversity(soft: Soft, counts: Integers, size: int, gauge: Gauge) -> None:
    """How far an attribute is from its distinct values or its entropy H.

    Lacking values make the ratio 1 more for each, over those asked: whoever brings one, or is the only row of
    one, is welcome. The entropy counts as (H' - H) / (H' - log l) with H' that of the reference, and a row of a
    value of share q changes it by (log q + H) / (H' - log l) / s.
    """
    potentials, ratios, diverse = gauge.potentials, gauge.ratios, soft.diverse
    for attribute in range(len(diverse)):
        least, bound = diverse[attribute, DISTINCT], diverse[attribute, ENTROPY]
        if least == 0.0 and bound < 0.0:
            continue
        first, last, distinct, spread = soft.firsts[attribute], soft.firsts[attribute + 1], 0, 0.0
        for value in range(first, last):
            if counts[value] > 0:
                distinct += 1
                spread += counts[value] * math.log(counts[value])
        if distinct < least:
            ratios[attribute] = max(ratios[attribute], 1.0 + (least - distinct) / least)
        if distinct <= least:
            for value in range(first, last):
                potentials[value] -= size / least if counts[value] < 2 else 0.0
        entropy = math.log(size) - spread / size
        missing = (bound + diverse[attribute, ROOM] - entropy) / diverse[attribute, ROOM] if bound >= 0.0 else 0.0
        ratios[attribute] = max(ratios[attribute], missing)
        if missing > NEAR_CAP:
            for value in range(first, last):
                share = max(counts[value], 0.5) / size
                potentials[value] += (math.log(share) + entropy) / diverse[attribute, ROOM]


@inner
def measure(soft: Soft, counts: Integers, size: int, gauge: Gauge) -> float:
    """The largest distance over t: sum over edges of w |c(e) / s - P(e)|; or what else is asked, where that is worse.

    One row more on the far side of an edge adds w sign(c(e) / s - P(e)) / s, and a value has all
    edges around it: the signs, summed up along the values, are their potentials.
    """
    edges, weights, shares = soft.edges, soft.weights, soft.shares
    below, potentials, ratios = gauge.below, gauge.potentials, gauge.ratios
    for value in range(soft.n_values):
        below[value + 1] = below[value] + counts[value]
        potentials[value] = 0.0
    for attribute in range(len(soft.base)):  # where nothing is sensitive there is none, and a ratio that stays 0
        ratios[attribute] = soft.base[attribute]
    for edge in range(len(weights)):
        low, high = edges[edge, 0], edges[edge, 1]
        surplus = (below[high] - below[low]) / size - shares[edge]
        weight = weights[edge]
        ratios[edges[edge, 2]] += weight * abs(surplus)
        step = weight if surplus > 1e-12 else -weight if surplus < -1e-12 else 0.0
        potentials[low] += step
        potentials[high] -= step
    measure_caps(soft, size, gauge)
    worst, running = 0.0, 0.0
    for value in range(soft.n_values):
        running += potentials[value]
        potentials[value] = running
    potentials[soft.n_values] = 0.0
    measure_diversity(soft, counts, size, gauge)
    for attribute in range(len(ratios)):
        worst = max(worst, ratios[attribute])
    return worst
