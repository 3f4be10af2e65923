"""Runs of the methods on one census, whole or as a stream, each made once, and what is measured of them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.tables import Census
from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import Tight
from tclose.evaluation.attacks.shown_boxes import Boxes, shown_classes
from tclose.evaluation.utility.cubes import cube_divergence
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.schema.schema import Schema
from tclose.stream import Engine
from tclose.table.class_distances import class_distances
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import Source, read

TEXTBOOK = "textbook mondrian"
METHODS: dict[str, str | Algorithm] = {
    "sabre-knn": "sabre-knn",
    "sabre-ak": "sabre-ak",
    "incognito": "incognito",
    TEXTBOOK: Mondrian(textbook=True),
    "mondrian": "mondrian",
    "tight fast": Tight("fast"),
}
STREAMED = ("sabre-ak", "incognito", TEXTBOOK, "mondrian")  # those of the paper's figures on streams
QUERIES = 10_000  # as in the paper
SEED = 0
REPEATS, ENOUGH = 3, 0.3  # a quick run is made so often, until that many processor seconds are spent
WARM_ROWS = 500


@dataclass(frozen=True)
class Setting:
    """What a method is run on and asked for; the default is the paper's but for the rows."""

    rows: int
    quasi: int = 7
    t: str = "0.35"
    k: int = 6
    fanout: int | None = None
    window: int | None = None  # of a stream of these rows, which advances by `step`; None: the table at once
    step: int | None = None


@dataclass(frozen=True)
class Question:
    """What is measured of a run: loss, time, closeness, error or divergence.

    Attributes
    ----------
    attributes, selectivity
        lambda and theta of COUNT queries, for the error.
    level
        Of the cubes, for the divergence.
    """

    measure: str
    attributes: int = 3
    selectivity: float = 0.1
    level: int = 2


@dataclass(frozen=True, eq=False)
class Run:
    """One run of one method.

    Attributes
    ----------
    labels
        The class of each row, as a release shows it.
    processor_seconds, seconds
        Of the method alone, from arrays to classes; the least of a few runs, where they are quick.
    facts
        What else the method tells: of `incognito` the loss if every class covered all that its levels cover.
    """

    source: Source
    schema: Schema
    table: EncodedTable
    labels: NDArray[np.int64]
    loss: float
    processor_seconds: float
    seconds: float
    facts: dict[str, float]

    @property
    def rows(self) -> int:
        return len(self.table)

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def closeness(self) -> float:
        """The largest distance of a class."""
        domain = self.table.domains[0]
        return float(class_distances(domain.form, Tally.of(self.labels, self.table.codes[0], domain.size)).largest())

    @cached_property
    def released(self) -> ReadBack:
        boxes = Boxes.of(self.table, self.labels)
        spans = [(low.copy(), high.copy()) for low, high in zip(boxes.lows.T, boxes.highs.T, strict=True)]
        return ReadBack(
            self.schema, self.table, self.labels, spans, self.table.codes, self.source, self.source, aligned=True
        )

    def answer(self, question: Question, queries: int) -> float:
        if question.measure == "error":
            asked = {"attributes": question.attributes, "selectivity": question.selectivity}
            return query_error(self.released, queries, seed=SEED, **asked).median  # type: ignore[arg-type]
        if question.measure == "divergence":
            return cube_divergence(self.released, question.level)
        return {"loss": self.loss, "time": self.processor_seconds, "closeness": self.closeness}[question.measure]


@dataclass(frozen=True)
class StreamRun:
    """One stream through one method: what its rows lost, and how long all windows together took."""

    rows: int
    loss: float
    classes: int
    processor_seconds: float
    seconds: float
    facts: dict[str, float] = field(default_factory=dict)

    def answer(self, question: Question, queries: int) -> float:
        return {"loss": self.loss, "time": self.processor_seconds}[question.measure]


@dataclass(eq=False)
class Runs:
    """All runs on one census, each made when it is first asked for.

    Attributes
    ----------
    queries
        How many COUNT queries are asked.
    """

    census: Census
    queries: int = QUERIES
    _tables: dict[tuple[int, int, int | None], tuple[Source, EncodedTable]] = field(default_factory=dict)
    _made: dict[tuple[Setting, str], Run | StreamRun] = field(default_factory=dict)
    _answers: dict[tuple[Setting, str, Question], float] = field(default_factory=dict)

    def answer(self, setting: Setting, method: str, question: Question) -> dict[str, Any]:
        """One point of a figure, and what its run was."""
        run = self.run(setting, method)
        key = (setting, method, question)
        if key not in self._answers:
            self._answers[key] = run.answer(question, self.queries)
        return {
            "y": self._answers[key],
            "rows": run.rows,
            "quasi": setting.quasi,
            "t": setting.t,
            "k": setting.k,
            "loss": run.loss,
            "classes": run.classes,
            "processor_seconds": run.processor_seconds,
            "seconds": run.seconds,
            **run.facts,
        }

    def run(self, setting: Setting, method: str) -> Run | StreamRun:
        key = (setting, method)
        if key not in self._made:
            print(f"{self.census.name}: {method}, {setting}", file=sys.stderr, flush=True)
            make = self._run if setting.window is None else self._stream
            self._made[key] = make(setting, method)
        return self._made[key]

    def _stream(self, setting: Setting, method: str) -> StreamRun:
        """The rows one step after the other, as a stream's window takes them in."""
        assert setting.window is not None
        assert setting.step is not None
        frame = self.census.rows(setting.rows, setting.quasi)
        schema = self.census.schema(setting.quasi, setting.t, setting.k, setting.fanout)
        for rows in (frame.head(2 * setting.window), frame):  # the first loads and compiles
            engine = Engine(schema, window=setting.window, step=setting.step, seed=SEED, method=METHODS[method])
            lost, out = 0.0, 0
            used, started = time.process_time(), time.perf_counter()
            for batch in [*rows.iter_slices(setting.step), None]:
                for outcome in engine.finish() if batch is None else engine.feed(batch):
                    for released in outcome.released:
                        lost, out = lost + released.loss * len(released.frame), out + len(released.frame)
            worked, passed = time.process_time() - used, time.perf_counter() - started
        assert out == len(frame), f"{method} left rows behind"
        return StreamRun(len(frame), lost / out, engine.counts["classes"], worked, passed)

    def _run(self, setting: Setting, method: str) -> Run:
        source, table = self._table(setting)
        schema = self.census.schema(setting.quasi, setting.t, setting.k, setting.fanout)
        requirement = Requirement.of(schema, table)
        algorithm = find(METHODS[method])
        some = table.take(np.arange(min(WARM_ROWS, len(table))))  # loads and compiles
        algorithm.partition(some, Requirement.of(schema, some), rng=np.random.default_rng(SEED), control=Control())
        worked: list[float] = []
        passed: list[float] = []
        while len(worked) < REPEATS and sum(worked) < ENOUGH:
            used, started = time.process_time(), time.perf_counter()
            rng = np.random.default_rng(SEED)
            found = algorithm.partition(table, requirement, rng=rng, control=Control())
            worked.append(time.process_time() - used)
            passed.append(time.perf_counter() - started)
        assert requirement.holds_in_all(table, found.labels), f"{method} broke its promise"
        facts = {name: value for name, value in found.facts.items() if name == "full_domain_loss"}
        labels = shown_classes(table, found.labels)
        loss = table.loss(found.labels)
        return Run(source, schema, table, labels, loss, min(worked), min(passed), facts)

    def _table(self, setting: Setting) -> tuple[Source, EncodedTable]:
        key = (setting.rows, setting.quasi, setting.fanout)
        if key not in self._tables:
            source = read(self.census.rows(setting.rows, setting.quasi))
            schema = self.census.schema(setting.quasi, setting.t, setting.k, setting.fanout)
            self._tables[key] = (source, encode(source, schema))
        return self._tables[key]
