"""A head and named parts as bytes that know whether they are whole: what checkpoints are made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tclose.errors import TableError
from tclose.schema.guarding import guarded

MAGIC = b"tclose stream 3\n"
EARLIER = (b"tclose stream 1\n", b"tclose stream 2\n")
DIGEST = 32
ANEW = (
    "If that cannot be done, begin a new stream with another checkpoint and other outputs, and without the rows that "
    "are out: the ledger lists them."
)


def pack(head: Mapping[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """A line that says what it is, a digest of the rest, the head as JSON, and the parts.

    Examples
    --------
    >>> unpack(pack({"a": 1}, {"b": b"c"}))
    ({'a': 1}, {'b': b'c'})
    """
    told = json.dumps({**head, "": [[name, len(part)] for name, part in parts.items()]}).encode()
    body = len(told).to_bytes(8, "big") + told + b"".join(parts.values())
    return MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The inverse of `pack`.

    Raises
    ------
    TableError
        It is something else, or damaged.
    """
    if data.startswith(EARLIER):
        raise TableError(
            "The checkpoint was made by an earlier version of tclose, which did not note what its outputs hold. End "
            f"the stream with that version. {ANEW}"
        )
    if not data.startswith(MAGIC):
        raise TableError("This is not a checkpoint of a stream, or one of another version of tclose.")
    digest, body = data[len(MAGIC) : len(MAGIC) + DIGEST], data[len(MAGIC) + DIGEST :]
    if hashlib.sha256(body).digest() != digest:
        raise TableError(
            "The checkpoint is damaged. Put back a copy of it that is as it was written last; an older copy is "
            f"refused, as it does not know all that is out. {ANEW}"
        )
    return guarded("The checkpoint is damaged", lambda: _opened(body))


def _opened(body: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    start = 8 + int.from_bytes(body[:8], "big")
    head = json.loads(body[8:start])
    parts = {}
    for name, length in head.pop(""):
        parts[name] = body[start : start + length]
        start += length
    return head, parts
