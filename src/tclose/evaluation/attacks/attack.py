"""attack: what a release tells those who should not know, before and after."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import REGISTRY, Algorithm, find
from tclose.algorithms.control import check_watching
from tclose.algorithms.requirement import Requirement
from tclose.errors import SchemaError, TableError
from tclose.evaluation.attacks.allowed_rise import AllowedRise, allowed_rises
from tclose.evaluation.attacks.attacked_values import by_value
from tclose.evaluation.attacks.crowd import crowd_alike, crowd_inside
from tclose.evaluation.attacks.definetti import GuessedRows, Learner, definetti, unlearned
from tclose.evaluation.attacks.left_out_rows import LeftOutBelief, left_out_beliefs
from tclose.evaluation.attacks.minimality import Minimality, minimality
from tclose.evaluation.attacks.record_linkage import Linkage, linkage
from tclose.evaluation.attacks.reidentification import Reidentification, reidentification
from tclose.evaluation.attacks.similarity import Similarity, similarity
from tclose.evaluation.attacks.skewness import Skewness, skewness
from tclose.pipeline import Listener, anonymize
from tclose.release.release import Release
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_flags, check_order, check_run
from tclose.table.classes import Classes, Tally
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.reading import texts
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read

Integers = NDArray[np.int64]


LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class AttackLimits:
    """From where on something counts as found out.

    Attributes
    ----------
    k
        A class of fewer rows is small.
    risk
        The chance of being re-identified that is too large.
    outliers, narrow
        See `tclose.evaluation.attacks.similarity`.
    """

    k: int
    risk: float = 0.2
    outliers: float = 0.1
    narrow: float = 0.2


@dataclass(frozen=True)
class AttackResults:
    """What a table with some classes tells; the last three by sensitive attribute."""

    linkage: Linkage
    reidentification: Reidentification
    skewness: dict[str, Skewness]
    similarity: dict[str, Similarity]
    definetti: dict[str, GuessedRows]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        named = {name: getattr(self, name) for name in ("skewness", "similarity", "definetti")}
        return {
            "linkage": self.linkage.as_dict(),
            "reidentification": self.reidentification.as_dict(),
            **{name: {column: each.as_dict() for column, each in found.items()} for name, found in named.items()},
        }


@dataclass(frozen=True)
class Attacks:
    """What attackers find out, in a table and in a release of it.

    Attributes
    ----------
    before
        On the table as it stands: rows are in one class if their quasi-identifiers are the same.
    after
        On the release; None without one.
    minimality
        What running the method again tells; None unless asked for.
    allowed
        By sensitive attribute with caps (`rise`, `beta`), the most that a belief may rise by them, beside what it
        rises by in the release.
    left_out
        By sensitive attribute, what is told about people whose rows are left out (`suppress_rows`); None where none is.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> found = tclose.attack(table, asked, method="mondrian")
    >>> found.before.linkage.unique, found.after.linkage.unique
    (1.0, 0.0)
    >>> round(found.after.skewness["illness"].worst_rise, 3)
    0.167
    """

    before: AttackResults
    after: AttackResults | None = None
    minimality: Minimality | None = None
    allowed: dict[str, AllowedRise] = field(default_factory=dict)
    left_out: dict[str, LeftOutBelief] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        missing = None
        if self.left_out is not None:
            missing = {column: each.as_dict() for column, each in self.left_out.items()}
        return {
            name: None if found is None else found.as_dict()
            for name, found in (("before", self.before), ("after", self.after), ("minimality", self.minimality))
        } | {"allowed": {column: found.as_dict() for column, found in self.allowed.items()}, "left_out": missing}


def attack(
    df: Any,
    release: Release | SchemaLike,
    *old: Never,
    method: Algorithm | str | None = None,
    population: Any = None,
    limits: AttackLimits | None = None,
    seed: int = 0,
    candidates: int = 0,
    seeds: int = 0,
    one_class: bool = False,
    progress: Listener | None = None,
) -> Attacks:
    """Attack a table as it stands, and a release of it.

    Parameters
    ----------
    df
        The original table, as `anonymize` takes it.
    release
        A release of this table, which brings its schema; or a schema, and the table alone is attacked. Of a release
        that continues a history, the rows that were generalized are attacked, also those that the history held.
    method
        With a schema: the method by which a release is made.
    population
        A larger table with the same quasi-identifiers, people of `df` included, which a journalist
        holds; `df` itself if None.
    limits
        From where on something counts as found out; k is that of the schema if None.
    seed
        With which a release is made by `method`.
    candidates, seeds, one_class
        See `tclose.evaluation.attacks.minimality`; only tried for candidates above 0, and only small tables
        are worth it.
    progress
        Called with the stage "attacks" and the share that is done, before each sensitive attribute of a release; what
        it raises ends the attack.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> found = tclose.attack(frame, schema, method="mondrian")
    >>> found.before.linkage.unique > 0.5, found.after.linkage.unique
    (True, 0.0)
    """
    if old:
        raise SchemaError(
            "attack takes (df, release): a release brings its schema. With a method instead: "
            "attack(df, schema, method=...)."
        )
    check_order(df, release, "attack", "release")
    check_watching(progress)
    check_flags(one_class=one_class)
    check_run(seed, candidates=candidates, seeds=seeds)
    if isinstance(release, Release):
        df, release = release.as_made() or (df, release)
    schema = release.schema if isinstance(release, Release) else Schema.of(release)
    made = release if isinstance(release, Release) else None
    if made is not None and method is not None:
        raise SchemaError("Give a release, or a schema with a method, not both.")
    limits = limits or AttackLimits(schema.k)
    LOG.info("attack %s", "a table" if made is None and method is None else "a table and its release")
    source = read(df, schema.delimiter, schema.encoding, header=schema.header)
    schema = schema.resolve(source.names)
    if candidates and schema.counts_persons:
        raise SchemaError(
            'Candidates deal out the values of single rows, and unit_rows = "all" promises something of persons. Leave '
            "`candidates` out."
        )
    if candidates and schema.suppress_rows:
        raise SchemaError(
            "Candidates deal the values of released rows out anew, and under suppress_rows it depends on values which "
            "rows are left out. Leave `candidates` out."
        )
    algorithm = None if method is None else find(method)
    if made is None and algorithm is not None:
        made = anonymize(df, schema, method=algorithm, seed=seed, allow_single_class=True)
    left_out = _left_out(made, source, schema)
    columns, rows = select_rows(source, schema, _picked(made, source), seed)
    table = encode_rows(source, columns, rows, schema)
    shown = by_value(table, source, columns, schema)
    everyone = (
        None
        if population is None
        else _Everyone.of(
            source, rows, read(population, schema.delimiter, schema.encoding, header=schema.header), schema
        )
    )
    raw = Classes.of(len(table), (columns[quasi.column] for quasi in schema.quasi)).labels
    alike = None if everyone is None else crowd_alike(everyone.keys, len(table), raw)
    before = _expose(shown, raw, limits, alike, unlearned)
    requirement = Requirement.of(schema, table)
    if made is None:
        return Attacks(before, allowed=allowed_rises(schema, table, requirement, None))
    if len(made.classes) != source.n_rows or (made.classes[rows] < 0).any():
        raise TableError("The release has other rows than the table. Give the table it was made of.")
    labels = made.classes[rows]
    alike = None if everyone is None else crowd_inside(everyone.table, len(table), labels)
    after = _expose(shown, labels, limits, alike, _told(definetti, progress, len(shown.domains)))
    allowed = allowed_rises(schema, table, requirement, labels)
    if not candidates:
        return Attacks(before, after, allowed=allowed, left_out=left_out)
    again = minimality(
        table, requirement, algorithm or _method_of(made),
        seed=made.record.seed, candidates=candidates, seeds=seeds, one_class=one_class,
    )  # fmt: skip
    return Attacks(before, after, again, allowed)


def _told(learner: Learner, progress: Listener | None, n: int) -> Learner:
    """A learner that tells before each of n attributes how many are done."""
    if progress is None:
        return learner

    def learn(table: EncodedTable, labels: Integers, place: int) -> GuessedRows:
        progress("attacks", None, place / n)
        return learner(table, labels, place)

    return learn


def _left_out(release: Release | None, source: Source, schema: Schema) -> dict[str, LeftOutBelief] | None:
    """What is told about people whose rows the release leaves out; None where it leaves none out."""
    if release is None or not release.record.left_out_rows or len(release.classes) != source.n_rows:
        return None
    columns, rows = select_rows(source, schema)
    shown = by_value(encode_rows(source, columns, rows, schema), source, columns, schema)
    return left_out_beliefs(shown, release.classes[rows] < 0)


def _picked(release: Release | None, source: Source) -> Integers | None:
    """The rows that a release with one row of each person, or without some rows, kept."""
    if release is None or len(release.classes) != source.n_rows:
        return None
    if release.schema.unit_rows != "one" and not release.record.left_out_rows:
        return None
    return np.flatnonzero(release.classes >= 0)


def _expose(
    table: EncodedTable, labels: Integers, limits: AttackLimits, alike: Integers | None, learner: Learner
) -> AttackResults:
    """Every attack that needs classes alone; a population has at least the people of the table."""
    sizes = np.bincount(labels)
    population = None if alike is None else np.maximum(alike, sizes)
    rises, sorts, guesses = {}, {}, {}
    for place, (domain, codes) in enumerate(zip(table.domains, table.codes, strict=True)):
        tally = Tally.of(labels, codes, domain.size)
        rises[domain.column] = skewness(tally)
        sorts[domain.column] = similarity(domain.form, tally, limits.outliers, limits.narrow)
        guesses[domain.column] = learner(table, labels, place)
    return AttackResults(
        linkage(sizes, limits.k), reidentification(sizes, population, limits.risk), rises, sorts, guesses
    )


@dataclass(frozen=True, eq=False)
class _Everyone:
    """The rows of the table, then those of the population: as places, and as keys of their raw quasi-identifiers."""

    table: EncodedTable
    keys: Integers

    @classmethod
    def of(cls, source: Source, rows: Integers, population: Source, schema: Schema) -> _Everyone:
        absent = [quasi.column for quasi in schema.quasi if quasi.column not in population.names]
        if absent:
            raise TableError(
                f"The population lacks quasi-identifiers: {', '.join(map(repr, absent))}. Add these columns."
            )
        joined = []
        for quasi in schema.quasi:
            own, others = source.column(quasi.column).gather(rows), population.column(quasi.column)
            if own.dtype != others.dtype:
                own, others = texts(own), texts(others)
            joined.append(pl.concat([own, others]))
        alone = replace(schema, sensitive=(), joint=(), keep=(), identifiers=(), unit=None)
        together = Source.of(pl.DataFrame(joined))
        columns, chosen = select_rows(together, alone)
        keys = Classes.of(len(chosen), (columns[quasi.column] for quasi in schema.quasi)).keys
        return cls(encode_rows(together, columns, chosen, alone), keys)


def _method_of(release: Release) -> Algorithm:
    """The method a release was made by, from its certificate."""
    told = release.certificate["method"]
    if told["name"] not in REGISTRY:
        raise SchemaError(
            f"'{told['name']}' is not a registered method. Give the method itself in place of the release."
        )
    kind: Any = REGISTRY[told["name"]]
    method: Algorithm = kind(**told["parameters"])
    return method
