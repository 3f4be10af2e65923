"""Mutants: one wrong comparison, constant, index or sign at a time, in what makes releases.

Each mutant of the encoder, the distances, the kernels, recoding and axes releases the corpus. A release that
differs from the right one is judged by the package as it is: does it keep its promise, is it true to the
original, and does its certificate fit and tell the right loss? One that does not, and was written all the
same, is a survivor. `MUTANTS` and `MUTANT_SEED` say how many are drawn, and how.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tclose
from benchmarks.campaigns.corpus import METHODS, tables

PACKAGE = Path(tclose.__file__).parent
FILES = [
    *(f"table/{name}.py" for name in ("encode", "reading", "quasi", "sensitive", "joint_codes", "axes", "times")),
    *(f"table/{name}.py" for name in ("row_selection", "coded")),
    *(
        f"distances/{name}.py"
        for name in ("equal", "hierarchical", "line", "numeric", "ordered", "transport_form", "tree")
    ),
    *(f"kernels/{name}.py" for name in ("closeness", "costs", "sorting", "transport")),
    *("release/recode.py", "release/column_types.py"),
]
SECONDS = 120.0
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the how-manieth place of a file."""

    file: str
    place: int
    line: int
    what: str


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


def drawn(number: int, seed: int) -> list[Mutant]:
    """So many mutants of all there are, at random."""
    found = []
    for file in FILES:
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        for place, (node, what, _) in enumerate(places(tree)):
            found.append(Mutant(file, place, getattr(node, "lineno", 0), what))
    return random.Random(seed).sample(found, min(number, len(found)))


def mutated(mutant: Mutant) -> str:
    """The source of a file with the change in it."""
    tree = copy.deepcopy(ast.parse((PACKAGE / mutant.file).read_text(encoding="utf-8")))
    for place, (_, _, change) in enumerate(places(tree)):
        if place == mutant.place:
            change()
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def releases(folder: Path, package: Path) -> dict[str, str] | None:
    """What became of the corpus with a package, whose releases are in the folder; None if it took too long or died."""
    path = os.pathsep.join([str(package), str(PACKAGE.parent.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "benchmarks.campaigns.corpus", str(folder)]
    try:
        subprocess.run(command, env=environment, timeout=SECONDS, check=True, capture_output=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    found: dict[str, str] = json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))
    return found


def judge(mutant: Mutant, right: Path) -> tuple[str, str]:
    """What became of a mutant, and where it survived."""
    with tempfile.TemporaryDirectory() as room:
        package, folder = Path(room) / "package", Path(room) / "releases"
        shutil.copytree(PACKAGE, package / "tclose", ignore=shutil.ignore_patterns("__pycache__"))
        folder.mkdir()
        (package / "tclose" / mutant.file).write_text(mutated(mutant), encoding="utf-8")
        outcomes = releases(folder, package)
        if outcomes is None:
            return "died or hung", ""
        wrong = [problem for name in outcomes if (problem := _wrong(name, folder, right))]
        if wrong:
            return "survived", "; ".join(wrong)
        expected = json.loads((right / "outcomes.json").read_text(encoding="utf-8"))
        if outcomes == expected and all(_same(name, folder, right) for name in outcomes):
            return "changes nothing", ""
        caught = {kind for name, kind in outcomes.items() if kind not in ("released", expected[name])}
        return f"caught: {min(caught)}" if caught else "another release, and true", ""


def _same(name: str, folder: Path, right: Path) -> bool:
    one, other = folder / f"{name}.csv", right / f"{name}.csv"
    return one.exists() == other.exists() and (not one.exists() or one.read_bytes() == other.read_bytes())


def _wrong(name: str, folder: Path, right: Path) -> str | None:
    """What is wrong with a release that was written, by the package as it is."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return None
    beside = path.with_name(path.name + ".certificate.json")
    certificate = json.loads(beside.read_text(encoding="utf-8"))
    if _same(name, folder, right):
        before = json.loads((right / beside.name).read_text(encoding="utf-8"))
        differ = [key for key in before if before[key] != certificate.get(key)]
        return f"{name}: certificate differs in {', '.join(differ)}" if differ else None
    table = next(each for each in tables() if name.startswith(each.name.replace(" ", "-") + "-"))
    verdict = tclose.verify(path, table.schema, original=table.frame)
    if not verdict.holds:
        return f"{name}: {verdict.problems[0]}"
    return None


def mutate() -> dict[str, Any]:
    """Draw mutants, judge each, and list those that survive."""
    number, seed = int(os.environ.get("MUTANTS", "300")), int(os.environ.get("MUTANT_SEED", "1"))
    with tempfile.TemporaryDirectory() as room:
        right = Path(room)
        if releases(right, PACKAGE.parent) is None:
            raise SystemExit("The corpus cannot be released without a mutant.")
        mutants = drawn(number, seed)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            judged = list(pool.map(lambda mutant: judge(mutant, right), mutants))
    survivors = [
        f"{mutant.file}:{mutant.line}, {mutant.what}: {where}"
        for mutant, (what, where) in zip(mutants, judged, strict=True)
        if what == "survived"
    ]
    counts = Counter(what for what, _ in judged)
    return {"mutants": len(mutants), "seed": seed, "methods": METHODS, "counts": dict(counts), "findings": survivors}
