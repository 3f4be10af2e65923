"""Whether the certificate of a stream, which stands before those of its classes, says what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.stream.stream_certificate import certify_stream

Told = Mapping[str, Any]
STREAM_CLAIMED = {
    "method": "released values do not show what made them",
    "versions": "released values do not show what made them",
    "step": "a stream does not show how far its window was to advance at a time",
}


def check_stream_certificate(told: Told, schema: Schema, window: int) -> str:
    """Compare the certificate of a stream, which stands before those of its classes, with what was asked.

    All of it follows from the schema and the window, but for what `STREAM_CLAIMED` lists: that must have its form.

    Returns
    -------
    :
        The name of the method, which the certificates of classes have too.

    Raises
    ------
    VerificationError
        It is none, or says something else.
    """
    step, method = _claimed_step(told), told.get("method", {})
    if step is None or not _is_method(method):
        raise VerificationError("The certificates do not begin with that of the stream.")
    expected = certify_stream(schema, window, step, method)
    wrong = [name for name, value in expected.items() if name != "versions" and not _is_equal(told.get(name), value)]
    wrong += [] if _are_versions(told.get("versions"), expected["versions"]) else ["versions"]
    if wrong:
        raise VerificationError(f"The certificate of the stream does not say what is so: {', '.join(wrong)} differ.")
    if set(told) - set(expected):
        raise VerificationError("The certificate of the stream has what no certificate of this schema has.")
    return str(method["name"])


def _claimed_step(told: Told) -> int | None:
    window = told.get("window")
    step = window.get("step") if isinstance(window, Mapping) and "class" not in told else None
    return step if type(step) is int and step > 0 else None


def _is_method(told: Any) -> bool:
    """Whether it has the form of a method of a stream."""
    named = isinstance(told, Mapping) and set(told) == {"name", "parameters", "budget"}
    return named and isinstance(told["name"], str) and isinstance(told["parameters"], Mapping)


def _are_versions(told: Any, made_here: Told) -> bool:
    named = isinstance(told, Mapping) and set(told) == set(made_here)
    return named and all(isinstance(each, str) for each in told.values())


def _is_equal(told: Any, value: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are three."""
    return json.dumps(told, sort_keys=True) == json.dumps(value, sort_keys=True)
