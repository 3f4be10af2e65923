"""Whether a table was released before, by records of earlier releases."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from tclose.errors import EarlierReleaseWarning, TableError
from tclose.release.known_persons import is_history
from tclose.release.record import Record
from tclose.table.column_names import listed

ADVICE = (
    "Each release keeps its promise by itself, but whoever has two of one table can intersect their classes, and may "
    "then single people out. Begin a history (`tclose anonymize --history`) and release the table again with `tclose "
    "republish`; else release it once, or give the two to people who do not share them."
)
MOST = 1 << 26  # bytes; a record has some thousand, and 70 more for each column
BEGINNING = 4096  # bytes, among which a record names the digest of its input
Earlier = Record | Path | str
Fields = dict[str, Any]


def named_earlier(earlier: Earlier | Iterable[Earlier]) -> list[Earlier]:
    """What is named as earlier releases, one or several, as a list.

    Examples
    --------
    >>> named_earlier("records")
    ['records']
    """
    one = isinstance(earlier, Record | Path | str) or not isinstance(earlier, Iterable)
    named: list[Any] = [earlier] if one else [*cast("Iterable[Any]", earlier)]
    if not all(isinstance(each, Record | Path | str) for each in named):
        raise TableError("earlier must be records, files that hold one, or folders of them.")
    return named


def read_earlier(earlier: Earlier | Iterable[Earlier]) -> list[tuple[str, Fields]]:
    """Records of earlier releases, each with what it is called in messages.

    Parameters
    ----------
    earlier
        Records, files that hold one, or folders: in a folder all files that hold one, whatever their names. A warning
        says which files of a folder may be records that cannot be read, and that a folder has none. The folder of a
        history holds no records; see `histories_among`.

    Raises
    ------
    TableError
        A file is absent, or is no record.
    """
    found: list[tuple[str, Fields]] = []
    for each in named_earlier(earlier):
        if isinstance(each, Record):
            found.append(("a record", each.as_dict()))
        elif Path(each).is_dir():
            found += [] if is_history(Path(each)) else _in_folder(Path(each))
        else:
            fields = _fields(Path(each))
            if fields is None:
                raise TableError(
                    f"'{Path(each).name}' is not a record of a release. Name a file that `--record` wrote, or a folder "
                    "of them."
                )
            found.append((f"'{Path(each).name}'", fields))
    return found


def histories_among(earlier: Earlier | Iterable[Earlier]) -> list[Path]:
    """The folders of histories among what is named as earlier releases."""
    return [Path(each) for each in named_earlier(earlier) if not isinstance(each, Record) and is_history(Path(each))]


def _in_folder(folder: Path) -> list[tuple[str, Fields]]:
    """The records among the files of a folder; what may be one and cannot be read is told."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    records = {path: _fields(path) for path in files}
    if broken := [path.name for path in files if records[path] is None and _may_be_broken(path)]:
        _note(f"{listed(broken)} cannot be read, and may be a record of an earlier release. Look at what it is.")
    found = [(f"'{path.name}'", fields) for path, fields in records.items() if fields is not None]
    if not found:
        _note(f"The folder '{folder.name}' has no record of an earlier release, so nothing was compared.")
    return found


def _note(sentence: str) -> None:
    warnings.warn(sentence, EarlierReleaseWarning, stacklevel=5)


def _may_be_broken(path: Path) -> bool:
    """Whether a file that is no record may have been one: JSON that cannot be read, by its name or its beginning."""
    try:
        with path.open("rb") as file:
            beginning = file.read(BEGINNING)
        is_like_one = beginning.lstrip().startswith(b"{") and b'"input_sha256"' in beginning
        if path.suffix.lower() != ".json" and not is_like_one:
            return False
        if path.stat().st_size > MOST:
            return True
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return True
    return False


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
    if fields["run"] == record.run or _is_followed(record, fields):  # one release, written again; or one that is known
        return None
    if fields["input_sha256"] == record.input_sha256:
        return "the same input"
    before = fields["input_columns"]
    common = [name for name in record.input_columns if name in before]
    if fields["input_rows"] != record.input_rows or any(before[name] != record.input_columns[name] for name in common):
        return None
    listed = ", ".join(f"'{name}'" for name in common[:20]) + (", ..." if len(common) > 20 else "")
    return f"{record.input_rows:,} rows with the same values in {listed}" if common else None


def _is_followed(record: Record, fields: Fields) -> bool:
    """Whether both are releases of a history, and the other one came before."""
    before, own = fields.get("history"), record.notes.get("history")
    if not isinstance(before, dict) or not isinstance(own, dict) or not isinstance(before.get("number"), int):
        return False
    return bool(before["number"] < own["number"])


def _fields(path: Path) -> Fields | None:
    """What a record tells of its input; None if the file is absent or no record."""
    try:
        if not path.is_file() or path.stat().st_size > MOST:
            return None
        with path.open("rb") as file:
            if not file.read(BEGINNING).lstrip().startswith(b"{"):  # most files of a folder are tables
                return None
        told = json.loads(path.read_text(encoding="utf-8"))
        fields = {"input_columns": {}, "run": None} | told  # which older records do not have
        return fields if fields.keys() >= {"input_sha256", "input_rows"} and _is_table(fields) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _is_table(fields: Fields) -> bool:
    columns = fields["input_columns"]
    return isinstance(columns, dict) and all(isinstance(digest, str) for digest in columns.values())
