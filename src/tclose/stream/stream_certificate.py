"""What may be published about a stream as a whole; each class has a certificate of its own beside it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from tclose.release.certificate import LIMITS, promise
from tclose.schema.schema import Schema

PROMISE = (
    "Every class has at least k rows, all of one window of the stream, and each sensitive attribute with a t is "
    "distributed in it within t of that window; where rise or beta is asked, no share of a value in it is farther "
    "above that in its window than they allow. A row is in one class at most. The certificate of a class says how "
    "far it is from its window where all rows of the window are released together, in the classes that it names."
)
LIMITS_OF_STREAMS = (
    "Nothing is promised against any other window or the whole stream. When a class is released tells when its rows "
    "came in, up to the length of the window. A person with several rows may be in several classes, which together "
    "tell more than t allows. Rows withheld or rejected are missing, and which are may depend on their values."
)
KEPT = "not checked: with these columns groups may be smaller than k, and farther than t"


def certify_stream(schema: Schema, window: int, step: int, method: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a stream.

    Examples
    --------
    >>> import tclose
    >>> _, schema = tclose.datasets.census(10, seed=1)
    >>> certify_stream(schema, 100, 20, {"name": "sabre-ak"})["window"]
    {'rows': 100, 'step': 20}
    """
    fields: dict[str, Any] = {
        "certificate": 2,
        "stream": PROMISE,
        "window": {"rows": window, "step": step},
        **promise(schema),
        "recode": schema.recode,
        "missing": schema.missing,
        "method": method,
        "unit": "one row is taken to be one person",
        "limits": f"{LIMITS} {LIMITS_OF_STREAMS}",
        "versions": {name: version(name) for name in ("tclose", "numpy", "numba", "polars")},
    }
    fields["versions"]["python"] = platform.python_version()
    return {"keep": KEPT, **fields} if schema.keep else fields  # what nobody checked comes first
