"""What binds a release: which demands keep k, t and loss where they are; for whoever releases, never published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.class_distances import Distances
from tclose.table.encode import EncodedTable, Spans
from tclose.verification.measure_release import exact_and_float

NEAR = Fraction(9, 10)  # of t, from where on a class counts as next to it
MOST_TOLD = 3  # attributes, columns or changes in a sentence


class HeldShares(Protocol):
    """What keeps classes from being cut in two, as shares of rows: see `algorithms.held_classes`."""

    @property
    def rows(self) -> int:
        """Rows looked at."""
        ...

    @property
    def k(self) -> float:
        """The share that k holds alone."""
        ...

    @property
    def attributes(self) -> dict[str, float]:
        """The share that each attribute holds alone."""
        ...

    @property
    def together(self) -> float:
        """The share that several hold together."""
        ...

    @property
    def free(self) -> float:
        """The share that nothing holds."""
        ...

    @property
    def alike(self) -> float:
        """The share whose rows are alike."""
        ...

    @property
    def smallest(self) -> tuple[str | None, ...]:
        """What holds the smallest class; None is k."""
        ...


@dataclass(frozen=True)
class NearT:
    """How near classes are to the t of one attribute or joint.

    Attributes
    ----------
    asked, reached
        The t of the schema, and the distance of the farthest class.
    farthest_rows
        The rows of that class.
    near_share
        The share of rows in classes at nine tenths of t or beyond.
    """

    asked: Fraction
    reached: Fraction
    farthest_rows: int
    near_share: float


@dataclass(frozen=True)
class Gain:
    """What one change would gain, measured on some rows.

    Attributes
    ----------
    change
        In words; no value of the table is in it.
    loss_before, loss_after
        Of the quasi-identifiers that both have.
    classes_before, classes_after, k_before, k_after
        Classes, and the rows of the smallest.
    """

    change: str
    loss_before: float
    loss_after: float
    classes_before: int
    classes_after: int
    k_before: int
    k_after: int


@dataclass(frozen=True)
class MeasuredGains:
    """What changes would gain, the largest first.

    Attributes
    ----------
    rows, of_rows
        The rows it was measured on, and those of the table.
    method
        By which.
    gains
        One a change.
    untried
        Changes for which the time was over.
    """

    rows: int
    of_rows: int
    method: str
    gains: tuple[Gain, ...]
    untried: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Binding:
    """What keeps k, t and loss where they are.

    Attributes
    ----------
    k_asked, k
        The k of the schema, and the rows of the smallest class.
    loss, losses
        The loss, and what each quasi-identifier adds to it.
    near
        By sensitive attribute and joint with a t, how near classes are to it.
    held
        What keeps classes from being cut in two.
    demands
        By attribute, what is asked of it: `t of 'ill'`.
    measured
        What changes would gain; None unless it was measured (`tclose.what_binds`).

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> release.binding.k_asked, release.binding.k >= schema.k, release.binding.measured
    (6, True, None)
    """

    k_asked: int
    k: int
    loss: float
    losses: Mapping[str, float]
    near: Mapping[str, NearT]
    held: HeldShares
    demands: Mapping[str, str]
    measured: MeasuredGains | None = None

    def with_gains(self, measured: MeasuredGains) -> Binding:
        """The same with what changes would gain."""
        return replace(self, measured=measured)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        near = {
            name: {**asdict(each), "asked": exact_and_float(each.asked), "reached": exact_and_float(each.reached)}
            for name, each in self.near.items()
        }
        held: Any = self.held
        told = {**asdict(held), "smallest": ["k" if name is None else self.demands[name] for name in held.smallest]}
        return {
            "k": {"asked": self.k_asked, "reached": self.k},
            "loss_by_column": dict(self.losses),
            "near_t": near,
            "held": told,
            "measured": None if self.measured is None else asdict(self.measured),
        }

    def sentences(self) -> list[str]:
        """The same in words, without any value of the table: a class is named by its rows and its distance."""
        return [*self._of_k(), *self._of_held(), *self._of_t(), *self._of_loss(), *self._of_gains()]

    def _of_k(self) -> Iterator[str]:
        if self.k <= self.k_asked:
            yield f"The smallest class has {self.k:,} rows, as asked."
            return
        names = [self._demand(name) for name in self.held.smallest]
        if names:
            why = f"{_listed(names)} {'alone keeps' if len(names) == 1 else 'each keep'} it from being cut in two"
        else:
            why = "no demand alone keeps it from being cut in two"
        yield f"The smallest class has {self.k:,} rows where {self.k_asked:,} were asked: {why}."

    def _of_held(self) -> Iterator[str]:
        shares = {"k": self.held.k, **{self._demand(name): share for name, share in self.held.attributes.items()}}
        alone = [each for each in sorted(shares.items(), key=lambda each: -each[1]) if each[1] > 0]
        if alone:
            several = " (one class may be kept by several)" if len(alone) > 1 else ""
            told = ", ".join(f"{name} {_percent(share)}" for name, share in alone)
            yield f"What alone keeps classes from being cut in two, by share of rows{several}: {told}."
        others = (
            ("that several demands keep only together", self.held.together),
            ("that could be cut, but the method found nothing better by it", self.held.free),
            ("whose rows are all alike", self.held.alike),
        )
        rest = [f"{_percent(share)} in classes {what}" for what, share in others if share > 0]
        if rest:
            yield f"Of {self.held.rows:,} rows looked at, {', '.join(rest)}."

    def _of_t(self) -> Iterator[str]:
        nearest = sorted(self.near.items(), key=lambda each: -each[1].near_share)
        for name, found in nearest[:MOST_TOLD]:
            yield (
                f"'{name}': the farthest class has {found.farthest_rows:,} rows and is at {float(found.reached):.4f}, "
                f"asked is {float(found.asked):g}; {_percent(found.near_share)} of the rows are in classes at nine "
                "tenths of that or beyond."
            )

    def _of_loss(self) -> Iterator[str]:
        parts = sorted(((name, part) for name, part in self.losses.items() if part > 0), key=lambda each: -each[1])
        if parts:
            told = ", ".join(f"'{name}' {part:.3f}" for name, part in parts[:MOST_TOLD])
            left = len(parts) - MOST_TOLD
            more = "" if left <= 0 else f", {left} other{'' if left == 1 else 's'} the rest"
            yield f"Of the loss of {self.loss:.3f}, {told}{more}."

    def _of_gains(self) -> Iterator[str]:
        if self.measured is None:
            return
        found = self.measured
        where = "all rows" if found.rows == found.of_rows else f"{found.rows:,} of {found.of_rows:,} rows"
        yield f"What a change would gain, measured on {where} with '{found.method}':"
        for gain in found.gains[:MOST_TOLD]:
            yield (
                f"{gain.change}: loss {gain.loss_after:.3f} instead of {gain.loss_before:.3f}, {gain.classes_after:,} "
                f"classes instead of {gain.classes_before:,}, the smallest of {gain.k_after:,} rows instead of "
                f"{gain.k_before:,}."
            )
        if found.untried:
            yield f"There was no time for {len(found.untried)} of the changes."

    def _demand(self, name: str | None) -> str:
        return "k" if name is None else self.demands[name]


def find_binding(
    schema: Schema,
    sizes: NDArray[np.int64],
    distances: Mapping[str, Distances],
    held: HeldShares,
    losses: Mapping[str, float],
) -> Binding:
    """What binds the classes of a release.

    Parameters
    ----------
    schema
        What was asked.
    sizes
        The rows of each class.
    distances
        By attribute and joint, how far each class is from the table.
    held
        What keeps classes from being cut in two.
    losses
        What each quasi-identifier adds to the loss.
    """
    asked = {each.column: each.t for each in schema.sensitive} | {each.name: each.t for each in schema.joint}
    near = {name: _near(t, distances[name], sizes) for name, t in asked.items() if t is not None and name in distances}
    return Binding(schema.k, int(sizes.min()), sum(losses.values()), losses, near, held, _demands(schema))


def _near(t: Fraction, distances: Distances, sizes: NDArray[np.int64]) -> NearT:
    farthest = int(distances.floats.argmax())
    near = distances.floats >= float(NEAR * t) - 1e-12
    return NearT(t, distances.largest(), int(sizes[farthest]), float(sizes[near].sum() / sizes.sum()))


def losses_by_column(table: EncodedTable, labels: NDArray[np.int64], spans: Spans | None = None) -> dict[str, float]:
    """What each quasi-identifier adds to the loss; `spans` are those of the classes, where they are known already."""
    sizes = np.bincount(labels)
    losses: dict[str, float] = {}
    for axis, span in zip(table.axes, spans or table.spans(labels, len(sizes)), strict=True):
        part = float(np.sum(axis.weight * axis.cost(*span) * sizes) / len(labels))
        losses[axis.column] = losses.get(axis.column, 0.0) + part
    return losses


def _demands(schema: Schema) -> dict[str, str]:
    """What is asked of each attribute and joint, in words."""
    found = {joint.name: f"t of '{joint.name}'" for joint in schema.joint}
    if schema.unit is not None and schema.counts_persons:
        found[schema.unit] = "k in persons"
    for each in schema.sensitive:
        asked = [name for name, value in (("t", each.t), ("l", each.l)) if value is not None]
        capped = [name for name, _ in each.caps.items()] if each.caps is not None else []
        if capped and schema.counts_persons:
            found[f"{each.column} in persons"] = f"{' and '.join(capped)} of '{each.column}' in persons"
        else:
            asked += capped
        found[each.column] = f"{' and '.join(asked) or 'nothing'} of '{each.column}'"
    return found


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0 else "below 1%"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
