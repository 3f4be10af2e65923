"""Whether a table was released before, by records of earlier releases."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tclose.errors import EarlierReleaseWarning, TableError
from tclose.release.record import Record

ADVICE = (
    "Each release keeps its promise by itself, but whoever has two of one table can intersect their classes, and may "
    "then single people out. Release a table once, or give the two to people who do not share them."
)
MOST = 1 << 26  # bytes; a record has some thousand, and 70 more for each column
Earlier = Record | Path | str
Fields = dict[str, Any]


def read_earlier(earlier: Earlier | Iterable[Earlier]) -> list[tuple[str, Fields]]:
    """Records of earlier releases, each with what it is called in messages.

    Parameters
    ----------
    earlier
        Records, files that hold one, or folders: in a folder all files named `*.json` that hold one.

    Raises
    ------
    TableError
        A file is absent, or is no record.
    """
    if isinstance(earlier, Record | Path | str):
        earlier = [earlier]
    found: list[tuple[str, Fields]] = []
    for each in earlier:
        if isinstance(each, Record):
            found.append(("a record", each.as_dict()))
        elif Path(each).is_dir():
            records = [(f"'{path.name}'", _fields(path)) for path in sorted(Path(each).glob("*.json"))]
            found += [(name, fields) for name, fields in records if fields is not None]
        else:
            fields = _fields(Path(each))
            if fields is None:
                raise TableError(
                    f"'{Path(each).name}' is not a record of a release. Name a file that `--record` wrote, or a folder "
                    "of them."
                )
            found.append((f"'{Path(each).name}'", fields))
    return found


def holds_record(path: Path) -> bool:
    """Whether a file is there, and is the record of a release."""
    return _fields(path) is not None


def warn_of_earlier(record: Record, targets: Iterable[Path], stacklevel: int = 2) -> None:
    """Warn if one of these files, which are about to be replaced, is a record of an earlier release of the table."""
    there = [(f"'{path.name}'", fields) for path in targets if (fields := _fields(path)) is not None]
    warn_of_same_table(record, there, stacklevel + 1)


def warn_of_same_table(record: Record, earlier: Iterable[tuple[str, Fields]], stacklevel: int = 2) -> None:
    """Warn if the table was released before, by what `read_earlier` found."""
    for name, fields in earlier:
        what = _what_is_the_same(record, fields)
        if what is not None:
            warnings.warn(
                f"This table was released before: {name} is of an earlier release of {what}. {ADVICE}",
                EarlierReleaseWarning,
                stacklevel=stacklevel + 1,
            )


def _what_is_the_same(record: Record, fields: Fields) -> str | None:
    """What two tables have in common if they are the same, as far as that can be known; else None."""
    if fields["run"] == record.run:  # one release, written again
        return None
    if fields["input_sha256"] == record.input_sha256:
        return "the same input"
    before = fields["input_columns"]
    common = [name for name in record.input_columns if name in before]
    if fields["input_rows"] != record.input_rows or any(before[name] != record.input_columns[name] for name in common):
        return None
    listed = ", ".join(f"'{name}'" for name in common[:20]) + (", ..." if len(common) > 20 else "")
    return f"{record.input_rows:,} rows with the same values in {listed}" if common else None


def _fields(path: Path) -> Fields | None:
    """What a record tells of its input; None if the file is absent or no record."""
    try:
        if not path.is_file() or path.stat().st_size > MOST:
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
        fields = {"input_columns": {}, "run": None} | told  # which older records do not have
        return fields if fields.keys() >= {"input_sha256", "input_rows"} and _is_table(fields) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _is_table(fields: Fields) -> bool:
    columns = fields["input_columns"]
    return isinstance(columns, dict) and all(isinstance(digest, str) for digest in columns.values())
