"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import Any, get_args

import typer.main

from docs.generate.marked import GENERATED, anchor, code, safe, sentence, table
from tclose.cli.exit_codes import MEANINGS
from tclose.cli.main import app

TYPES = {"str": "text", "Path": "file", "int": "whole number", "float": "number", "bool": ""}


def commands() -> dict[str, Any]:
    """The commands by name, as the command line lists them."""
    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def examples(command: Any) -> list[str]:
    """The command lines that a command shows at the end of its help."""
    shown = re.sub(r"^Examples?:", "", _plain(command.epilog or "")).split("\n")
    return [line.strip() for line in shown if line.strip().startswith("tclose ")]


def cli_page() -> str:
    """The whole page."""
    found = commands()
    overview = table(
        ["command", "what it does"],
        [[f"[`tclose {name}`](#tclose-{name})", first_sentence(command)] for name, command in found.items()],
    )
    codes = table(["code", "meaning"], [[number, meaning] for number, meaning in MEANINGS.items()])
    before, shared = typer.main.get_command(app), _shared(found)
    return "\n\n".join(
        [
            "# The command line",
            GENERATED,
            "Messages and progress go to standard error, results to standard output or to the file you name. With "
            "`--json` a command prints JSON for programs. Every failure is a sentence and an exit code, never a "
            "traceback.",
            overview,
            "## Exit codes",
            codes,
            "Which error ends with which code is in [Errors and warnings](errors.md).",
            "## Options before the command",
            _options(before.params),
            *(_section(name, command, shared) for name, command in found.items()),
            *(f"## {title}\n\n{options}" for title, options in shared.items()),
        ]
    )


def first_sentence(command: Any) -> str:
    """What the overview says of a command."""
    return sentence(_plain(command.help).split("\n\n")[0])


def _section(name: str, command: Any, shared: dict[str, str]) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(["tclose", name, *(each.name.upper() for each in arguments), "[OPTIONS]"])
    parts = [f"## tclose {name}", safe(_plain(command.help)), f"```text\n{usage}\n```"]
    if arguments:
        told = [[code(each.name.upper()), sentence(_plain(each.help or ""))] for each in arguments]
        parts.append(table(["argument", "what it is"], told))
    also = []
    for title, options in _panels(command).items():
        if shared.get(title) == options:
            also.append(f"[{title.lower()}](#{anchor(title)})")
        else:
            parts += [f"**{title}**"] * bool(title) + [options]
    parts += [f"It also takes the options for {' and '.join(also)}."] if also else []
    shown = "\n".join(f"$ {line}" for line in examples(command))
    return "\n\n".join([*parts, f"```console\n{shown}\n```"])


def _panels(command: Any) -> dict[str, str]:
    """The options of a command in tables, by the panel that help shows them in."""
    panels: dict[str, list[Any]] = {}
    for each in command.params:
        if each.param_type_name == "option":
            panels.setdefault(each.rich_help_panel or "", []).append(each)
    return {title: _options(members) for title, members in panels.items()}


def _shared(found: dict[str, Any]) -> dict[str, str]:
    """The panels that at least three commands have alike."""
    counted = Counter(panel for command in found.values() for panel in _panels(command).items() if panel[0])
    return {title: options for (title, options), count in counted.items() if count >= 3}


def _options(options: list[Any]) -> str:
    rows = [[_names(each), sentence(_plain(each.help or "")), _takes(each), _default(each)] for each in options]
    return table(["option", "what it does", "takes", "if not given"], rows)


def _names(option: Any) -> str:
    return ", ".join(code(name) for name in [*option.opts, *option.secondary_opts])


def _takes(option: Any) -> str:
    annotation = option.type_descriptor.annotation
    kind = (get_args(annotation) or (annotation,))[0]
    if isinstance(kind, str):  # one of several words
        return ", ".join(map(code, get_args(annotation)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(code(str(each.value)) for each in kind)
    limits = f" from {option.min} up" if option.min is not None else ""
    many = ", repeatable" if option.multiple else ""
    return f"{TYPES.get(getattr(kind, '__name__', ''), 'text')}{limits}{many}"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.default in (None, False) or not option.show_default:
        return ""
    return code(str(option.default))


def _plain(words: str) -> str:
    """Without the marks that make words bold on a terminal."""
    return re.sub(r"\[/?(bold|dim|italic)\]", "", words).strip()
