"""The replay checker; see `Checker`."""

from __future__ import annotations


class Checker:
    """Replays input and output of a stream."""
