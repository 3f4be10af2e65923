"""Messages of the library on a page: no option of a command and no table of a schema is left in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import tclose
from tclose.app.page_words import in_page_words
from tclose.errors import TcloseError

# Folders whose messages can come up on a page; the app runs no stream, no engine and no history.
SHOWN = ("algorithms", "evaluation", "release", "schema", "table", "verification")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+[a-z]")
ELSEWHERE = {"--replace-table", "--certificate-table", "--report"}  # the app releases to no database; a written report


def messages() -> Iterator[tuple[str, str]]:
    """Every text of the library that names an option and is no docstring."""
    root = Path(tclose.__file__).parent
    for path in sorted(path for folder in SHOWN for path in (root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not OPTION.search(text):
            continue
        tree = ast.parse(text)
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            held = node.value if isinstance(node, ast.Constant) and id(node) not in said else None
            if isinstance(held, str) and OPTION.search(held):
                yield path.name, held


def test_every_option_that_a_message_names_has_a_word_of_the_pages() -> None:
    found = list(messages())
    assert len(found) > 20
    left = {(name, option) for name, text in found for option in OPTION.findall(in_page_words(text))}
    assert {each for each in left if each[1] not in ELSEWHERE} == set()


def test_fields_and_columns_stand_in_the_place_of_keys() -> None:
    for message, shown in (
        ("Schema: [quasi.age]: 'step' must be above 0.", "Column 'age': “Step” must be above 0."),
        ("Set `delimiter = ';'` in the schema (--delimiter ';').", "Set the field “Delimiter”."),
        ("suppress_rows must be from 0 to below 1.", "“Rows that may be left out” must be from 0 to below 1."),
        ("[joint.both]: 'ill' is unknown.", "The joint 'both': 'ill' is unknown."),
        ("Nothing to say.", "Nothing to say."),
        ("Give [quasi.age] a hierarchy.", "Give column 'age' a hierarchy."),
        ("Workload 'workload-0123456789ab.csv', line 2: no.", "Your own counts, line 2: no."),
    ):
        assert in_page_words(message) == shown


def test_one_class_is_accepted_by_a_tick() -> None:
    advice = "Loosen it, or say that one class will do (--allow-single-class, allow_single_class=True)."
    assert "--" not in in_page_words(advice)
    assert "under “Run”" in in_page_words(advice)


@pytest.mark.filterwarnings("ignore::tclose.errors.TcloseWarning")
def test_what_the_library_says_of_a_run_names_no_key() -> None:
    """Messages of real runs that fail for want of a choice: what is missing, whose a row is, kept columns."""
    frame = pl.DataFrame({"id": [1, 1, 2, 2], "age": ["1", "", "3", "4"], "ward": list("abcd"), "ill": list("xyxy")})
    base = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.9}}}
    whole = {**base, "missing": "category", "identifiers": ["ward"]}
    for keys in (
        {**base, "identifiers": ["id", "ward"]},
        {**base, "identifiers": ["id", "ward"], "missing": "error"},
        {**whole, "unit": "id"},
        {**whole, "identifiers": ["id"], "keep": ["ward"]},
    ):
        with pytest.raises(TcloseError) as raised:
            tclose.anonymize(frame, keys, method="mondrian", allow_single_class=True)
        shown = in_page_words(str(raised.value))
        assert not re.search(r"`|\w = |\[\w+\.|_", shown), shown
