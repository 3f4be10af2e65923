"""Fragmentation: boxes of sensitive values, so that a class with each box's share is close (000 sections 2.5, 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.fragments.space import OnLine, OnTree, SensitiveSpace

Integers = NDArray[np.int64]
BUDGET = 20_000_000  # visits of cells between two looks at the clock, about 0.1 s
ROOM = 64  # fragments at first
ENDS = 2  # the same where fewer fragments may be enough: then they are looked at whenever they have doubled


@dataclass(frozen=True, eq=False)
class Fragmentation:
    """Boxes that hold all cells; those that hold none are left out.

    Attributes
    ----------
    space
        What is cut.
    of_cell
        The fragment of each cell.
    boxes
        At [fragment, side, attribute]: its lowest and its highest place.
    is_strict
        Whether bounds are normalized inside each fragment, as printed, and not over the domain.
    n_fragments
        How many fragments there are, also those without cells.
    """

    space: SensitiveSpace
    of_cell: NDArray[np.int32]
    boxes: NDArray[np.int32]
    is_strict: bool
    n_fragments: int

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def counts(self) -> Integers:
        """The rows of each fragment."""
        return np.bincount(self.of_cell, self.space.counts, len(self)).astype(np.int64)

    def works(self, attribute: int) -> Integers:
        """The largest work that turns rows at one value into those of the fragment, in rows times units.

        The work is convex in the distribution that is turned, so it is largest for rows of a
        single value, and on a line for those of one of the two ends (000 theorem 10).
        """
        scale, places = self.space.scales[attribute], self.space.places[:, attribute]
        if isinstance(scale, OnTree):
            return _works_on_tree(scale, places, self)
        moments = np.zeros(len(self), np.int64)
        np.add.at(moments, self.of_cell, self.space.counts * scale.positions[places])
        low, high = scale.positions[self.boxes[:, :, attribute]].T
        works: Integers = np.maximum(moments - low * self.counts, high * self.counts - moments)
        return works

    def bound(self, attribute: int) -> Fraction:
        """What a class with each fragment's share may be away from the table in an attribute, whatever rows it takes.

        As printed (definition 19) the sum over fragments of Delta, which is over the length of
        the fragment. Over the length of the domain it holds as well, and is never larger: let q
        be a class with p_f of its rows in fragment f, as the table has. Turning the rows of each
        fragment by themselves turns q into the table, so the distance is at most the sum of the
        works of all fragments, each over the one length that all distances are measured by.
        """
        scale, works = self.space.scales[attribute], self.works(attribute)
        if not self.is_strict:
            return Fraction(int(works.sum()), self.space.n_rows * scale.unit)
        assert isinstance(scale, OnLine)
        low, high = scale.positions[self.boxes[:, :, attribute]].T
        lengths, which = np.unique(high - low, return_inverse=True)
        sums = np.zeros(len(lengths), np.int64)
        np.add.at(sums, which, works)
        each = (Fraction(int(work), int(length)) for work, length in zip(sums, lengths, strict=True) if length)
        return sum(each, Fraction(0)) / self.space.n_rows

    @property
    def bounds(self) -> tuple[Fraction, ...]:
        """Those of all attributes."""
        return tuple(self.bound(attribute) for attribute in range(len(self.space.scales)))


def _works_on_tree(scale: OnTree, places: NDArray[np.int32], fragmentation: Fragmentation) -> Integers:
    """From a leaf, what lies below a node but not below its child on the way is as far as the node is high."""
    pair, of_cell = np.unique(fragmentation.of_cell * np.int64(len(scale.paths)) + places, return_inverse=True)
    counts = np.bincount(of_cell, fragmentation.space.counts).astype(np.int64)
    fragment, place = pair // len(scale.paths), pair % len(scale.paths)
    nodes = scale.paths[place].astype(np.int64)
    known = nodes >= 0
    of_node = np.unique(np.where(known, fragment[:, None] * len(scale.heights) + nodes, -1), return_inverse=True)[1]
    of_node = of_node.reshape(nodes.shape)
    inside = np.zeros(int(of_node.max()) + 1, np.int64)
    np.add.at(inside, of_node, np.where(known, counts[:, None], 0))
    heights = np.where(known, scale.heights[nodes], 0)[:, 1:]
    work = (heights * np.diff(inside[of_node], axis=1)).sum(axis=1)
    largest = np.zeros(len(fragmentation), np.int64)
    np.maximum.at(largest, fragment, work)
    return largest


def fragment(
    space: SensitiveSpace,
    targets: Sequence[Fraction],
    control: Control,
    *,
    strict: bool = False,
    weights: Sequence[float] | None = None,
    most: int | None = None,
    is_enough: Callable[[Integers], bool] | None = None,
) -> Fragmentation | None:
    """Function FIND-FRAGMENTATION: the cut that leaves least Psi, until every bound is within its target.

    Parameters
    ----------
    space
        What to cut.
    targets
        What each attribute's bound must be within.
    control
        May end it early.
    strict
        Normalize bounds inside each fragment, as printed.
    weights
        Of the attributes in Psi; all 1, as printed, if not given.
    most
        No more fragments than these.
    is_enough
        Whether cuts on from these fragments, given by their rows, would be of no use: then it ends
        with bounds that need not be within their targets.

    Returns
    -------
    :
        None if there was no time, or it would take more fragments.

    Examples
    --------
    >>> from tclose.distances import Line
    >>> from tclose.algorithms.fragments.space import scale_of
    >>> codes = np.repeat(np.arange(4, dtype=np.int32), [2, 3, 3, 2])
    >>> salary = scale_of(Line(np.arange(4), 3), np.bincount(codes))
    >>> found = fragment(SensitiveSpace.of([salary], [codes], [Fraction(1)]), [Fraction("0.25")], Control())
    >>> found.boxes[:, :, 0].tolist(), found.bounds
    ([[0, 1], [2, 3]], (Fraction(1, 5),))
    """
    weighing = np.ones(len(targets)) if weights is None else np.array(weights, float)
    run = _Splitting(space, strict, weighing, ROOM if is_enough is None else ENDS)
    lowered = [float(target) for target in targets]
    while run.split(np.array(lowered), control, most, is_enough):
        found = run.found()
        if is_enough is not None and is_enough(found.counts):
            return found
        over = [bound > target for bound, target in zip(found.bounds, targets, strict=True)]
        if not any(over):
            return found
        # Rounding hid an excess: ask for a little less, and once there is nothing left to cut all bounds are 0.
        lowered = [low - 1e-9 if is_over else low for low, is_over in zip(lowered, over, strict=True)]
    return None


class _Splitting:
    """A search under way."""

    def __init__(self, space: SensitiveSpace, strict: bool, weights: NDArray[np.float64], room: int = ROOM) -> None:
        from tclose.algorithms.fragments import fragments_loops as kernels

        self.space, self.strict, self.weights = space, strict, weights
        self.cells, self.ground = space.cells(), space.ground()
        n_attributes, n_cells = len(space.scales), len(space)
        sizes = [len(scale.positions) if isinstance(scale, OnLine) else len(scale.paths) for scale in space.scales]
        nodes = max((len(scale.heights) for scale in space.scales if isinstance(scale, OnTree)), default=1)
        leaves = max((len(scale.paths) for scale in space.scales if isinstance(scale, OnTree)), default=1)
        self.sides = kernels.Sides(
            mass=np.zeros(2),
            moments=np.zeros((2, n_attributes)),
            boxes=np.zeros((2, 2 * n_attributes), np.int32),
            nodes=np.zeros((2, n_attributes, nodes)),
            beyond=np.zeros((0 if strict else n_cells, 2 * n_attributes), np.int32),
            leaves=np.zeros((n_attributes, leaves), np.int32),
            n_leaves=np.zeros(n_attributes, np.int64),
            best=np.zeros(1),
        )
        self.state, self.taken = np.zeros(kernels.ABOVE + n_attributes, np.int64), np.empty(n_cells, np.int32)
        self.fragments = kernels.FragmentArrays(
            ranges=np.zeros((room, 2), np.int64),
            boxes=np.zeros((room, 2 * n_attributes), np.int32),
            bounds=np.zeros((room, n_attributes)),
            least=np.zeros((room, n_attributes, n_attributes)),
            sums=np.zeros((room, n_attributes)),
        )
        self.fragments.ranges[0, 1] = n_cells
        self.fragments.boxes[0, n_attributes:] = np.array(sizes) - 1

    def split(
        self,
        targets: NDArray[np.float64],
        control: Control,
        most: int | None,
        is_enough: Callable[[Integers], bool] | None = None,
    ) -> bool:
        """Go on until the targets are met, or the fragments are enough; False if there was no time or no room."""
        from tclose.algorithms.fragments import fragments_loops as kernels

        aim = kernels.FragmentAim(targets=targets, weights=self.weights, strict=self.strict)
        while True:
            status = kernels.split(
                self.cells, self.ground, self.fragments, self.sides, self.state, aim, self.taken, BUDGET
            )
            if status in (kernels.DONE, kernels.STUCK):
                return True
            if control.stop or (most is not None and self.state[0] >= most):
                return False
            if status == kernels.FULL:
                if is_enough is not None and is_enough(self.found().counts):
                    return True
                grown = [np.concatenate([part, np.zeros_like(part)]) for part in self.fragments]
                self.fragments = kernels.FragmentArrays(*(part if most is None else part[:most] for part in grown))

    def found(self) -> Fragmentation:
        """The fragments as they are, those of cells next to each other one after the other."""
        n, n_attributes = int(self.state[0]), len(self.space.scales)
        starts, stops = self.fragments.ranges[:n].T
        kept = np.argsort(starts)
        of_cell = np.empty(len(self.space), np.int32)
        of_cell[self.cells.orders[0]] = np.repeat(np.arange(len(kept)), (stops - starts)[kept])
        boxes = self.fragments.boxes[kept].reshape(-1, 2, n_attributes)
        return Fragmentation(self.space, of_cell, boxes, self.strict, n + int(self.state[2]))
