"""What is asked, so that kernels decide it alone: nothing looser, and at most a trifle stricter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.packing import LARGEST
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.algorithms.shared.buckets import join_values
from tclose.algorithms.shared.steering import capped_runs, diversity_terms
from tclose.distances import Line, Transport, Tree
from tclose.schema.columns import Diversity

if TYPE_CHECKING:
    from tclose.kernels.soft import Soft

Integers = NDArray[np.int64]
MOST_VALUES = 256  # of an attribute while searching: neighbouring ones are taken together
LONGEST = 10**18  # rows times rows times denominator of a matrix or a joint
SIZES_DRAWN = np.repeat([6, 12, 25, 50], 8)  # of random classes on which the tree of a matrix or a joint is measured
STEP = 10**6  # fractions too long for the kernels are rounded to such parts, to the strict side


def decidable(requirement: Requirement) -> Requirement:
    """The requirement without what kernels would have to ask about.

    Long fractions are rounded to the strict side, and so are the distances of a matrix or a joint.
    """
    return replace(requirement, attributes=tuple(_decidable(each, requirement.n) for each in requirement.attributes))


def _decidable(attribute: Attribute, n: int) -> Attribute:
    t, domain = attribute.t, attribute.domain
    if isinstance(domain.form, Transport):
        domain = replace(domain, form=domain.form.coarser(max(LONGEST // n**2, 1)))
    t = None if t is None else _short(t, math.floor)
    asked = attribute.l
    if asked is not None:
        frequency = None if asked.frequency is None else _short(asked.frequency, math.ceil)
        factor, place = asked.recursive or (None, 0)
        recursive = None if factor is None else (min(_short(factor, math.floor), Fraction(LARGEST)), place)
        asked = Diversity(asked.distinct, asked.entropy, frequency, recursive)
    return replace(attribute, domain=domain, t=t, l=asked)


def _short(number: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """A fraction that kernels can take, rounded to the strict side where it is too long."""
    if max(number.as_integer_ratio()) <= LARGEST:
        return number
    step = STEP if number < 1000 else 1
    return Fraction(rounded(number * step), step)


def _joined(form: Transport) -> Tree:
    """The tree of complete linkage over all values: the reference may lack some that the table has."""
    nodes = join_values(form, np.ones(form.size, np.int64))
    depths = np.zeros(len(nodes.parents), np.int64)
    for node in range(1, len(depths)):
        depths[node] = depths[nodes.parents[node]] + 1
    paths = np.full((form.size, max(int(depths.max()), 1)), -1, np.int32)
    for leaf in np.flatnonzero(nodes.values >= 0):
        node, place = int(leaf), 0
        while node > 0:
            paths[nodes.values[leaf], place] = node
            node, place = int(nodes.parents[node]), place + 1
    weights = np.where(nodes.parents < 0, 0, nodes.heights[nodes.parents] - nodes.heights)
    return Tree(paths, nodes.parents.astype(np.int32), weights, 2 * nodes.height)


@dataclass(frozen=True, eq=False)
class Softened:
    """All attributes as `kernels.soft` takes them.

    Attributes
    ----------
    soft
        For the kernels.
    values
        For each attribute the value, numbered through all of them, of each code.
    """

    soft: Soft
    values: tuple[NDArray[np.int32], ...]


def soften(requirement: Requirement, watch: Watch | None = None, most_leaves: int = MOST_VALUES) -> Softened:
    """Lay the attributes side by side; when the time is over, the others as if all their values were one.

    Values on a line are taken together into `MOST_VALUES` bins of about as many rows, which moves none of them far;
    those of a tree only above `most_leaves`.
    """
    from tclose.kernels.soft import Soft

    edges, weights, shares, values = [np.zeros((0, 3), np.int64)], [np.zeros(0)], [np.zeros(0)], []
    caps, tops, firsts = [np.zeros((0, 3), np.int64)], [np.zeros((0, 2))], [0]
    n_values, of_values, diverse = 0, [np.zeros(0)], np.zeros((len(requirement.attributes), 3))
    for number, attribute in enumerate(requirement.attributes):
        over = (watch is not None and watch.stop) or attribute.domain.of_persons  # a search looks at values alone
        of_code, low, high, weight = _no_runs(attribute) if over else _runs(attribute, most_leaves)
        rows = np.bincount(of_code, weights=attribute.reference, minlength=int(of_code.max(initial=0)) + 1)
        below = np.concatenate([[0.0], np.cumsum(rows)]) / max(requirement.n, 1)
        if attribute.t is not None:
            edges.append(np.stack([low + n_values, high + n_values, np.full(len(low), number)], axis=1))
            weights.append(weight / max(float(attribute.t), 1e-9))
            shares.append(below[high] - below[low])
        ends, top = capped_runs(attribute, of_code)
        caps.append(np.column_stack([ends + n_values, np.full(len(ends), number)]))
        tops.append(top)
        diverse[number] = diversity_terms(attribute, rows, len(rows) == len(of_code))
        values.append((of_code + n_values).astype(np.int32))
        of_values.append(rows / max(requirement.n, 1))
        n_values += len(rows)
        firsts.append(n_values)
    soft = Soft(
        edges=np.concatenate(edges),
        weights=np.concatenate(weights),
        shares=np.concatenate(shares),
        n_values=n_values,
        values=np.concatenate(of_values),
        caps=np.concatenate(caps),
        tops=np.concatenate(tops),
        firsts=np.array(firsts),
        diverse=diverse,
        base=np.zeros(len(requirement.attributes)),
    )
    return Softened(soft, tuple(values))


def _runs(attribute: Attribute, most: int) -> tuple[Integers, Integers, Integers, NDArray[np.float64]]:
    """The value of each code, and the edges of the distance: first value, the one after the last, and weight."""
    form, reference = attribute.domain.form, attribute.reference
    if isinstance(form, Line):
        of_code = _binned(reference) if form.size > MOST_VALUES else np.arange(form.size)
        rows = np.maximum(reference, 1e-9)  # values without rows have a position too
        middles = np.bincount(of_code, weights=form.positions * rows) / np.bincount(of_code, weights=rows)
        high = np.arange(1, len(middles))
        return of_code, np.zeros_like(high), high, np.diff(middles) / form.span
    if isinstance(form, Transport):
        return _transport_runs(form, reference, most)
    assert isinstance(form, Tree)
    return _tree_runs(form, reference, most)


def _no_runs(attribute: Attribute) -> tuple[Integers, Integers, Integers, NDArray[np.float64]]:
    """One value, and no edges: nothing guides the search, and what is allowed is decided elsewhere."""
    none = np.zeros(0, np.int64)
    return np.zeros(attribute.domain.size, np.int64), none, none, np.zeros(0)


def _transport_runs(
    form: Transport, reference: Integers, most: int
) -> tuple[Integers, Integers, Integers, NDArray[np.float64]]:
    """Those of the tree that is never nearer, as much shorter as it is too far for classes drawn at random."""
    tree, rng = _joined(form), np.random.default_rng(0)
    of_code, low, high, weights = _tree_runs(tree, reference, most)
    drawn = [rng.multinomial(size, reference / reference.sum()) for size in SIZES_DRAWN]
    far = sum(float(form.distance(counts, reference)) for counts in drawn)
    along = 0.0
    for counts in drawn:
        surplus = np.bincount(of_code, weights=counts / counts.sum() - reference / reference.sum())
        before = np.concatenate([[0.0], np.cumsum(surplus)])
        along += float((weights * abs(before[high] - before[low])).sum())
    return of_code, low, high, weights * (far / along if along else 1.0)


def _binned(reference: Integers) -> Integers:
    """Neighbouring codes together, so that all bins have about as many rows."""
    share = (np.cumsum(reference) - reference / 2) / max(int(reference.sum()), 1)
    return np.unique(np.minimum((share * MOST_VALUES).astype(np.int64), MOST_VALUES - 1), return_inverse=True)[1]


def _tree_runs(tree: Tree, reference: Integers, most: int) -> tuple[Integers, Integers, Integers, NDArray[np.float64]]:
    """Leaves in the order of nodes, so that each node's are a run; too many are cut off at a level."""
    depth = tree.paths.shape[1]
    lengths = (tree.paths >= 0).sum(axis=1)
    level = depth
    while level > 1 and len(np.unique(_ancestors(tree, lengths, level))) > most:
        level -= 1
    nodes = _ancestors(tree, lengths, level)
    found, of_code = np.unique(nodes, return_inverse=True)
    if len(found) > most:  # even the highest are too many: the rarest become one
        rows = np.bincount(of_code, weights=reference)
        rank = np.empty(len(found), np.int64)
        rank[np.argsort(-rows, kind="stable")] = np.arange(len(found))
        of_code = np.minimum(rank, most - 1)[of_code]
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    weights: dict[int, int] = {}
    for code, value in enumerate(of_code.tolist()):
        for above in range(1, min(level, int(lengths[code])) + 1):
            place = int(lengths[code]) - above
            node = int(tree.paths[code, place])
            low[node], high[node] = min(low.get(node, value), value), max(high.get(node, value), value)
            # One that is cut off is a leaf now, as high as a leaf: its weight reaches down to there.
            below = 0 if above == level else place
            weights[node] = int(tree.weights[tree.paths[code, below : place + 1]].sum())
    kept = [node for node in low if weights[node] > 0]
    ends = np.array([(low[node], high[node] + 1) for node in kept], np.int64).reshape(-1, 2)
    distinct = np.unique(ends, axis=0, return_index=True)[1] if len(found) > most else np.arange(len(kept))
    shares = np.array([weights[node] for node in kept])[distinct] / tree.denominator if kept else np.zeros(0)
    return of_code, ends[distinct, 0], ends[distinct, 1], shares


def _ancestors(tree: Tree, lengths: Integers, level: int) -> Integers:
    """Of each leaf the node `level` steps below the root, or itself."""
    place = np.maximum(lengths - level, 0)
    return tree.paths[np.arange(len(lengths)), place].astype(np.int64)
