"""What someone who knew the plan of shards would gain, beside whole-table `tight` and SABRE.

The attacker has everyone's quasi-identifiers and knows who is in which class; the values of a class are published, but
not whose is whose. Four attackers deal them out:

- by class: every member alike, so that the belief in a value is its share in the class;
- model: by a naive Bayes model of values and quasi-identifiers that was fitted to the original table, which is more
  than anyone should have;
- plan: by the chance that a row with the member's quasi-identifiers and the value would have come to this shard;
- both.

Each deals by weights of (member, value), scaled until every member has one value and every value its count (Sinkhorn).
What is told is the mean belief in a row's true value, and the share of rows whose value is believed with 0.95 or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

import tclose
from benchmarks.results import show
from benchmarks.tables import K, chosen
from tclose.algorithms import find, run_method
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import best_slack
from tclose.scale.coded_pieces import ROW, GatheredValues, code_piece, tables_among
from tclose.scale.shard_choice import CellCounts, choose_shards
from tclose.scale.shard_tree import PARTS, ShardTree, TreeNode
from tclose.scale.tree_learning import TreeLearner
from tclose.scale.whole_table import WholeTable
from tclose.schema.changes import with_k, with_t
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ROWS, SHARDS, TS = 100_000, 16, ("0.2", "0.1")
ROUNDS, SURE, BINS = 60, 0.95, 32
ATTACKERS = ("by class", "model", "plan", "both")
HEADER = ["", "loss", *ATTACKERS, *(f"sure, {name}" for name in ATTACKERS)]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Every member of a class with every value of the class, one after the other."""

    row: Integers
    value: Integers
    pair: Integers  # the number of (class, value)
    count: Floats  # of the value in the class
    n_rows: int

    @classmethod
    def of(cls, labels: Integers, codes: NDArray[np.int32], size: int) -> Candidates:
        """Those of a partition."""
        keys, counts = np.unique(labels * size + codes, return_counts=True)
        owner, value = keys // size, keys % size
        first = np.searchsorted(owner, np.arange(labels.max() + 2))
        kinds = np.diff(first)
        row = np.repeat(np.arange(len(labels)), kinds[labels])
        begins = np.repeat(np.concatenate([[0], np.cumsum(kinds[labels])[:-1]]), kinds[labels])
        pair = first[labels[row]] + np.arange(len(row)) - begins
        return cls(row, value[pair], pair, counts[pair].astype(np.float64), len(labels))

    def beliefs(self, weights: Floats) -> Floats:
        """The belief in each candidate: weights scaled to the counts of the class."""
        found = np.maximum(weights, 1e-12)
        for _ in range(ROUNDS):
            found = found / np.bincount(self.row, found)[self.row]
            found = found * self.count / np.bincount(self.pair, found)[self.pair]
        return found / np.bincount(self.row, found)[self.row]


def model_weights(table: EncodedTable, codes: NDArray[np.int32], size: int, each: Candidates) -> Floats:
    """Naive Bayes, fitted to the original."""
    log = np.zeros(len(each.row))
    for places in table.places:
        edges = np.unique(np.quantile(places, np.linspace(0, 1, BINS + 1)).astype(np.int64))
        bins = np.clip(np.searchsorted(edges, places, "right") - 1, 0, len(edges) - 1)
        counts = np.ones((size, len(edges)))
        np.add.at(counts, (codes, bins), 1.0)
        log += np.log(counts / counts.sum(axis=1, keepdims=True))[each.value, bins[each.row]]
    return np.exp(log - np.maximum.reduceat(log, np.flatnonzero(np.diff(each.row, prepend=-1)))[each.row])


def plan_weights(tree: ShardTree, of_leaf: Integers, table: EncodedTable, each: Candidates) -> Floats:
    """The chance that a row with the member's quasi-identifiers and the value comes to the member's leaf."""
    weights = np.ones(len(each.row))
    below: dict[int, set[int]] = {}

    def leaves(node: TreeNode) -> set[int]:
        below.setdefault(node.number, set(node.leaves()))
        return below[node.number]

    waiting = [tree.root]
    leaf = of_leaf[each.row]
    while waiting:
        node = waiting.pop()
        if node.cut is None or node.left is None or node.right is None:
            continue
        waiting += [node.left, node.right]
        if node.cut.axis < 0:
            continue
        here = np.flatnonzero(np.isin(leaf, [*leaves(node)]))
        bins = np.searchsorted(node.cut.edges, table.places[node.cut.axis][each.row[here]], "right") - 1
        stratum = 0 if node.cut.strata is None else node.cut.strata.groups[each.value[here]]
        last, share = node.cut.bins[stratum], node.cut.shares[stratum]
        left = np.where(bins < last, 1.0, np.where(bins == last, share, 0.0))
        on_left = np.isin(leaf[here], [*leaves(node.left)])
        weights[here] *= np.where(on_left, left, 1 - left)
    return weights


def attacked(
    table: EncodedTable, labels: Integers, plan: Callable[[Candidates], Floats] | None
) -> dict[str, dict[str, float]]:
    """What each attacker believes of the true values."""
    codes, size = table.codes[0], table.domains[0].size
    each = Candidates.of(labels, codes, size)
    model = model_weights(table, codes, size, each)
    weights = {"by class": np.ones(len(each.row)), "model": model}
    if plan is not None:
        known = plan(each)
        weights |= {"plan": known, "both": known * model}
    true = each.value == codes[each.row]
    found = {}
    for name, given in weights.items():
        belief = each.beliefs(given)[true]
        found[name] = {"belief": float(belief.mean()), "sure": float((belief >= SURE).mean())}
    return found


def whole_of(frame: pl.DataFrame, schema: Schema) -> tuple[WholeTable, pl.DataFrame]:
    rows, summary = code_piece(frame, schema, 7)
    gathered = GatheredValues(schema)
    gathered.add(summary)
    gathered.check()
    whole = WholeTable.of(gathered, frame.columns)
    return whole, whole.recoded(rows, tables_among(summary.values, whole.values))


def run(console: Console) -> dict[str, Any]:
    """All tables and thresholds."""
    census, schema = tclose.datasets.census(ROWS, seed=1)
    cases = [("census", pl.DataFrame(census), schema, "salary")]
    cases += [
        (each.name, pl.DataFrame(each.frame), each.schema("0.2"), each.schema("0.2").sensitive[0].column)
        for each in chosen(console, ("adult-occupation", "adult-education"))
    ]
    found = [
        _case(console, name, frame, with_k(with_t(asked, t, column), K), t)
        for name, frame, asked, column in cases
        for t in TS
    ]
    return {"k": K, "shards": SHARDS, "cases": found}


def _case(console: Console, name: str, frame: pl.DataFrame, schema: Schema, t: str) -> dict[str, Any]:
    whole, rows = whole_of(frame, schema)
    table, asked = whole.encode(rows), whole.requirement
    results: dict[str, Any] = {}
    for method in (find("tight", {"effort": "fast"}), find("sabre-ak")):
        labels = _run(method, table, asked)
        results[f"whole table, {method.name}"] = {"loss": table.loss(labels), **attacked(table, labels, None)}
    most = -(-len(table) * 5 // (4 * SHARDS))
    rng = np.random.default_rng(1)
    learner = TreeLearner(asked, len(table), most, rng, best_slack(table, asked, rng))
    tree = learner.learn(table, rows[ROW].to_numpy())
    cells = tree.cells(table, rows[ROW].to_numpy())
    shards = choose_shards(whole, tree, CellCounts.of(cells, table, tree.n_cells), most)
    labels = _in_shards(table, asked, shards.of_cell[cells])
    plan = lambda each: plan_weights(tree, cells // PARTS, table, each)  # noqa: E731
    told = f"{shards.n_shards} shards, tight"
    results[told] = {"loss": table.loss(labels), **attacked(table, labels, plan)}
    blends = [cut.blend for cut in tree.root.cuts()]
    lines = [[which, *_figures(each)] for which, each in results.items()]
    show(console, f"{name}, {len(table):,} rows, t = {t}; blends {sorted(blends)}", HEADER, lines)
    return {"table": name, "rows": len(table), "t": t, "blends": blends, "undone": shards.n_undone, "found": results}


def _run(method: Any, table: EncodedTable, asked: Requirement) -> Integers:
    return run_method(method, table, asked, rng=np.random.default_rng(1), control=Control()).labels


def _in_shards(table: EncodedTable, asked: Requirement, shards: Integers) -> Integers:
    labels, first = np.empty(len(table), np.int64), 0
    for shard in range(int(shards.max()) + 1):
        at = np.flatnonzero(shards == shard)
        own = _run(find("tight", {"effort": "fast"}), table.take(at), asked)
        labels[at] = own + first
        first += int(own.max()) + 1
    return labels


def _figures(found: dict[str, Any]) -> list[str]:
    known = {name: found[name] for name in ATTACKERS if name in found}
    beliefs = [f"{known[name]['belief']:.4f}" if name in known else "" for name in ATTACKERS]
    sure = [f"{known[name]['sure']:.4f}" if name in known else "" for name in ATTACKERS]
    return [f"{found['loss']:.4f}", *beliefs, *sure]
