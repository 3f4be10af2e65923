"""The code blocks of the pages: what each is, and what can be said of it without running it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.generate.cli_reference import commands
from docs.generate.marked import DOCS, ROOT

RUN = ("python", "pycon", "console")
READ = ("toml", "json")
SHOWN = ("text",)  # output, and what else is no code
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\n+$")
NEED_MORE = (  # commands that do not end, or need a server: those have tests of their own
    *("--follow", "redis://", "postgresql://", "tclose app", "--engine spark"),
)
TOOLS = ("cat", "head", "ls", "mkdir", "cp", "python")  # what else a page may run


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes
    ----------
    page, line
        Where it stands.
    language
        What is written behind its fence.
    text
        What is in it.
    not_run
        Why it is not run; None if it is.
    """

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}, line {self.line}"

    def steps(self) -> Iterator[tuple[str, str]]:
        """Of a console: each command, and the output that is shown below it."""
        command = ""
        output: list[str] = []
        for line in self.text.split("\n"):
            if line.startswith("$ "):
                if command:
                    yield command, "\n".join(output).strip()
                command, output = line[2:], []
            elif command.endswith("\\") and not output:
                command = f"{command[:-1].rstrip()} {line.strip()}"
            elif line.strip():
                output.append(line)
        if command:
            yield command, "\n".join(output).strip()


def blocks(page: Path) -> Iterator[Block]:
    """Every code block of a page; what Sphinx alone obeys is left out."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, _, language, inside = found.groups()
        if language.strip().startswith("{"):
            continue
        reason = NOT_RUN.search(text[: found.start()])
        inside = "".join(line.removeprefix(indent) for line in inside.splitlines(keepends=True))
        yield Block(
            page, text[: found.start()].count("\n") + 1, language.strip(), inside, reason[1] if reason else None
        )


def is_run(command: str) -> bool:
    """Whether a command of a page can be run by a test: the others are only looked at."""
    words = _words(command)
    if words[0] == "python" and words[1:2] == ["-m"]:
        return False
    return words[0] in ("tclose", *TOOLS) and not any(each in command for each in NEED_MORE)


def problem(command: str) -> str | None:
    """What is wrong with a command as it stands: a name or an option that is not there."""
    words = _words(command)
    if words[0] == "tclose":
        return _problem_of_tclose(words)
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return next(
            (f"there is no `make {each}`" for each in words[1:] if "=" not in each and each not in targets), None
        )
    if words[0].endswith("python") and words[1:2] == ["-m"]:
        return _problem_of_module(words[2:])
    if words[0] in ("pip", "git", ".venv/bin/tclose", ".venv/bin/pytest", *TOOLS):
        return None
    return f"nobody knows `{words[0]}`"


def _words(command: str) -> list[str]:
    """The words of a command, without a comment and without variables before it."""
    words = shlex.split(command, comments=True)
    while len(words) > 1 and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    return words


def _problem_of_tclose(words: list[str]) -> str | None:
    if len(words) == 1 or words[1].startswith("-"):
        return None
    if words[1] not in _options():
        return f"there is no `tclose {words[1]}`"
    unknown = [
        each for each in words[2:] if re.match(r"--?[a-z]", each) and each.split("=")[0] not in _options()[words[1]]
    ]
    return f"`tclose {words[1]}` has no {unknown[0]}" if unknown else None


@cache
def _options() -> dict[str, set[str]]:
    return {
        name: {"--help", *(each for option in command.params for each in (*option.opts, *option.secondary_opts))}
        for name, command in commands().items()
    }


def _problem_of_module(words: list[str]) -> str | None:
    path = ROOT.joinpath(*words[0].split("."))
    if words[0] == "tclose" or path.with_suffix(".py").exists():
        return None
    if not path.is_dir():
        return f"there is no module {words[0]}"
    named = [each for each in words[1:2] if re.fullmatch("[a-z_]+", each)]  # of the package's own programs
    return next((f"there is no {words[0]} {each}" for each in named if not (path / f"{each}.py").exists()), None)
