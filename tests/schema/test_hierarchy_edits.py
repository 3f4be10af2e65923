"""Trees that are changed one step at a time: every value stays, and what cannot be done is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from tclose.errors import SchemaError
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.hierarchy_edits import (
    arx_text,
    dissolve_node,
    group_nodes,
    leaf_paths,
    move_nodes,
    read_arx_text,
    rename_node,
)

TREE = {"lung": {"acute": ["flu", "cold"], "lasting": ["asthma"]}, "skin": ["acne", "rash"], "none": []}


def tree() -> Hierarchy:
    return Hierarchy.from_nested(TREE)


def node(found: Hierarchy, label: str) -> int:
    return found.labels.index(label)


def test_grouping_renaming_and_dissolving_undo_each_other() -> None:
    grouped = group_nodes(tree(), [node(tree(), "acne"), node(tree(), "rash")], "seen")
    assert grouped.nested()["skin"] == {"seen": ["acne", "rash"]}
    named = rename_node(grouped, node(grouped, "seen"), "visible")
    assert dissolve_node(named, node(named, "visible")) == tree()


def test_a_moved_group_takes_along_what_is_under_it() -> None:
    moved = move_nodes(tree(), [node(tree(), "acute")], node(tree(), "skin"))
    assert moved.nested() == {
        "lung": {"lasting": ["asthma"]},
        "skin": {"acne": [], "rash": [], "acute": ["flu", "cold"]},
        "none": [],
    }


def test_a_group_that_is_left_empty_is_gone() -> None:
    moved = move_nodes(tree(), [node(tree(), "asthma")], node(tree(), "acute"))
    assert "lasting" not in moved.labels


def test_whatever_is_done_every_value_stays() -> None:
    """Random changes, many of them refused."""
    chance, found = random.Random(5), tree()
    values = set(found.leaves)
    for step in range(300):
        some = chance.sample(range(len(found.labels)), k=min(2, len(found.labels)))
        changes: list[Callable[[], Hierarchy]] = [
            partial(group_nodes, found, some, f"group {step}"),
            partial(move_nodes, found, some[:1], some[1]),
            partial(dissolve_node, found, some[0]),
            partial(rename_node, found, some[0], f"name {step}"),
        ]
        try:
            found = chance.choice(changes)()
        except SchemaError:
            continue
        assert set(found.leaves) == values
        assert Hierarchy.from_nested(found.nested()) == found


@pytest.mark.parametrize(
    "change",
    [
        lambda found: group_nodes(found, [], "x"),
        lambda found: group_nodes(found, [0], "x"),
        lambda found: group_nodes(found, [1], ""),
        lambda found: group_nodes(found, [node(found, "flu"), node(found, "acne")], "x"),
        lambda found: move_nodes(found, [1], 99),
        lambda found: move_nodes(found, [node(found, "lung")], node(found, "acute")),
        lambda found: move_nodes(found, [node(found, "flu")], node(found, "acne")),
        lambda found: rename_node(found, node(found, "flu"), "x"),
        lambda found: rename_node(found, node(found, "lung"), "skin"),
        lambda found: dissolve_node(found, node(found, "flu")),
    ],
)
@pytest.mark.everyday(10)
def test_what_cannot_be_done_is_refused(change: object) -> None:
    with pytest.raises(SchemaError):
        change(tree())  # type: ignore[operator]


def test_a_file_of_arx_is_read_and_written() -> None:
    text = arx_text(tree())
    assert {line.count(";") for line in text.splitlines()} == {3}  # as deep as the deepest, as ARX asks
    assert leaf_paths(read_arx_text(text))[0] == ("flu", "acute", "lung", "*")
    assert set(read_arx_text(text).leaves) == set(tree().leaves)


def test_a_broken_file_is_refused() -> None:
    with pytest.raises(SchemaError, match="quotes"):
        read_arx_text('"flu;lung;*\n')
