"""Changes to a hierarchy, one at a time: group, rename, move and dissolve; and its text as ARX writes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from tclose.errors import SchemaError
from tclose.schema.hierarchy import Hierarchy

Path = tuple[str, ...]


def leaf_paths(tree: Hierarchy) -> list[Path]:
    """The labels from each leaf up to the root.

    Examples
    --------
    >>> leaf_paths(Hierarchy.from_nested({"lung": ["flu"], "skin": []}))
    [('flu', 'lung', '*'), ('skin', '*')]
    """
    return [_upwards(tree, int(leaf)) for leaf in tree.leaf_nodes]


def _upwards(tree: Hierarchy, node: int) -> Path:
    labels = []
    while node >= 0:
        labels.append(tree.labels[node])
        node = int(tree.parents[node])
    return tuple(labels)


def group_nodes(tree: Hierarchy, nodes: Sequence[int], label: str) -> Hierarchy:
    """Put nodes that have one parent under a new label, which stands under that parent.

    Examples
    --------
    >>> tree = Hierarchy.flat(["flu", "asthma", "acne"])
    >>> group_nodes(tree, [1, 2], "lung").nested()
    {'lung': ['flu', 'asthma'], 'acne': []}
    """
    _check_nodes(tree, nodes)
    _check_label(label)
    parents = {int(tree.parents[node]) for node in nodes}
    if len(parents) != 1:
        raise SchemaError("Only entries that stand under the same entry can be grouped. Move them there first.")
    parent = parents.pop()
    _check_free(tree, int(tree.depths[parent]) + 1, label)
    above = _upwards(tree, parent)
    return _rebuilt(tree, nodes, lambda path: (*path, label, *above))


def move_nodes(tree: Hierarchy, nodes: Sequence[int], parent: int) -> Hierarchy:
    """Put nodes under another inner node; one that is left without children is gone, unless it is a value.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"lung": ["flu", "acne"], "skin": ["rash"]})
    >>> move_nodes(tree, [3], 4).nested()
    {'lung': ['flu'], 'skin': ['rash', 'acne']}
    """
    _check_nodes(tree, nodes)
    _check_nodes(tree, [parent], is_root_allowed=True)
    if parent in set(tree.leaf_nodes.tolist()):
        raise SchemaError("A value has nothing under it. Move entries to a group, or group them first.")
    if any(node in _and_above(tree, parent) for node in nodes):
        raise SchemaError("An entry cannot be moved under itself.")
    above = _upwards(tree, parent)
    return _rebuilt(tree, nodes, lambda path: (*path, *above), at_end=True)


def rename_node(tree: Hierarchy, node: int, label: str) -> Hierarchy:
    """Give an inner node another label; a value keeps its own, which stands in the table.

    Examples
    --------
    >>> rename_node(Hierarchy.from_nested({"a": ["x"], "b": ["y"]}), 1, "first").nested()
    {'first': ['x'], 'b': ['y']}
    """
    _check_nodes(tree, [node])
    _check_label(label)
    if node in set(tree.leaf_nodes.tolist()):
        raise SchemaError("A value cannot be renamed: its name is what stands in the table.")
    _check_free(tree, int(tree.depths[node]), label)
    labels = (*tree.labels[:node], label, *tree.labels[node + 1 :])
    return Hierarchy.from_paths(leaf_paths(Hierarchy(labels, tree.parents)))


def dissolve_node(tree: Hierarchy, node: int) -> Hierarchy:
    """Take an inner node away; what stood under it stands under its parent.

    Examples
    --------
    >>> dissolve_node(Hierarchy.from_nested({"a": ["x", "z"], "b": ["y"]}), 1).nested()
    {'x': [], 'z': [], 'b': ['y']}
    """
    _check_nodes(tree, [node])
    if node in set(tree.leaf_nodes.tolist()):
        raise SchemaError("A value cannot be taken away. Move it to another group.")
    children = [each for each, parent in enumerate(tree.parents.tolist()) if parent == node]
    above = _upwards(tree, int(tree.parents[node]))
    return _rebuilt(tree, children, lambda path: (*path, *above))


def arx_text(tree: Hierarchy) -> str:
    """The lines `value;group;...;*` that ARX reads, every value as deep as the deepest.

    Examples
    --------
    >>> print(arx_text(Hierarchy.from_nested({"lung": ["flu"], "skin": []})), end="")
    flu;lung;*
    skin;skin;*
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    for path in leaf_paths(tree):
        writer.writerow((*[path[0]] * (tree.height + 1 - len(path)), *path))
    return text.getvalue()


def read_arx_text(text: str) -> Hierarchy:
    """A hierarchy from such lines.

    Examples
    --------
    >>> read_arx_text("flu;lung;*\\nacne;skin;*\\n").leaves
    ('flu', 'acne')
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=";", strict=True) if row]
    except csv.Error:
        raise SchemaError("The hierarchy cannot be read: its quotes do not fit.") from None
    return Hierarchy.from_paths(rows)


def _rebuilt(tree: Hierarchy, nodes: Sequence[int], placed: Callable[[Path], Path], at_end: bool = False) -> Hierarchy:
    """The tree with the subtrees of some nodes elsewhere: `placed` gives the path of one that ended in its node."""
    chosen = set(nodes)
    kept: list[Path] = []
    moved: list[Path] = []
    for leaf in tree.leaf_nodes.tolist():
        path, node, below = _upwards(tree, leaf), leaf, 1
        while node >= 0 and node not in chosen:
            node, below = int(tree.parents[node]), below + 1
        if node < 0:
            kept.append(path)
        elif at_end:
            moved.append(placed(path[:below]))
        else:
            kept.append(placed(path[:below]))
    return Hierarchy.from_paths([*kept, *moved])


def _and_above(tree: Hierarchy, node: int) -> set[int]:
    found = set()
    while node >= 0:
        found.add(node)
        node = int(tree.parents[node])
    return found


def _check_nodes(tree: Hierarchy, nodes: Sequence[int], is_root_allowed: bool = False) -> None:
    if not nodes:
        raise SchemaError("Choose at least one entry of the hierarchy.")
    if not all((0 if is_root_allowed else 1) <= node < len(tree.labels) for node in nodes):
        raise SchemaError("The hierarchy has no such entry, or it is the root, which stays.")


def _check_free(tree: Hierarchy, depth: int, label: str) -> None:
    if any(each == label and int(at) == depth for each, at in zip(tree.labels, tree.depths, strict=True)):
        raise SchemaError("Another entry of this level has that name. Choose another, or move entries there.")


def _check_label(label: str) -> None:
    if not label or len(label) > 500:
        raise SchemaError("A group needs a name of at most 500 characters.")
