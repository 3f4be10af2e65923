"""Small tables and schemas, and a way to run the command line on them in this process."""

import io
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tclose.cli.main import main

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path) -> Outcome:
    """Run `tclose` with these arguments as a user would, but without a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")  # pytest turns them into errors; people see them as notes
        patch.setattr(sys, "argv", ["tclose", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    return Outcome(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


def people(n: int = 12, /, **replaced: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Ages from 20 on and two diseases in turn; other columns take their place or stand beside them."""
    return {"age": [str(20 + row) for row in range(n)], "disease": ["flu", "cold"] * (n // 2)} | replaced


def as_csv(columns: Columns, delimiter: str = ",", end: str = "\n") -> bytes:
    """The bytes of a CSV file."""

    def field(value: str) -> str:
        quoted = any(mark in value for mark in (delimiter, '"', "\r", "\n"))
        return '"' + value.replace('"', '""') + '"' if quoted else value

    lines = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(field, line)) + end for line in lines).encode()


def promise(
    quasi: Mapping[str, Any] | None = None, sensitive: Mapping[str, Any] | None = None, k: Any = 2, **keys: Any
) -> str:
    """A schema as TOML: of the columns that `people` has, if not told otherwise."""
    quasi = {"age": {"kind": "numeric"}} if quasi is None else quasi
    sensitive = {"disease": {"distance": "equal", "t": 0.5}} if sensitive is None else sensitive
    return tomli_w.dumps({"k": k, **keys, "quasi": quasi, "sensitive": sensitive})
