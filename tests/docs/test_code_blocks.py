"""Everything on the pages runs: code blocks, commands, and what they show."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.generate.cli_reference import commands, examples
from docs.generate.marked import DOCS, ROOT
from tests.docs.code_blocks import PAGES, READ, RUN, SHOWN, Block, blocks, is_run, problem
from tests.docs.given import GIVEN, begin_history, files_for_commands
from tests.docs.page_runs import PageError, run_page

EVERY = [block for page in PAGES for block in blocks(page)]
QUICK = ("how-to/missing-values.md",)  # run every day
RUN_ELSEWHERE = ("reference/cli.md",)  # its examples, each in a folder of its own


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


def _runs(page: Path) -> bool:
    return _name(page) not in RUN_ELSEWHERE and any(block.language in RUN for block in blocks(page))


def test_every_block_says_what_it_is() -> None:
    unknown = [block.place for block in EVERY if block.language not in (*RUN, *READ, *SHOWN)]
    assert unknown == [], "say behind the fence what it is: python, pycon, console, toml, json, or text for output"


def test_every_command_on_a_page_is_there() -> None:
    found = [
        (block.place, problem(step)) for block in EVERY if block.language == "console" for step, _ in block.steps()
    ]
    assert [each for each in found if each[1] is not None] == []


def test_every_console_has_a_command() -> None:
    assert [block.place for block in EVERY if block.language == "console" and not list(block.steps())] == []


def test_what_is_not_run_is_python_all_the_same() -> None:
    for block in EVERY:
        if block.language == "python":
            compile(block.text, block.place, "exec")


def test_data_on_the_pages_can_be_read() -> None:
    for block in EVERY:
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("tclose anonimize x.csv", "there is no `tclose anonimize`"),
        ("tclose anonymize x.csv --sead 3", "`tclose anonymize` has no --sead"),
        ("make tea", "there is no `make tea`"),
        ("A=1 .venv/bin/python -m benchmarks nothing", "there is no benchmarks nothing"),
        ("rm -rf .", "nobody knows `rm`"),
        ("tclose anonymize x.csv -s s.toml --k 3  # a comment", None),
        (".venv/bin/python -m benchmarks tight", None),
    ],
)
def test_a_wrong_command_is_found(command: str, told: str | None) -> None:
    assert problem(command) == told


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "1 / 0"),
        ("pycon", ">>> 1 + 1\n3\n"),
        ("console", "$ cat nothing.csv\n"),
        ("console", "$ ls\nno such file\n"),
    ],
)
def test_a_page_that_is_wrong_is_found(
    language: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PageError):
        run_page([Block(ROOT / "README.md", 1, language, text)], tmp_path, {})


@pytest.mark.filterwarnings("ignore::tclose.errors.TcloseWarning")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page), marks=[] if _name(page) in QUICK else [pytest.mark.slow])
        for page in PAGES
        if _runs(page)
    ],
)
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: Callable[[Path], dict[str, Any]] = GIVEN.get(_name(page), lambda folder: {})
    run_page(list(blocks(page)), tmp_path, given(tmp_path))


@pytest.fixture(scope="module")
def folder_of_a_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    files_for_commands(folder)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tclose.errors.TcloseWarning")
@pytest.mark.parametrize("name", list(commands()))
def test_the_examples_of_a_command_run(
    name: str, folder_of_a_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = [line for line in examples(commands()[name]) if is_run(line)]
    assert shown or name == "app"
    for number, line in enumerate(shown):
        folder = shutil.copytree(folder_of_a_reader, tmp_path / str(number))
        if name == "init":
            (folder / "schema.toml").unlink()
        if name in ("republish", "history"):
            begin_history(folder)
        if "tclose anonymize" in line and name == "republish":
            shutil.rmtree(folder / "history")
        monkeypatch.chdir(folder)
        line = line.replace("/tmp/demo", str(folder / "demo"))
        run_page([Block(ROOT / "README.md", number, "console", f"$ {line}\n")], folder, {})


def test_given_names_are_those_of_pages() -> None:
    assert [name for name in GIVEN if not ((DOCS / name).exists() or (ROOT / name).exists())] == []
