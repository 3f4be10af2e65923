"""t-Incognito: one level of generalization for each quasi-identifier, the same in all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod
from operator import lt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import EVERY_GUARANTEE, Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.packing import pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.errors import SchemaError
from tclose.table.axes import Axis, TreeAxis
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.kernels.closeness import Rules, Scratch

BUDGET = 5_000_000  # rows checked between two looks at the clock, about 0.1 s
MOST_NODES = 2_000_000  # of a lattice
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, which scatters keys that are near

Integers = NDArray[np.int64]
# One entry a node of the lattice of some quasi-identifiers: an axis each, its levels along it.
LatticeNodes = NDArray[np.bool_]
LatticeNode = tuple[int, ...]  # levels
Subset = tuple[int, ...]  # axes


@dataclass(frozen=True)
class Incognito:
    """Use one level of each hierarchy for all rows: search the lattice of all levels.

    A node of the lattice is a level for each quasi-identifier, and its classes are the rows that
    agree at these levels. Level l of a hierarchy shows each value as its highest ancestor of
    height l at most: the value itself at 0, `*` at the top. Whether a node holds is monotone: if
    it does, so does every node above it, whose classes are unions of its own, and so does every
    choice of fewer quasi-identifiers at the same levels. So single ones are searched first, then
    pairs, then all together, and only nodes whose parts hold are looked at. (The paper goes
    through all subsets: those between take more tests than they spare.) Of the nodes still
    unknown a chain is taken, from a lowest one up, and bisected. Rows are grouped once a subset,
    and groups are joined for each test.

    Of the minimal nodes, those that hold with none below them that does, the one of least loss
    is taken. Its classes are released like those of any method, by what their rows have in
    common, which loses less than the levels themselves; the loss of those is reported besides.
    With kind digits every position is a quasi-identifier here.

    Guarantee
    ---------
    Every class meets k, t, l and caps, decided in integers; all minimal nodes are found
    (`tests/contract`, `tests/algorithms/incognito/test_incognito.py`). No full-domain generalization has
    a lower full-domain loss than the least of theirs. k in persons is kept, too; caps in persons do not hold for
    unions, and are refused. It raises where the whole table already
    fails: by k or l, or by t if the reference is another table.

    Cost
    ----
    O(n) a test, times the number of quasi-identifiers and sensitive attributes. At least all
    minimal nodes and all highest nodes that fail are tested: exponentially many in the number of
    quasi-identifiers at worst, some hundreds for seven of them.

    References
    ----------
    004 sections 2 and 6 (t-Incognito); LeFevre, DeWitt, Ramakrishnan: Incognito (2005);
    Li, Li, Venkatasubramanian: t-Closeness (2007).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> tens = {"build": "intervals", "widths": [10, 50], "origin": 0}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric", "hierarchy": tens}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Incognito(), seed=1)
    >>> sorted(release.table["age"].unique()), release.facts["levels"]
    (['[21, 24]', '[61, 64]'], {'age': 1})
    """

    name: ClassVar[str] = "incognito"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="one level of each hierarchy for all rows, the best of all",
        paper="Cao et al. 2011 (004), sections 2 and 6; LeFevre et al. 2005; Li et al. 2007",
        needs="hierarchies for numbers and dates",
        needs_levels=True,
        guarantees=EVERY_GUARANTEE | {"k in persons"},
        keeps=frozenset({"weight", "finest"}),
    )

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """The classes of the best node."""
        requirement.check_whole(table)
        _check_size(table.axes)
        holding, complete = _Search.of(table, requirement, control).run()
        losses = _full_domain_losses(table)
        nodes = sorted(_minimal(holding), key=lambda node: (losses[node], node))
        found: list[tuple[float, LatticeNode]] = []
        while len(found) < len(nodes) and not (found and control.stop):
            node = nodes[len(found)]
            found.append((table.loss(_labels(table, node)), node))
        facts: dict[str, Any] = {"stopped_early": True}
        notes: dict[str, Any] = {}
        if complete and len(found) == len(nodes):
            told = [_told(table, node, losses) | {"loss": loss} for loss, node in found]
            facts, notes = {}, {"minimal_nodes": told}
        # Rounded, because sums that are equal may differ in their last bits.
        _, node = min(found, key=lambda each: (round(each[0], 12), each[1]))
        return Partition(_labels(table, node), node, _told(table, node, losses) | facts, notes)


@dataclass(frozen=True, eq=False)
class _Search:
    """What all tests share."""

    table: EncodedTable
    requirement: Requirement
    control: Control
    codes: NDArray[np.int32]  # one line a row
    rules: Rules
    scratch: Scratch
    room: NDArray[np.int32]

    @classmethod
    def of(cls, table: EncodedTable, requirement: Requirement, control: Control) -> _Search:
        codes = np.empty((len(table), len(table.codes)), np.int32)
        for place, column in enumerate(table.codes):
            codes[:, place] = column
        return cls(
            table, requirement, control, codes, rules_of(requirement), scratch_of(requirement), np.empty_like(codes)
        )

    def run(self) -> tuple[LatticeNodes, bool]:
        """The nodes over all quasi-identifiers that are known to hold, and whether no other does."""
        whole = tuple(range(len(self.table.axes)))
        rounds = [list(combinations(whole, size)) for size in sorted({1, min(2, len(whole)), len(whole)})]
        n_subsets, n_settled = sum(map(len, rounds)), 0
        smaller: dict[Subset, LatticeNodes] = {}
        for subsets in rounds:
            settled: dict[Subset, LatticeNodes] = {}
            for subset in subsets:
                holding = self._tops(subset)
                unknown = _candidates(subset, smaller, holding.shape) & ~holding
                for share in self._settle(subset, holding, unknown):
                    self.control.report(done=(n_settled + share) / n_subsets)
                if unknown.any():
                    return holding if subset == whole else self._tops(whole), False
                settled[subset] = holding
                n_settled += 1
            smaller = settled
        return smaller[whole], True

    def _tops(self, subset: Subset) -> LatticeNodes:
        """Only the top node holds: all rows are one class there."""
        holding = np.zeros([len(self.table.axes[axis].levels) for axis in subset], bool)
        holding[(-1,) * len(subset)] = True
        return holding

    def _settle(self, subset: Subset, holding: LatticeNodes, unknown: LatticeNodes) -> Iterator[float]:
        """Test nodes until none is unknown or the time is up; tells the share that is settled."""
        n_unknown = int(unknown.sum())
        groups = _LevelGroups.of(self, subset, unknown) if n_unknown else None
        chain: list[LatticeNode] = []
        while groups is not None and unknown.any():
            chain = [node for node in chain if unknown[node]] or _chain(unknown)
            node = chain[len(chain) // 2]
            held = groups.hold(node)
            if held is None:
                return
            if held:
                above = tuple(slice(level, None) for level in node)
                holding[above], unknown[above] = True, False
            else:
                unknown[tuple(slice(level + 1) for level in node)] = False
            yield 1 - int(unknown.sum()) / n_unknown


@dataclass(frozen=True, eq=False)
class _LevelGroups:
    """Rows that agree at the lowest levels still possible, for the quasi-identifiers of one subset."""

    search: _Search
    levels: list[NDArray[np.int32]]  # of each axis
    places: list[NDArray[np.int32]]  # on each axis, that of a row of each group
    sizes: Integers
    begins: Integers  # where in `codes` each begins, and where the last ends
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, search: _Search, subset: Subset, unknown: LatticeNodes) -> _LevelGroups:
        axes = [search.table.axes[axis] for axis in subset]
        lowest = np.argwhere(unknown).min(axis=0)
        places = [search.table.places[axis] for axis in subset]
        numbers, n_groups = _number([axis.levels[low][of] for axis, low, of in zip(axes, lowest, places, strict=True)])
        order, begins = _sorted_by(numbers, n_groups)
        firsts = order[begins[:-1]]
        return cls(
            search,
            [axis.levels for axis in axes],
            [of[firsts] for of in places],
            np.diff(begins),
            begins,
            search.codes[order],
        )

    def hold(self, node: LatticeNode) -> bool | None:
        """Whether all classes of a node meet the requirement; None if the time is up before that is known."""
        from tclose.algorithms.incognito.lattice_loops import GroupedCodes, check
        from tclose.kernels.closeness import ASK, NO, YES

        search = self.search
        if search.control.stop:
            return None
        columns = zip(self.levels, node, self.places, strict=True)
        numbers, n_classes = _number([levels[level][places] for levels, level, places in columns])
        if np.bincount(numbers, self.sizes).min() < search.requirement.k:
            return False
        groups, classes = _sorted_by(numbers, n_classes)
        grouped = GroupedCodes(codes=self.codes, begins=self.begins)
        label, budget = 0, BUDGET // pace_of(search.requirement)
        while label < n_classes:
            label, verdict = check(grouped, groups, classes, label, budget, search.rules, search.scratch, search.room)
            if verdict == ASK:
                members = groups[classes[label] : classes[label + 1]]
                rows = np.concatenate([self.codes[self.begins[of] : self.begins[of + 1]] for of in members])
                verdict = YES if search.requirement.holds(list(rows.T)) else NO
                label += 1
            if verdict == NO:
                return False
            if label < n_classes and search.control.stop:
                return None
        return True


def _candidates(subset: Subset, smaller: dict[Subset, LatticeNodes], shape: tuple[int, ...]) -> LatticeNodes:
    """The nodes all of whose parts hold."""
    candidates = np.ones(shape, bool)
    for part, holding in smaller.items():
        if set(part) <= set(subset):
            candidates &= holding.reshape([shape[place] if axis in part else 1 for place, axis in enumerate(subset)])
    return candidates


def _chain(unknown: LatticeNodes) -> list[LatticeNode]:
    """Unknown nodes one above the other, from a lowest one up as far as they go."""
    node: LatticeNode | None = _node(np.unravel_index(unknown.argmax(), unknown.shape))
    chain = []
    while node is not None:
        chain.append(node)
        above = ((*node[:axis], level + 1, *node[axis + 1 :]) for axis, level in enumerate(node))
        node = next((up for up in above if all(map(lt, up, unknown.shape)) and unknown[up]), None)
    return chain


def _minimal(holding: LatticeNodes) -> list[LatticeNode]:
    """The nodes that hold with none below them that does."""
    minimal = holding.copy()
    for axis in range(holding.ndim):
        upper, lower = np.moveaxis(minimal, axis, 0)[1:], np.moveaxis(holding, axis, 0)[:-1]
        upper &= ~lower
    return [_node(node) for node in np.argwhere(minimal)]


def _node(levels: Iterable[Any]) -> LatticeNode:
    return tuple(int(level) for level in levels)


def _full_domain_losses(table: EncodedTable) -> NDArray[np.float64]:
    """The loss of every node if each class covered all that its levels cover.

    What an axis adds depends on its own level alone.
    """
    by_axis: list[NDArray[np.float64]] = []
    for axis, places in zip(table.axes, table.places, strict=True):
        rows = np.bincount(places, minlength=axis.size)
        ends = ([np.searchsorted(g, g, side).astype(np.int32) for side in ("left", "right")] for g in axis.levels)
        costs = [axis.cost(first, last - np.int32(1)) @ rows for first, last in ends]
        by_axis.append(np.array(costs) * axis.weight / len(table))
    return reduce(np.add.outer, by_axis)


def _labels(table: EncodedTable, node: LatticeNode) -> Integers:
    """The class of each row."""
    columns = zip(table.axes, node, table.places, strict=True)
    return _number([axis.levels[level][places] for axis, level, places in columns])[0]


def _number(columns: Sequence[NDArray[np.int32]]) -> tuple[Integers, int]:
    """Number the lines 0, 1, 2, ... by what they have in all columns; also returns how many differ."""
    keys, n_keys = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        width = int(column.max()) + 1
        if n_keys * width >= 2**62:
            keys, n_keys = _distinct(keys)
        keys = keys * width + column
        n_keys *= width
    return _distinct(keys)


def _distinct(keys: Integers) -> tuple[Integers, int]:
    from tclose.algorithms.incognito.lattice_loops import number

    bits = len(keys).bit_length() + 1
    slots = (keys.view(np.uint64) * SPREAD >> np.uint64(64 - bits)).view(np.int64)
    numbers = np.empty_like(keys)
    return numbers, number(keys, slots, np.full(2**bits, -1, np.int64), numbers)


def _sorted_by(numbers: Integers, n_numbers: int) -> tuple[Integers, Integers]:
    """The places of each number, one number after the other, and where each begins, and the end."""
    from tclose.algorithms.incognito.lattice_loops import sort_by

    begins, order = np.bincount(numbers, minlength=n_numbers + 1), np.empty_like(numbers)
    sort_by(numbers, begins, order)
    return order, begins


def _told(table: EncodedTable, node: LatticeNode, losses: NDArray[np.float64]) -> dict[str, Any]:
    """A node as people read it: the level of each column, of each position for kind digits."""
    levels: dict[str, Any] = {}
    for axis, level in zip(table.axes, node, strict=True):
        positional = isinstance(axis, TreeAxis) and axis.position is not None
        levels[axis.column] = [*levels.get(axis.column, []), level] if positional else level
    return {"levels": levels, "full_domain_loss": float(losses[node])}


def _check_size(axes: Sequence[Axis]) -> None:
    """Refuse a lattice that is too large to search."""
    by_column: dict[str, int] = {}
    for axis in axes:
        by_column[axis.column] = by_column.get(axis.column, 1) * len(axis.levels)
    n_nodes = prod(by_column.values())
    if n_nodes > MOST_NODES:
        listed = ", ".join(f"'{column}' {n_levels:,}" for column, n_levels in by_column.items())
        raise SchemaError(
            f"'incognito' would have {n_nodes:,} combinations of levels to search, and takes at most {MOST_NODES:,}. "
            f"Levels by column: {listed} (for kind digits, those of all positions together). Give the highest a "
            "hierarchy with fewer levels, name fewer quasi-identifiers, or use 'mondrian'."
        )
