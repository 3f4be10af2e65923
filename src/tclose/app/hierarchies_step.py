"""Hierarchies: built for numbers, dates and codes; for categories a tree that is grouped, renamed and moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.routing import Route

from tclose.app.column_forms import FormField, check_column, read_value
from tclose.app.column_profile import value_counts
from tclose.app.columns_step import first_tree, guess_at
from tclose.app.site import Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError, TcloseError
from tclose.schema.builders import Builder, builder_from_dict
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
from tclose.table.proposing.first_hierarchies import built
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.reading import texts

MOST_NODES = 1500  # that a page shows
BUILDS = {"numeric": "intervals", "text": "prefixes", "date": "dates"}
LEVELS = ("month", "quarter", "year")


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    one = "/hierarchies/{column:int}"
    return [
        site.get("/hierarchies", show_hierarchies),
        site.get(one, show_hierarchy),
        site.get(f"{one}/file", download),
        site.post(f"{one}/build", build, show_hierarchy),
        site.post(f"{one}/edit", edit, show_hierarchy),
        site.post(f"{one}/read", read_text, show_hierarchy),
        site.post(f"{one}/begin", begin, show_hierarchy),
        site.post(f"{one}/remove", remove, show_hierarchy),
    ]


@dataclass(frozen=True)
class TreeLine:
    """An entry of a tree on the page: its node, how deep it stands, what is under it and how many rows it has."""

    node: int
    label: str
    depth: int
    rows: int
    n_leaves: int
    is_leaf: bool


@dataclass(frozen=True)
class HierarchyState:
    """The hierarchy of one column, as the page shows it.

    Attributes
    ----------
    role, keys
        Under which role it has a hierarchy, and its keys there.
    tree
        That of categories; None without one, or where it is built.
    lines
        The tree line by line.
    labels
        Levels of a built one for some of its values.
    """

    role: str
    keys: Mapping[str, Any]
    tree: Hierarchy | None
    lines: list[TreeLine]
    labels: list[tuple[str, ...]]
    is_cut: bool = False


def _role(project: OpenProject, name: str) -> tuple[str, Mapping[str, Any]]:
    column = project.settings.columns[name]
    if column.role == "sensitive" and column.sensitive.get("distance") == "hierarchical":
        return "sensitive", column.sensitive
    if column.role == "quasi":
        return "quasi", column.quasi
    raise SchemaError(said("no_hierarchy", name=name))


def show_hierarchies(visit: Visit) -> Response:
    """The columns that can have one."""
    project = visit.bench.the_project()
    entries = []
    for number, name in enumerate(project.settings.columns):
        try:
            role, keys = _role(project, name)
        except SchemaError:
            continue
        entries.append((number, name, role, keys.get("kind", "categorical"), _words(keys.get("hierarchy"))))
    return visit.page("hierarchies.html", "hierarchies", entries=entries)


def _words(held: Any) -> tuple[str, str]:
    """How a hierarchy was made, and what it goes by."""
    if held is None:
        return "none", ""
    if isinstance(held, Mapping) and isinstance(held.get("build"), str):
        rest: list[Any] = next((value for key, value in held.items() if key in ("widths", "lengths", "levels")), [])
        return str(held["build"]), ", ".join(map(str, rest))
    return "tree", ""


def show_hierarchy(visit: Visit) -> Response:
    """One hierarchy, to change."""
    project = visit.bench.the_project()
    number = visit.number("column")
    guess = guess_at(project, number)
    state = _state(project, guess)
    held = state.keys.get("hierarchy")
    return visit.page(
        "hierarchy.html", "hierarchies", number=number, name=guess.column, state=state, how=_words(held),
        kind=state.keys.get("kind", "categorical"), levels=LEVELS,
        inner=[line for line in state.lines if not line.is_leaf],
    )  # fmt: skip


def _state(project: OpenProject, guess: ColumnGuess) -> HierarchyState:
    role, keys = _role(project, guess.column)
    held = keys.get("hierarchy")
    tree = project.settings.columns[guess.column].tree(role, guess.column)
    if tree is not None:
        return HierarchyState(role, keys, tree, _lines(tree, guess), [], len(tree.labels) > MOST_NODES)
    labels = [] if held is None else _example(builder_from_dict(held, guess.column), guess)
    return HierarchyState(role, keys, None, [], labels)


def _lines(tree: Hierarchy, guess: ColumnGuess) -> list[TreeLine]:
    """The beginning of the tree in pre-order with the rows of each entry."""
    assert guess.evidence.coded is not None
    labels = texts(guess.evidence.coded.values.drop_nulls()).to_list()
    rows = dict(zip(labels, value_counts(guess.evidence).tolist(), strict=True))
    weights, leaves = np.zeros(len(tree.labels), np.int64), set(tree.leaf_nodes.tolist())
    for node in leaves:
        weights[node] = rows.get(tree.labels[node], 0)
    sums = tree.sums(weights)
    return [
        TreeLine(node, label, int(tree.depths[node]), int(sums[node]), int(tree.leaf_counts[node]), node in leaves)
        for node, label in enumerate(tree.labels[:MOST_NODES])
    ]


def _example(builder: Builder, guess: ColumnGuess) -> list[tuple[str, ...]]:
    """What some values become, level by level."""
    assert guess.evidence.coded is not None
    values = texts(guess.evidence.coded.values.drop_nulls())
    places = np.unique(np.linspace(0, max(len(values) - 1, 0), min(len(values), 5)).astype(np.int64))
    some = values.gather(places).to_list()
    try:
        tree = builder.build(some)
    except (TcloseError, ArithmeticError, ValueError):
        return []
    return leaf_paths(tree)


def _change(visit: Visit, held: Any) -> Response:
    """Settle another hierarchy, if the column's values fit it."""
    number = visit.number("column")
    project = visit.bench.check_revision(visit.form.number("revision"))
    guess = guess_at(project, number)
    role, before = _role(project, guess.column)
    keys = {key: value for key, value in before.items() if key != "hierarchy"}
    if held is not None:
        keys["hierarchy"] = held
    check_column(guess, role, keys, project.settings.keys)
    project.change(project.settings.with_column(guess.column, **{role: keys}))
    return go(f"/hierarchies/{number}")


def build(visit: Visit) -> Response:
    """Build one from widths, lengths or periods; without any, the one that `init` would propose."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.the_project()
        guess = guess_at(project, visit.number("column"))
        _, keys = _role(project, guess.column)
        name = BUILDS.get(str(keys.get("kind")))
        if name is None:
            raise SchemaError(said("not_built"))
        if form.has("propose"):
            return _change(visit, built(guess.evidence, keys))
        given = form.every("levels") if name == "dates" else _numbers(form.text("numbers"))
        key = {"intervals": "widths", "prefixes": "lengths", "dates": "levels"}[name]
        return _change(visit, {"build": name, key: given})


def _numbers(text: str) -> list[Any]:
    return list(read_value(FormField("hierarchy", sort="numbers"), text.replace(",", ";")) or [])


def begin(visit: Visit) -> Response:
    """Begin a tree: rare values together, or all side by side."""
    with visit.bench.lock:
        guess = guess_at(visit.bench.the_project(), visit.number("column"))
        tree = first_tree(guess)
        return _change(visit, tree.nested())


def edit(visit: Visit) -> Response:
    """Group, move, rename or dissolve entries of a tree."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        guess = guess_at(project, visit.number("column"))
        tree = project.settings.columns[guess.column].tree(_role(project, guess.column)[0], guess.column)
        if tree is None:
            raise SchemaError(said("no_tree"))
        nodes = [int(each) for each in form.every("node") if each.isascii() and each.isdigit()]
        return _change(visit, _edited(tree, visit, nodes).nested())


def _edited(tree: Hierarchy, visit: Visit, nodes: list[int]) -> Hierarchy:
    form = visit.form
    what = form.text("what")
    if what == "group":
        return group_nodes(tree, nodes, form.text("label"))
    if what == "move":
        parent = form.number("parent")
        return move_nodes(tree, nodes, -1 if parent is None else parent)
    if what == "rename":
        if len(nodes) != 1:
            raise SchemaError(said("tick_one_group"))
        return rename_node(tree, nodes[0], form.text("label"))
    if what == "dissolve":
        for node in sorted(nodes, reverse=True):
            tree = dissolve_node(tree, node)
        if not nodes:
            raise SchemaError(said("tick_groups"))
        return tree
    raise SchemaError(said("no_change"))


def read_text(visit: Visit) -> Response:
    """Take the lines of an ARX file."""
    with visit.bench.lock:
        return _change(visit, read_arx_text(visit.form.text("text")).nested())


def remove(visit: Visit) -> Response:
    """Do without a hierarchy."""
    with visit.bench.lock:
        return _change(visit, None)


def download(visit: Visit) -> Response:
    """The hierarchy as ARX reads it; one that is built has all values of the table."""
    project = visit.bench.the_project()
    guess = guess_at(project, visit.number("column"))
    role, keys = _role(project, guess.column)
    held, tree = keys.get("hierarchy"), project.settings.columns[guess.column].tree(role, guess.column)
    if tree is None and held is not None and guess.evidence.coded is not None:
        values = texts(guess.evidence.coded.values.drop_nulls()).to_list()
        tree = builder_from_dict(held, guess.column).build(values)
    if tree is None:
        raise SchemaError(said("no_tree_to_save"))
    headers = {"content-disposition": 'attachment; filename="hierarchy.csv"'}
    return Response(arx_text(tree), media_type="text/csv; charset=utf-8", headers=headers)
