"""What a method is and what it can promise, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

EVERY_DISTANCE = frozenset({"equal", "ordered", "numeric", "hierarchical", "matrix", "joint"})
EVERY_GUARANTEE = frozenset({"k", "t", "l", "rise", "beta"})
IN_PERSONS = frozenset({"k in persons", "rise in persons", "beta in persons"})
EVERY_OBJECTIVE = frozenset({"loss", "queries", "classify"})
EVERY_RECODING = frozenset({"generalize", "suppress"})
BY_ENCODING = frozenset({"finest"})  # what every method keeps: it sees no finer values


@dataclass(frozen=True)
class Capabilities:
    """What a method can promise: a schema that asks for more is refused before any row is read.

    Attributes
    ----------
    summary, paper, needs
        For people: what it does, where it comes from, what it needs.
    several_sensitive
        Whether it takes more than one sensitive attribute.
    distances, guarantees, recodings
        The distances it knows, what it guarantees of k, t, l, rise and beta, and the values of `recode` it takes.
        k, rise and beta `in persons` are what `unit_rows = "all"` asks: the last two are not kept by merging classes.
    keeps
        What it keeps of the keys that not every method can: `weight` and `coarsest` of quasi-identifiers, and
        `suppress_rows`. A method that forms classes by their loss counts weights; one that has classes kept apart by
        `coarsest` uses `algorithms.shared.in_blocks`; rows are left out by `algorithms.rows_left_out`, around a method
        that is quick enough to be run several times.
    objectives
        The values of `objective` it takes: what it optimizes.
    needs_levels
        Whether every quasi-identifier must have a hierarchy to climb.
    small_only
        Whether it refuses tables that are too large for it, with SizeError.

    Examples
    --------
    >>> Capabilities("one class", "none", guarantees=frozenset({"k"})).distances == EVERY_DISTANCE
    True
    """

    summary: str
    paper: str
    needs: str = "nothing"
    several_sensitive: bool = True
    distances: frozenset[str] = EVERY_DISTANCE
    guarantees: frozenset[str] = EVERY_GUARANTEE
    recodings: frozenset[str] = EVERY_RECODING
    keeps: frozenset[str] = BY_ENCODING
    objectives: frozenset[str] = frozenset({"loss"})
    needs_levels: bool = False
    small_only: bool = False
