"""Hierarchies: trees whose leaves are values and whose inner nodes are broader labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import SchemaError
from tclose.schema.guarding import guarded, read_small

Nested = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree of ever broader values, in pre-order: node 0 is the root, and parents come before their children.

    A node is (depth, label): the same label may stand at several depths. The height of a
    node is the longest way down from it, so that leaves of any depth have height 0.

    Attributes
    ----------
    labels
        The label of each node.
    parents
        The parent of each node, -1 for the root.
    source
        Where it was read from, to be written back into a schema; None if made in memory.
    stands_for
        Of each leaf, how many values it stands for, where a tree is cut off above its values; None if each is one.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": []})
    >>> tree.leaves
    ('flu', 'asthma', 'skin')
    >>> tree.height
    2
    """

    labels: tuple[str, ...]
    parents: NDArray[np.int32]
    source: str | None = None
    stands_for: NDArray[np.int64] | None = None

    def __eq__(self, other: object) -> bool:
        """Whether it is the same tree, wherever it was read from."""
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parents, other.parents)

    def __hash__(self) -> int:
        return hash((self.labels, self.parents.tobytes()))

    @classmethod
    def from_paths(
        cls,
        paths: Iterable[Sequence[str]],
        source: str | None = None,
        name: str = "hierarchy",
        lines: Iterable[int] | None = None,
    ) -> Hierarchy:
        """Build from leaf-first, root-last label paths, one for each leaf.

        `lines` are the numbers of the lines they stand in, for messages.

        Raises
        ------
        SchemaError
            The paths are not a tree; the message names the lines, never a label.
        """
        nodes: dict[tuple[int, str], int] = {}
        parent_of: list[int] = []
        labels: list[str] = []
        leaf_line: dict[int, int] = {}
        leaf_labels: dict[str, int] = {}
        line = 0
        for line, path in zip(lines or count(1), paths, strict=False):
            _check_path(path, line, name)
            above = -1
            for depth, label in enumerate(reversed(path)):
                node = nodes.get((depth, label))
                if node is None:
                    if above < 0 and parent_of:
                        raise SchemaError(
                            f"{name}, line {line}: its last entry is not the root that line 1 ends in. "
                            "Every line must end in the same root."
                        )
                    node = nodes[depth, label] = len(parent_of)
                    parent_of.append(above)
                    labels.append(label)
                elif parent_of[node] != above:
                    raise SchemaError(
                        f"{name}, line {line}: entry {len(path) - depth} has another parent here than on "
                        "an earlier line. Give every entry of a level one parent, or distinct labels."
                    )
                above = node
            earlier = leaf_labels.get(path[0], leaf_line.get(above, 0))
            if earlier:
                raise SchemaError(f"{name}, lines {earlier} and {line} begin with the same value. Remove one.")
            leaf_line[above] = leaf_labels[path[0]] = line
        if line == 0:
            raise SchemaError(f"{name} is empty. It needs one line for each value: value;broader;...;root.")
        for parent in parent_of:
            if parent in leaf_line:
                raise SchemaError(
                    f"{name}, line {leaf_line[parent]}: its value is also a broader entry of another line "
                    "at the same level. Use distinct labels."
                )
        return cls._in_pre_order(labels, parent_of, source)

    @classmethod
    def from_nested(cls, nested: Nested, root: str = "*", name: str = "hierarchy") -> Hierarchy:
        """Build from nested mappings: keys are broader labels, a list holds leaves, an empty list marks one."""
        paths: list[tuple[str, ...]] = []

        def walk(branch: Nested, above: tuple[str, ...]) -> None:
            if isinstance(branch, Mapping):
                if not branch:
                    raise SchemaError(f"{name} has an empty table. Use an empty list to mark a leaf.")
                for label, below in branch.items():
                    walk(below, (label, *above))
            elif isinstance(branch, Sequence) and not isinstance(branch, str):
                if not all(isinstance(leaf, str) for leaf in branch):
                    raise SchemaError(f"{name}: a list must hold values as text, in quotes.")
                paths.extend((leaf, *above) for leaf in branch)
                if not branch:
                    paths.append(above)
            else:
                raise SchemaError(f"{name}: expected a table or a list of values below each label.")

        walk(nested, (root,))
        return cls.from_paths(paths, name=name)

    @classmethod
    def read(cls, path: Path | str, source: str | None = None) -> Hierarchy:
        """Read a `leaf;parent;...;root` file, as ARX writes them (UTF-8, a byte order mark allowed)."""
        path = Path(path)
        name = f"Hierarchy file '{path.name}'"
        reader = csv.reader(io.StringIO(read_small(path, "Hierarchy file")), delimiter=";")
        numbered = guarded(
            f"{name} is not readable: its quotes do not fit, or an entry is longer than {csv.field_size_limit():,} "
            "characters",
            lambda: [(reader.line_num, labels) for labels in reader if labels],
            SchemaError,
        )
        return cls.from_paths([p for _, p in numbered], source or str(path), name, [line for line, _ in numbered])

    @classmethod
    def flat(cls, values: Sequence[str], root: str = "*") -> Hierarchy:
        """Root and leaves, nothing between: what a column without a hierarchy has."""
        parents = np.zeros(len(values) + 1, np.int32)
        parents[0] = -1
        return cls((root, *values), parents)

    @classmethod
    def from_prefixes(cls, values: Iterable[str], most: int | None = None) -> Hierarchy:
        """Build the tree of shared beginnings: an inner node is a prefix at which values part.

        Hidden characters are shown as stars where all values are equally long, else as one. Of `most` characters,
        if that is given, no more are shown: a leaf is then a beginning of that length, in the order of these texts.

        Examples
        --------
        >>> Hierarchy.from_prefixes(["02139", "02142", "10001"]).labels
        ('*****', '021**', '02139', '02142', '10001')
        >>> Hierarchy.from_prefixes(["02139", "02142", "10001"], 2).labels
        ('*****', '02***', '10***')
        """
        whole = sorted(set(values))
        if not whole:
            return cls.flat(())
        width = len(whole[0]) if len({len(value) for value in whole}) == 1 else 0
        below: dict[str, list[str]] = {}
        for value in whole:
            below.setdefault(value[:most], []).append(value)
        ordered = sorted(below)
        shared = [0, *map(_shared, ordered, ordered[1:])]  # of each value with the one before
        labels: list[str] = []
        parents: list[int] = []
        stack = [(0, len(ordered), -1)]
        while stack:
            low, high, above = stack.pop()
            if high - low == 1 and above >= 0:
                shown = ordered[low]
                labels.append(shown if below[shown] == [shown] else _stars(shown, width))
            else:
                least = min(shared[low + 1 : high], default=0)  # what the first and the last share, all do
                prefix = ordered[low][:least]
                starts = [low, *(place for place in range(low + 1, high) if shared[place] == least)]
                groups = zip(starts, [*starts[1:], high], strict=True)
                stack.extend(reversed([(start, stop, len(labels)) for start, stop in groups]))
                labels.append(_stars(prefix, width))
            parents.append(above)
        stands_for = None if most is None else np.array([len(below[each]) for each in ordered], np.int64)
        return cls(tuple(labels), np.array(parents, np.int32), None, stands_for)

    @classmethod
    def _in_pre_order(cls, labels: list[str], parent_of: list[int], source: str | None) -> Hierarchy:
        children: list[list[int]] = [[] for _ in labels]
        for node, parent in enumerate(parent_of[1:], 1):
            children[parent].append(node)
        order, stack = [], [0]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(children[node]))
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        parents = [-1] + [int(rank[parent_of[node]]) for node in order[1:]]
        return cls(tuple(labels[node] for node in order), np.array(parents, np.int32), source)

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """The number of steps from the root to each node."""
        depths = np.zeros(len(self.labels), np.int32)
        for node, parent in enumerate(self.parents.tolist()[1:], 1):
            depths[node] = depths[parent] + 1
        return depths

    @cached_property
    def heights(self) -> NDArray[np.int32]:
        """The longest way down from each node."""
        heights = [0] * len(self.labels)
        parents = self.parents.tolist()
        for node in range(len(parents) - 1, 0, -1):
            heights[parents[node]] = max(heights[parents[node]], heights[node] + 1)
        return np.array(heights, np.int32)

    @property
    def height(self) -> int:
        """The height of the root."""
        return int(self.heights[0])

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """The nodes without children, in pre-order."""
        inner = np.zeros(len(self.labels), bool)
        inner[self.parents[1:]] = True
        if len(self.labels) == 1:  # a lone root has no leaf: nothing was observed
            return np.zeros(0, np.int32)
        return np.flatnonzero(~inner).astype(np.int32)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values, in pre-order."""
        return tuple(self.labels[node] for node in self.leaf_nodes)

    @cached_property
    def leaf_counts(self) -> NDArray[np.int64]:
        """The number of leaves below each node (1 at a leaf)."""
        weights = np.zeros(len(self.labels), np.int64)
        weights[self.leaf_nodes] = 1 if self.stands_for is None else self.stands_for
        return self.sums(weights)

    def cut(self, level: int) -> tuple[Hierarchy, NDArray[np.int64]]:
        """The tree without what is finer than a level, and which of its nodes is each of the others.

        At level l a leaf is shown by its highest ancestor of height l at most. Of the tree that is left these are the
        leaves, each of which stands for those that were below it.

        Examples
        --------
        >>> tree, nodes = Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": []}).cut(1)
        >>> tree.labels, tree.leaf_counts.tolist(), nodes.tolist()
        (('*', 'lung', 'skin'), [3, 2, 1], [0, 1, -1, -1, 2])
        """
        kept = np.ones(len(self.labels), bool)
        kept[1:] = self.heights[self.parents[1:]] > level
        nodes = np.where(kept, np.cumsum(kept) - 1, -1)
        left = np.flatnonzero(kept)
        parents = np.append(np.int32(-1), nodes[self.parents[left[1:]]]).astype(np.int32)
        tree = Hierarchy(tuple(self.labels[node] for node in left.tolist()), parents)
        return Hierarchy(tree.labels, parents, None, self.leaf_counts[left][tree.leaf_nodes]), nodes

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of `weights` (one a node) over the subtree of each node."""
        total = weights.tolist()
        parents = self.parents.tolist()
        for node in range(len(parents) - 1, 0, -1):
            total[parents[node]] += total[node]
        return np.array(total, np.int64)

    def by_frequency(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The leaves in a pre-order whose siblings stand by descending count, ties as given.

        Parameters
        ----------
        counts
            How often each leaf occurs, aligned with `leaves`.
        """
        weights = np.zeros(len(self.labels), np.int64)
        weights[self.leaf_nodes] = counts
        totals = self.sums(weights).tolist()
        children: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents.tolist()[1:], 1):
            children[parent].append(node)
        leaf_of = {int(node): leaf for leaf, node in enumerate(self.leaf_nodes)}
        order, stack = [], [0]
        while stack:
            node = stack.pop()
            if node in leaf_of:
                order.append(leaf_of[node])
            # The last pushed is taken first, so the least frequent and the later of equals go in first.
            stack.extend(sorted(children[node], key=lambda child: (totals[child], -child)))
        return np.array(order, np.int64)

    def ancestors(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int32]:
        """The lowest common ancestor of each pair of nodes."""
        left, right = left.copy(), right.copy()
        while True:
            apart = left != right
            if not apart.any():
                return left
            lower_left = apart & (self.depths[left] >= self.depths[right])
            lower_right = apart & (self.depths[right] >= self.depths[left])
            left[lower_left] = self.parents[left[lower_left]]
            right[lower_right] = self.parents[right[lower_right]]

    def nested(self) -> dict[str, Any]:
        """The inverse of `from_nested`: what a schema holds when there is no file."""
        tables: list[dict[str, Any]] = [{} for _ in self.labels]
        for node in range(len(self.labels) - 1, 0, -1):
            below = tables[node]
            branch: Any = dict(reversed(below.items())) if below else []
            if below and all(not value for value in below.values()):
                branch = list(branch)
            tables[int(self.parents[node])][self.labels[node]] = branch
        return dict(reversed(tables[0].items()))


def _check_path(path: Sequence[str], line: int, name: str) -> None:
    if len(path) < 2:
        raise SchemaError(f"{name}, line {line}: needs at least a value and the root, separated by ';'.")
    if not all(path):
        raise SchemaError(f"{name}, line {line}: entry {[bool(e) for e in path].index(False) + 1} is empty.")


def _shared(left: str, right: str) -> int:
    """The length of the common beginning of two texts."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return place
    return min(len(left), len(right))


def _stars(prefix: str, width: int) -> str:
    return prefix + "*" * (width - len(prefix) if width else 1)
