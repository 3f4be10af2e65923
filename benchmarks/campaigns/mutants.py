"""Mutants: one wrong comparison, constant, index or sign at a time, in what makes releases.

Each mutant of the encoder, the distances, the kernels and loops, recoding and axes releases the corpus. A release or
certificate that differs from the right one is judged by the fuzzer's judge, which takes nothing from the package:
does it keep its promise, is it true to the original, are the numbers of its certificate right, and its loss? One that
is wrong, and was written all the same, is a survivor. `MUTANTS` and `MUTANT_SEED` say how many are drawn, and how.
"""

from __future__ import annotations

import ast
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tclose
from benchmarks.campaigns.corpus import METHODS, corpus
from benchmarks.campaigns.mutant_pool import MutantPool
from benchmarks.campaigns.mutant_verdict import differs, wrong_with

PACKAGE = Path(tclose.__file__).parent
ENCODER = ("encode", "reading", "quasi", "sensitive", "joint_codes", "axes", "times", "row_selection", "coded")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
CHECKED = ("VerificationError",)  # what the verifier, truth and the agreement of both raise
Lines = dict[str, set[int]]  # by case, the lines of a file that it runs


def files() -> list[str]:
    """Encoder and axes, distances, kernels, all compiled loops, and recoding."""
    found = [PACKAGE / "table" / f"{name}.py" for name in ENCODER]
    found += sorted((PACKAGE / "distances").glob("*.py"))
    found += [path for path in sorted((PACKAGE / "kernels").glob("*.py")) if path.stem not in ("__init__", "compile")]
    found += sorted((PACKAGE / "algorithms").rglob("*_loops.py"))
    found += [PACKAGE / "release" / "recode.py", PACKAGE / "release" / "column_types.py"]
    return [str(path.relative_to(PACKAGE)) for path in found]


@dataclass(frozen=True)
class Mutant:
    """One change: the how-manieth place of a file, and the lines of its statement; none where it runs on loading."""

    file: str
    place: int
    line: int
    what: str
    statement: tuple[int, int] | None

    def reached_by(self, lines: Lines) -> list[str]:
        """The cases that run it."""
        if self.statement is None:
            return list(lines)
        inside = range(self.statement[0], self.statement[1] + 1)
        return [name for name, run in lines.items() if not run.isdisjoint(inside)]


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Callable[[], None]]]:
    """Every place that can be changed, what the change is, and how it is made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            yield node, f"{type(node.ops[0]).__name__} swapped", partial(_swap_comparison, node)
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
            yield node, f"{type(node.op).__name__} swapped", partial(_swap, node)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, f"{node.value} becomes {node.value + 1}", partial(setattr, node, "value", node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node, "minus dropped", partial(setattr, node, "op", ast.UAdd())


def _swap_comparison(node: Any) -> None:
    node.ops[0] = SWAPPED[type(node.ops[0])]()


def _swap(node: Any) -> None:
    node.op = SWAPPED[type(node.op)]()


def statements(tree: ast.AST) -> dict[ast.AST, tuple[int, int] | None]:
    """Of every node, the lines of the statement of a function that it belongs to; of a loop or a test only its head."""
    found: dict[ast.AST, tuple[int, int] | None] = {}

    def visit(node: ast.AST, lines: tuple[int, int] | None, in_function: bool) -> None:
        if isinstance(node, ast.stmt) and in_function:
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            lines = node.lineno, max(end, node.lineno)
        found[node] = lines
        inside = in_function or isinstance(node, ast.FunctionDef)
        own = {id(each) for each in getattr(node, "body", [])} if isinstance(node, ast.FunctionDef) else set()
        for child in ast.iter_child_nodes(node):  # defaults and decorators of a function run where it is defined
            visit(child, lines, inside if id(child) in own or not isinstance(node, ast.FunctionDef) else in_function)

    visit(tree, None, False)
    return found


def all_mutants() -> list[Mutant]:
    """Every change of every file."""
    found = []
    for file in files():
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        lines = statements(tree)
        for place, (node, what, _) in enumerate(places(tree)):
            found.append(Mutant(file, place, getattr(node, "lineno", 0), what, lines[node]))
    return found


def mutated(mutant: Mutant) -> str:
    """The source of a file with the change in it."""
    tree = ast.parse((PACKAGE / mutant.file).read_text(encoding="utf-8"))
    for place, (_, _, change) in enumerate(places(tree)):
        if place == mutant.place:
            change()
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def judge(mutant: Mutant, names: list[str], right: Path, pool: MutantPool) -> tuple[str, str]:
    """What became of a mutant, and where it survived."""
    if not names:
        return "not reached", ""
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        ended = pool.run(folder, names, mutant.file, mutated(mutant))
        if ended != "done":
            return f"caught: {ended}", ""
        outcomes, expected = (_outcomes(each) for each in (folder, right))
        cases = {name: corpus()[name] for name in names}
        changed = [
            name
            for name, case in cases.items()
            if outcomes[name] != expected[name] or differs(case, folder, right, name)
        ]
        wrong = [problem for name in changed if (problem := wrong_with(cases[name], folder, name))]
        if wrong:
            only_loss = all(problem.is_loss for problem in wrong)
            return "wrong in the record alone" if only_loss else "survived", "; ".join(map(str, wrong[:3]))
        refused = {outcomes[name] for name in changed if outcomes[name] != "released"}
        if refused & {*CHECKED}:
            return "caught: verified", ""
        if refused:
            return "caught: " + ("refused" if all(hasattr(tclose, each) for each in refused) else "crashed"), ""
        return "another release, and true" if changed else "changes nothing", ""


def _outcomes(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))
    return found


def mutate() -> dict[str, Any]:
    """Draw mutants, judge each, and list those that survive."""
    number, seed = int(os.environ.get("MUTANTS", "300")), int(os.environ.get("MUTANT_SEED", "1"))
    every = all_mutants()
    mutants = random.Random(seed).sample(every, min(number, len(every)))
    with tempfile.TemporaryDirectory() as room, MutantPool() as pool:
        right = Path(room)
        traced = {name: pool.traced(right, files(), name) for name in corpus()}
        (right / "outcomes.json").write_text(json.dumps({name: each["what"] for name, each in traced.items()}))
        problems = [str(problem) for name in corpus() if (problem := wrong_with(corpus()[name], right, name))]
        if problems:
            raise SystemExit(f"The corpus is not released rightly without a mutant: {'; '.join(problems)}")
        judged = []
        for mutant in mutants:
            of_file = {name: each["lines"].get(mutant.file, set()) for name, each in traced.items()}
            judged.append(judge(mutant, mutant.reached_by(of_file), right, pool))
            print(f"{len(judged)} {mutant.file}:{mutant.line}, {mutant.what}: {judged[-1][0]}", flush=True)
    return _counts(mutants, judged, seed, len(every))


def _counts(mutants: list[Mutant], judged: list[tuple[str, str]], seed: int, n_places: int) -> dict[str, Any]:
    """How many ended how, and all that were not caught, by the reason."""
    listed: dict[str, list[str]] = {}
    for mutant, (what, where) in zip(mutants, judged, strict=True):
        if not what.startswith("caught"):
            told = f"{mutant.file}:{mutant.line}, {mutant.what}"
            listed.setdefault(what, []).append(f"{told}: {where}" if where else told)
    return {
        "mutants": len(mutants),
        "of_places": n_places,
        "seed": seed,
        "methods": METHODS,
        "cases": len(corpus()),
        "counts": dict(sorted(Counter(what for what, _ in judged).items())),
        "not_caught": listed,
        "findings": [told for what, some in listed.items() if what.startswith("survived") for told in some],
    }
