"""Hierarchies: files, trees of any shape, and the orders and ancestors the axes are made of."""

from __future__ import annotations

import pickle
from itertools import combinations, combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

from tclose.errors import SchemaError
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tests.oracles.release import read_paths
from tests.shared_data import shared

# Distinct labels by level, leaf to root, as the README of the shared data has them.
LEVELS = {
    "adult/age": [100, 20, 10, 5, 1],
    "adult/education": [16, 5, 3, 1],
    "adult/marital-status": [7, 2, 1],
    "adult/native-country": [41, 5, 1],
    "adult/occupation": [14, 3, 1],
    "adult/race": [5, 1],
    "adult/salary-class": [2, 1],
    "adult/sex": [2, 1],
    "adult/workclass": [8, 3, 1],
    "diabetes_130/age": [10, 5, 3, 1],
    "diabetes_130/diag_1": [717, 684, 116, 19, 1],
    "diabetes_130/diag_2": [749, 716, 136, 19, 1],
    "diabetes_130/diag_3": [790, 758, 136, 19, 1],
    "fars/iage": [100, 20, 10, 5, 3, 1],
    "fars/ideathday": [33, 5, 3, 1],
    "fars/ideathmon": [14, 5, 3, 1],
    "fars/ihispanic": [10, 5, 1],
    "fars/iinjury": [10, 5, 1],
    "fars/irace": [20, 5, 1],
    "fars/isex": [3, 1],
    "fars/istatenum": [57, 6, 3, 1],
    "hcv/Category": [5, 2, 1],
    "nist_acs_2019/AGEP": [100, 20, 10, 5, 1],
    "nist_acs_2019/EDU": [13, 5, 2, 1],
    "nist_acs_2019/INDP": [269, 20, 7, 1],
    "nist_acs_2019/MSP": [7, 3, 1],
    "nist_acs_2019/PUMA": [31, 18, 4, 1],
    "nist_acs_2019/RAC1P": [9, 3, 1],
    "support2/ca": [3, 2, 1],
    "support2/dzgroup": [8, 4, 1],
    "support2/income": [4, 2, 1],
    "support2/race": [5, 2, 1],
    "tcloseness_example/Age": [9, 3, 1],
    "tcloseness_example/Disease": [6, 2, 2, 1],
    "tcloseness_example/ZIPCode": [9, 3, 2, 1, 1, 1],
}


def way_up(tree: Hierarchy, node: int) -> list[int]:
    """The node and all above it, root last."""
    way = [node]
    while tree.parents[way[-1]] >= 0:
        way.append(int(tree.parents[way[-1]]))
    return way


def paths_of(tree: Hierarchy) -> list[tuple[str, ...]]:
    return [tuple(tree.labels[node] for node in way_up(tree, int(leaf))) for leaf in tree.leaf_nodes]


def random_paths(rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Leaf-first paths of a random tree of uneven depth whose labels repeat from level to level."""
    paths: list[tuple[str, ...]] = []
    counters: dict[int, int] = {}

    def grow(above: tuple[str, ...]) -> None:
        depth = len(above)
        for _ in range(int(rng.integers(1, 4))):
            counters[depth] = counters.get(depth, 0) + 1
            if depth < 4 and rng.random() < 0.5:
                grow((f"n{counters[depth]}", *above))
            else:
                paths.append((f"leaf{len(paths)}", *above))

    grow(("*",))
    return paths


# Files


@pytest.mark.parametrize("name", LEVELS)
def test_arx_files(name: str) -> None:
    path = shared(f"hierarchies/{name}.csv")
    tree = Hierarchy.read(path)
    levels: list[set[str]] = [set() for _ in range(tree.height + 1)]
    for label, depth in zip(tree.labels, tree.depths, strict=True):
        levels[depth].add(label)
    assert [len(level) for level in reversed(levels)] == LEVELS[name]
    assert sorted(paths_of(tree)) == sorted(read_paths(path))
    assert tree.source == str(path)


def test_reading_takes_a_byte_order_mark_quotes_crlf_and_empty_lines(tmp_path: Path) -> None:
    text = '\ufeffa;"x;y";*\r\n\r\n"b ""q""";"x;y";*\r\n'
    (tmp_path / "tree.csv").write_bytes(text.encode())
    assert Hierarchy.read(tmp_path / "tree.csv").labels == ("*", "x;y", "a", 'b "q"')


def test_a_message_counts_the_lines_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a;x;*\n\n\nb;x;*\nb;x;*\n")
    with pytest.raises(SchemaError, match="lines 4 and 5"):
        Hierarchy.read(tmp_path / "tree.csv")


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\xff\xfe;*\n", "not UTF-8"), (b"", "empty"), (b"\n\n", "empty"), (b"a" * 200_000 + b";*\n", "tree.csv")],
    ids=["not UTF-8", "empty", "blank", "an endless field"],
)
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "tree.csv").write_bytes(data)
    with pytest.raises(SchemaError, match=said):
        Hierarchy.read(tmp_path / "tree.csv")


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"tree.csv.*No such file"):
        Hierarchy.read(tmp_path / "tree.csv")


# Shape

UNEVEN = [("a", "*"), ("b", "x", "*"), ("c", "x", "*"), ("d", "z", "y", "x", "*"), ("e", "w", "*")]


def test_heights_are_the_longest_way_down() -> None:
    tree = Hierarchy.from_paths(UNEVEN)
    assert tree.labels == ("*", "a", "x", "b", "c", "y", "z", "d", "w", "e")
    assert tree.parents.tolist() == [-1, 0, 0, 2, 2, 2, 5, 6, 0, 8]
    assert tree.heights.tolist() == [4, 0, 3, 0, 0, 2, 1, 0, 1, 0]
    assert tree.depths.tolist() == [0, 1, 1, 2, 2, 2, 3, 4, 1, 2]
    assert tree.leaf_counts.tolist() == [5, 1, 3, 1, 1, 1, 1, 1, 1, 1]
    assert (tree.height, tree.leaves) == (4, ("a", "b", "c", "d", "e"))


def test_a_label_may_stand_at_several_levels() -> None:
    # As in fars and diabetes: a value that is its own group, and a root like a value.
    tree = Hierarchy.from_paths([("x", "x", "*"), ("y", "x", "*"), ("*", "z", "*"), ("z", "z", "*")])
    assert tree.labels == ("*", "x", "x", "y", "z", "*", "z")
    assert tree.leaves == ("x", "y", "*", "z")
    assert tree.heights.tolist() == [2, 1, 0, 0, 1, 0, 0]


def test_lines_of_one_branch_need_not_stand_together() -> None:
    tree = Hierarchy.from_paths([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")])
    assert tree.labels == ("*", "x", "a", "c", "y", "b")


def test_flat() -> None:
    tree = Hierarchy.flat(["b", "a"])
    assert (tree.labels, tree.leaves, tree.height) == (("*", "b", "a"), ("b", "a"), 1)
    assert Hierarchy.flat([]).leaves == ()


MALFORMED: dict[str, tuple[list[tuple[str, ...]], str]] = {
    "no line": ([], "empty"),
    "no root": ([("a",)], "line 1.*root"),
    "empty line": ([()], "line 1.*root"),
    "two roots": ([("a", "*"), ("b", "all")], "line 2.*root"),
    "a value twice": ([("a", "x", "*"), ("a", "x", "*")], "lines 1 and 2.*same value"),
    "a value at two depths": ([("a", "x", "*"), ("a", "*")], "lines 1 and 2.*same value"),
    "a value under two parents": ([("a", "x", "*"), ("a", "y", "*")], "line 2.*parent"),
    "an inner node under two parents": ([("a", "x", "u", "*"), ("b", "x", "v", "*")], "line 2.*parent"),
    "a value that is also a group": ([("x", "*"), ("a", "x", "*")], "line 1.*broader"),
    "a group that is also a value": ([("a", "x", "*"), ("x", "*")], "line 2.*broader"),
    "an empty value": ([("", "x", "*")], "line 1.*entry 1 is empty"),
    "an empty group": ([("a", "x", "*"), ("b", "", "*")], "line 2.*entry 2 is empty"),
    "an empty root": ([("a", "x", "")], "line 1.*entry 3 is empty"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_not_a_tree_is_refused(name: str) -> None:
    paths, said = MALFORMED[name]
    with pytest.raises(SchemaError, match=said):
        Hierarchy.from_paths(paths)


def test_a_message_has_no_label() -> None:
    with pytest.raises(SchemaError) as caught:
        Hierarchy.from_paths([("secret", "group", "*"), ("secret", "other", "*")])
    assert not any(label in str(caught.value) for label in ("secret", "group"))


# Nested tables


def test_from_nested() -> None:
    tree = Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}, "x": []})
    assert paths_of(tree) == [
        ("flu", "lung", "*"),
        ("asthma", "lung", "*"),
        ("burn", "skin", "*"),
        ("mild", "rash", "skin", "*"),
        ("bad", "rash", "skin", "*"),
        ("x", "*"),
    ]


@pytest.mark.parametrize("seed", range(30))
def test_nested_and_back(seed: int) -> None:
    paths = random_paths(np.random.default_rng(seed))
    tree = Hierarchy.from_paths(paths)
    again = Hierarchy.from_nested(tree.nested())
    assert again.labels == tree.labels
    assert again.parents.tolist() == tree.parents.tolist()
    assert paths_of(tree) == paths


# Shared beginnings


def common_beginning(left: str, right: str) -> str:
    return max((left[:length] for length in range(len(left) + 1) if right.startswith(left[:length])), key=len)


def shown(prefix: str, values: list[str]) -> str:
    """A hidden rest: one star a character where all are equally long, else one star."""
    lengths = {len(value) for value in values}
    return prefix + "*" * (lengths.pop() - len(prefix) if len(lengths) == 1 else 1)


@pytest.mark.parametrize("seed", range(40))
def test_prefixes_meet_at_their_longest_common_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = [3] if seed % 2 else [1, 2, 3, 4]  # of uneven length they are often prefixes of each other
    count = int(rng.integers(1, 14))
    values = sorted({"".join(rng.choice(list("ab0"), rng.choice(lengths))) for _ in range(count)})
    tree = Hierarchy.from_prefixes(rng.permutation(values).tolist())
    assert sorted(tree.leaves) == values
    node_of = dict(zip(tree.leaves, tree.leaf_nodes.tolist(), strict=True))
    for left, right in combinations(values, 2):
        common = next(node for node in way_up(tree, node_of[left]) if node in way_up(tree, node_of[right]))
        assert tree.labels[common] == shown(common_beginning(left, right), values)
    for node in set(range(1, len(tree.labels))) - set(tree.leaf_nodes.tolist()):
        assert (tree.parents == node).sum() >= 2  # nothing but where values part


def test_prefixes_of_one_value_and_of_none() -> None:
    assert Hierarchy.from_prefixes(["02139"]).labels == ("*****", "02139")
    assert Hierarchy.from_prefixes([]).leaves == ()


# Order and ancestors


@pytest.mark.parametrize("seed", range(40))
def test_by_frequency(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = Hierarchy.from_paths(random_paths(rng))
    counts = rng.integers(0, 4, len(tree.leaves))
    order = tree.by_frequency(counts).tolist()
    assert sorted(order) == list(range(len(tree.leaves)))
    place = {int(tree.leaf_nodes[leaf]): at for at, leaf in enumerate(order)}
    below: dict[int, list[int]] = {node: [] for node in range(len(tree.labels))}
    for leaf in tree.leaf_nodes.tolist():
        for node in way_up(tree, leaf):
            below[node].append(leaf)
    count_of = dict(zip(tree.leaf_nodes.tolist(), counts.tolist(), strict=True))
    for node, leaves in below.items():
        places = sorted(place[leaf] for leaf in leaves)
        assert places == list(range(places[0], places[0] + len(places)))  # a pre-order: every subtree is a span
        children = [child for child in below if tree.parents[child] == node]
        totals = {child: sum(count_of[leaf] for leaf in below[child]) for child in children}
        by_place = sorted(children, key=lambda child: min(place[leaf] for leaf in below[child]))
        assert by_place == sorted(children, key=lambda child: (-totals[child], child))


@pytest.mark.parametrize("seed", range(20))
def test_ancestors(seed: int) -> None:
    tree = Hierarchy.from_paths(random_paths(np.random.default_rng(seed)))
    pairs = list(combinations_with_replacement(range(len(tree.labels)), 2))
    left, right = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    kept = left.copy(), right.copy()
    climbed = [next(node for node in way_up(tree, a) if node in way_up(tree, b)) for a, b in pairs]
    assert tree.ancestors(left, right).tolist() == climbed
    assert tree.ancestors(right, left).tolist() == climbed
    assert (left == kept[0]).all()
    assert (right == kept[1]).all()


def test_sums() -> None:
    tree = Hierarchy.from_paths(UNEVEN)
    weights = np.arange(len(tree.labels), dtype=np.int64)
    by_hand = [sum(n for n in weights.tolist() if node in way_up(tree, n)) for node in range(len(weights))]
    assert tree.sums(weights).tolist() == by_hand


def test_hierarchies_are_equal_by_their_trees() -> None:
    keys = {"k": 2, "quasi": {"q": {"kind": "categorical", "hierarchy": {"x": ["a", "b"], "c": []}}}}
    schema = Schema.from_dict(keys)
    for other in (Schema.from_dict(schema.as_dict()), pickle.loads(pickle.dumps(schema))):
        assert other == schema
    assert Hierarchy.flat(["a", "b"]) != Hierarchy.flat(["a", "c"])
    assert hash(Hierarchy.flat(["a", "b"])) == hash(Hierarchy.flat(["a", "b"]))
