"""The house: names that occur once, public names that stay what they say, pages whose names and tables hold."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tclose
from tclose.algorithms import REGISTRY

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tclose"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

PUBLIC = {  # DESIGN, *Public interface*, and what the pages add to it
    "function": [
        *("anonymize", "assess", "attack", "compare", "emd", "gap", "methods", "moves", "public_report_html"),
        *("report_html", "republish", "suggest", "utility", "verify", "what_binds"),
    ],
    "class": [
        *("Attacks", "Binding", "Certificate", "Comparison", "Gap", "Hierarchy", "Measured", "Partition", "Record"),
        *("Release", "Report", "Schema", "Suggestion", "TableLocation", "Utility", "Verdict"),
        *(
            "BusyError",
            "EarlierReleaseWarning",
            "EngineError",
            "FormulaWarning",
            "HighLossWarning",
            "InferredSchemaWarning",
            "InfeasibleError",
        ),
        *("LockError", "MeasureError", "MissingExtraError", "RepeatedIdentifierWarning"),
        *("SchemaError", "SizeError", "TableError", "TcloseError", "VerificationError"),
    ],
    "module": ["datasets", "distances", "errors", "pages", "spark", "stream", "testing"],
}
KERNELS = {"kernel", "inner", "once"}  # what decorates them


def test_the_top_of_the_package_is_small() -> None:
    entries = [each.name for each in PACKAGE.iterdir() if each.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 21, sorted(entries)


def test_every_room_has_its_layer() -> None:
    """At most nine layers; only the last may import each other; the verifier stands beside. The page says the same."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contracts = settings["contracts"]
    assert not any("ignore_imports" in each for each in [settings, *contracts])
    (layers,) = [each["layers"] for each in contracts if each["type"] == "layers"]
    assert len(layers) <= 9
    assert not any(":" in layer for layer in layers[:-1])
    rooms = [re.findall(r"tclose\.(\w+)", layer) for layer in layers]
    entries = {each.stem for each in PACKAGE.iterdir()} - {"__init__", "__main__", "__pycache__", "py"}
    assert sorted(name for layer in rooms for name in layer) == sorted(entries - {"verification"})
    page = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    told = page.partition("without exemptions: ")[2].partition(". ")[0]
    assert [set(re.findall(r"`(\w+)(?:\.py)?`", layer)) for layer in told.split(">")] == [set(each) for each in rooms]


def test_every_folder_is_on_the_map() -> None:
    page = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([\w.]+)/?` \|", page.partition("## The way of a row")[0], re.MULTILINE))
    entries = {each.name for each in PACKAGE.iterdir() if each.name not in ("__pycache__", "py.typed")}
    assert told == entries - {"__init__.py", "__main__.py", "spark.py"}  # the last stands with `scale`


def test_no_file_name_occurs_twice() -> None:
    names = Counter(file.name for file in PACKAGE.rglob("*.py") if file.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_name_of_a_type_stands_for_two_things() -> None:
    """Classes, private ones too, and types that are given a name; variables of types are no types."""
    meanings: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for name, meaning in _named_types(file):
            meanings.setdefault(name.lstrip("_"), set()).add(meaning)
    assert len(meanings) > 500  # they are found at all
    assert {name: said for name, said in meanings.items() if len(said) > 1} == {}


def _named_types(file: Path) -> Iterator[tuple[str, str]]:
    """The name of each type, and what it is: a class is what its file says, a type with a name what it stands for."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, f"{file}:{node.lineno}"
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name):
            is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
            if re.fullmatch(r"_?[A-Z][A-Za-z]*[a-z][A-Za-z0-9]*", name.id) and not is_variable:
                yield name.id, ast.unparse(node.value)


def test_no_kernel_takes_more_than_eight_arguments() -> None:
    """What belongs together is handed over in a named tuple, whose fields say what they are; there is no exception."""
    counts = {}
    for file in [*PACKAGE.glob("kernels/*.py"), *PACKAGE.rglob("*_loops.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and KERNELS & {ast.unparse(each) for each in node.decorator_list}:
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                counts[f"{file.name}: {node.name}"] = len(taken)
    assert len(counts) > 100  # they are found at all
    assert {name: count for name, count in counts.items() if count > 8} == {}


def test_no_submodule_hides_a_public_name() -> None:
    """In a process of its own, in which nothing else was imported before."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_house import check_public_names; check_public_names()"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr


def check_public_names() -> None:
    """Import every submodule, then look at what the public names are."""
    for module in pkgutil.walk_packages(tclose.__path__, "tclose."):
        importlib.import_module(module.name)
    for kind, names in PUBLIC.items():
        for name in names:
            found = getattr(tclose, name)
            is_so = {
                "function": inspect.isfunction(found),
                "class": inspect.isclass(found),
                "module": isinstance(found, ModuleType),
            }
            assert is_so[kind], f"tclose.{name} is no {kind} but {found!r}"
    for name in REGISTRY.kinds:
        assert inspect.isclass(getattr(tclose, name))


def test_type_checkers_see_every_method() -> None:
    """Names are loaded when used, so those of methods stand where type checkers look as well."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    hidden = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.name for node in hidden.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert set(REGISTRY.kinds) <= seen


def test_all_public_names_are_told() -> None:
    told = {name for names in PUBLIC.values() for name in names}
    assert set(tclose.__all__) - {"__version__"} == told


def test_every_name_on_a_page_is_there() -> None:
    """After `import tclose` alone, in a process in which nothing else was imported; what is imported from can be."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_house import check_names; check_names()"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr


def check_names() -> None:
    """Look up every name that a page mentions; what was imported for another must not lend it one."""
    public = {*dir(tclose)}
    names = set()
    for page in PAGES:
        names |= {
            *re.findall(r"(?<![\w./-])(from |import )?tclose((?:\.[A-Za-z_]\w*)+)", page.read_text(encoding="utf-8"))
        }
    assert len(names) > 80  # they are found at all
    for word, name in sorted(names):
        parts = name.strip(".").split(".")
        if word:
            importlib.import_module(f"tclose{name}")
        elif parts[-1] not in ("csv", "toml", "html", "py"):
            assert parts[0] in public, f"tclose{name}"
            found: object = tclose
            for part in parts:
                found = getattr(found, part)


def test_methods_do_not_import_each_other() -> None:
    """Every folder of a method, also one that the import contract does not name yet."""
    folder = PACKAGE / "algorithms"
    methods = [each.name for each in folder.iterdir() if each.is_dir() and each.name not in ("shared", "__pycache__")]
    for method in methods:
        for file in (folder / method).glob("*.py"):
            others = re.findall(r"tclose\.algorithms\.(\w+)", file.read_text(encoding="utf-8"))
            assert not {*others} & {*methods} - {method}, file.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_file_on_a_page_is_there(page: Path) -> None:
    """Paths of the project in backquotes, and targets of links."""
    text = page.read_text(encoding="utf-8")
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [each for each in links if each and not (page.parent / each).exists()] == []
    folders = "src|tests|docs|benchmarks|algorithms|kernels|table|release|verification|evaluation|history"
    named = re.findall(rf"`((?:{folders})/[a-z_./0-9]+)`", text)
    roots = (ROOT, PACKAGE)
    assert [each for each in named if "mine" not in each and not any(_is_there(root / each) for root in roots)] == []


def _is_there(path: Path) -> bool:
    return path.exists() or path.with_suffix(".py").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_table_has_as_many_cells_in_each_line(page: Path) -> None:
    assert list(_broken_tables(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "broken",
    [
        "| a | b |\n|---|---|\n| 1 |\n",
        "- a list\n\n  | a | b |\n  |---|---|\n  | 1 | 2 | 3 |\n",
        "| a | b |\n|---|---|\n| `1 | 2` | 3 |\n",  # a bar within backquotes ends a cell all the same
        "  | a | b | |---|---| | 1 | 2 |\n",  # a table that was filled like a paragraph
        "text\n|---|---|\n| 1 | 2 |\n",
    ],
)
def test_a_broken_table_is_found(broken: str) -> None:
    assert list(_broken_tables(broken))


def _broken_tables(text: str) -> Iterator[str]:
    """What is wrong with tables, also with those in lists: every line has the cells of the head, and only they rule."""
    fenced, cells = False, None
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        fenced ^= line.startswith("```")
        is_rule = re.fullmatch(r"\|(?: *:?-+:? *\|)+", line) is not None
        if not fenced and not is_rule and re.search(r"\| *:?---", line):
            yield f"line {number}: the rule of a table does not stand alone"
        if fenced or not line.startswith("|"):
            cells = None
            continue
        count = len(re.sub(r"\\\|", "", line).removeprefix("|").removesuffix("|").split("|"))
        if (cells is None and is_rule) or cells not in (None, count):
            yield f"line {number}: {count} cells and not {cells}"
        cells = count


def test_what_every_user_loads_needs_no_extra() -> None:
    """A package of an extra is imported where it is needed, but for the app and Spark, which are extras themselves."""
    root = Path(tclose.__file__).parent
    project = tomllib.loads((root.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in project["dependencies"]}
    found = {
        (path.name, name)
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] not in ("app", "spark.py") and "spark" not in path.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in _roots(node)
    }
    wanted = sys.stdlib_module_names | installed | {"tclose", "llvmlite", "click"}
    assert {each for each in found if each[1] not in wanted} == set()


def _roots(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name.partition(".")[0] for each in node.names]
    return [(node.module or "").partition(".")[0]] if isinstance(node, ast.ImportFrom) else []
