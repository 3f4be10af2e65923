"""Running a page as a reader would: its blocks one after the other, in a folder of their own."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.docs.code_blocks import Block, is_run

COLUMNS = "100"
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class PageError(AssertionError):
    """A block does not do what its page says."""


def run_page(found: list[Block], folder: Path, given: dict[str, Any]) -> None:
    """Run every block of a page that can be run; what is shown as output must come out."""
    names: dict[str, Any] = {"__name__": "__main__", **given}
    for block in found:
        if block.not_run is None and block.language in ("python", "pycon", "console"):
            try:
                _run(block, folder, names)
            except PageError:
                raise
            except (Exception, SystemExit) as error:
                raise PageError(f"{block.place}: {type(error).__name__}: {error}") from error


def _run(block: Block, folder: Path, names: dict[str, Any]) -> None:
    if block.language == "python":
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * block.line + block.text, str(block.page), "exec", dont_inherit=True), names)
    elif block.language == "pycon":
        _run_examples(block, names)
    else:
        for command, output in block.steps():
            if is_run(command):
                _check_output(block, command, output, *run_command(command, folder))


def _run_examples(block: Block, names: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_doctest(block.text, names, block.place, str(block.page), block.line)
    runner = doctest.DocTestRunner(optionflags=LIKE, verbose=False)
    told = io.StringIO()
    runner.run(examples, out=told.write, clear_globs=False)
    names.update(examples.globs)
    if runner.failures:
        raise PageError(f"{block.place}:\n{told.getvalue()}")


def _check_output(block: Block, command: str, shown: str, code: int, told: str) -> None:
    expected = 0
    if shown.endswith("]") and "[exit code " in shown:  # a failure that is meant is shown as one
        shown, _, number = shown.rpartition("[exit code ")
        expected = int(number.rstrip("]"))
    if code != expected:
        raise PageError(f"{block.place}: `{command}` ended with {code}, and not with {expected}:\n{told}")
    if shown.strip() and not doctest.OutputChecker().check_output(f"{shown.strip()}\n", f"{told.strip()}\n", LIKE):
        raise PageError(f"{block.place}: `{command}` shows\n{told}\nand not\n{shown}")


def run_command(command: str, folder: Path) -> tuple[int, str]:
    """How a command ended, and what it showed: on stdout, and on stderr where it failed."""
    if command.startswith("tclose ") and not any(sign in command for sign in "<>|*'"):
        with contextlib.chdir(folder):
            return _run_here(command.partition(" # ")[0].split())
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": paths, "COLUMNS": COLUMNS},
    )
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def _run_here(words: list[str]) -> tuple[int, str]:
    """The same in this process, which need not load everything again."""
    from tclose.cli.main import main

    told, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
        patch.setattr(sys, "argv", words)
        patch.setenv("COLUMNS", COLUMNS)
        patch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own
        with pytest.raises(SystemExit) as end:
            main()
    code = int(end.value.code or 0)
    return code, told.getvalue() + (said.getvalue() if code else "")
