"""Checkpoints that somebody changed and signed anew: each is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

import tclose
from tclose.errors import TableError, TcloseError
from tclose.stream.engine import Engine
from tclose.stream.envelope import MAGIC, pack, unpack

FRAME, SCHEMA = tclose.datasets.census(300, seed=1)


@pytest.fixture(scope="module")
def saved() -> bytes:
    engine = Engine(SCHEMA, window=200, step=100, seed=1)
    for _ in engine.feed(FRAME):
        pass
    return engine.checkpoint()


def without(head: dict[str, Any], *path: str) -> dict[str, Any]:
    changed = json.loads(json.dumps(head))
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return dict(changed)


@pytest.mark.parametrize(
    "path",
    [("schema",), ("position",), ("types",), ("settings",), ("settings", "method"), ("settings", "window")],
    ids=str,
)
def test_a_head_that_lacks_something(path: tuple[str, ...], saved: bytes) -> None:
    head, parts = unpack(saved)
    with pytest.raises(TcloseError, match="checkpoint") as caught:
        Engine.restore(SCHEMA, pack(without(head, *path), parts))
    assert caught.value.__cause__ is None


def test_a_method_with_an_option_it_does_not_have(saved: bytes) -> None:
    head, parts = unpack(saved)
    head["settings"]["parameters"]["colour"] = "red"
    with pytest.raises(TableError, match="damaged"):
        Engine.restore(SCHEMA, pack(head, parts))


def test_rows_that_are_none(saved: bytes) -> None:
    head, parts = unpack(saved)
    for rows in (b"", parts["rows"][:100], b"ARROW1\0\0" + b"\xff" * 50):
        with pytest.raises(TableError, match="damaged"):
            Engine.restore(SCHEMA, pack(head, {"rows": rows}))


@pytest.mark.parametrize("body", [b"", b"\xff" * 8, (2).to_bytes(8, "big") + b"[]", (9).to_bytes(8, "big") + b"[" * 9])
def test_a_body_that_is_none_under_a_digest_that_fits(body: bytes) -> None:
    with pytest.raises(TableError, match="damaged"):
        unpack(MAGIC + hashlib.sha256(body).digest() + body)
