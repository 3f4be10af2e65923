"""tight: split, repair, move, swap and rebuild, with the real distance checked everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import EVERY_GUARANTEE, EVERY_OBJECTIVE, IN_PERSONS, Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.curve import order_along
from tclose.algorithms.shared.demand import Softened, decidable, soften
from tclose.algorithms.shared.in_blocks import in_blocks
from tclose.algorithms.tight.annealing import BEFORE_ANNEALING, anneal_table
from tclose.algorithms.tight.answering import AnswerSearch, draw_workload, weighted
from tclose.algorithms.tight.pieces import Effort, Piece
from tclose.algorithms.tight.predicting import labelled, rows_mixed
from tclose.errors import SchemaError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Labels = NDArray[np.int64]
Job = TypeVar("Job")
Result = TypeVar("Result")

EFFORTS = {
    "fast": Effort(slacks=1, mends=3, rounds=1, paths=2, passes=1, swaps=True, rebuilds=0.1, enough=1.0),
    "balanced": Effort(slacks=3, mends=6, rounds=3, paths=5, passes=6, swaps=True, rebuilds=0.5, enough=0.002),
    "best": Effort(
        slacks=6, mends=8, rounds=200, paths=6, passes=8, swaps=True, rebuilds=1.0, enough=0.0002, annealed_after=3
    ),
}
SLACKS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
LEAST_SAMPLE, MOST_SAMPLE = 6_000, 60_000  # rows on which slacks are tried, a tenth of all in between
MOST_SAMPLES = 3  # of so many rows
MOST_LEAVES = 10_000  # of a hierarchy that are told apart while searching
LARGEST, SMALLEST = 25_000, 4_000  # rows of a piece
SECONDS_BETWEEN_LOOKS = 0.1  # at the clock, while kernels run
POWERS = (0.0, 0.5, 1.0)  # of what an axis is worth to the queries, by which it weighs
LABEL_WEIGHT = 0.3  # of a target as an axis, where all others have 1 together
SPLITTING = 0.4  # of the time allowed, at most, goes into partitions of least loss, before answers are looked at
TRIALS = 4  # of moves and swaps, for each row and path
NEARLY = 1.02  # times the least loss on a sample: what chance makes of it
SAMPLING = 0.2  # of the time allowed, at most, goes into finding slacks


@dataclass(frozen=True)
class Tight:
    """Split from the whole table down, repair cuts whose sides are not close, then search.

    1. Split. Of all cuts of a class, the one that lowers the cost most and whose sides are both
       close is taken. Cuts that would save more are repaired first: rows move over until both
       sides are close. A class of N of n rows may use only t (1 - slack log(N / 2k) / log(n / 2k)),
       so that what t allows is spent near the leaves; the slack is found on a sample. Of a table that is itself
       away from the reference, as a shard is, it is a part of what that leaves.
    2. Search. Rows move to neighbouring classes or are swapped, and a few classes at a time are
       built anew, wherever that costs less and all stay close.

    After the first cuts the table falls into pieces, which are worked on side by side; for every
    round of the search it is cut into others.

    Guarantee
    ---------
    Every class meets k, t, l and caps, decided in integers before a class is made or changed
    (`tests/contract`, `tests/algorithms/tight/test_tight.py`); so does what is asked in persons
    (`tests/algorithms/test_person_limits.py`). The same seed gives the same classes on
    any number of threads, unless it is stopped early. Loss is heuristic; never above that of
    `start`.

    Cost
    ----
    O(n log n) for `fast`, times quasi-identifiers squared and values; rounds of the search, each
    O(n) pieces' work, for the others. Memory grows with n.

    References
    ----------
    docs/tight.md.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Tight(effort="fast"), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "tight"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="split, repair and search: the least loss",
        paper="our own; goes on from Cao et al. 2011 (004), section 8",
        guarantees=EVERY_GUARANTEE | IN_PERSONS,
        keeps=frozenset({"weight", "finest", "coarsest", "suppress_rows"}),
        objectives=EVERY_OBJECTIVE,
    )

    effort: Literal["fast", "balanced", "best"] = "balanced"

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise SchemaError(f"'tight': effort must be one of {', '.join(EFFORTS)}.")

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """The best partition found; if `start` is better than that, what a search from there finds."""
        return in_blocks(self._search, table, requirement, rng=rng, control=control, start=start, shares_time=True)

    def improve(
        self,
        table: EncodedTable,
        requirement: Requirement,
        start: Partition,
        *,
        rng: np.random.Generator,
        control: Control,
    ) -> Partition:
        """What the search finds from a partition that meets the requirement, and from that alone; by loss."""
        run = _TightRun(table, decidable(requirement), EFFORTS[self.effort], control)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            labels, _ = run.search(start.labels, rng, pool, np.inf, (0.0, 1.0), run.effort.rounds)
        return Partition(labels, facts={"stopped_early": True} if control.stop else {})

    def _search(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None,
    ) -> Partition:
        requirement.check_whole(table)
        run = _TightRun(table, decidable(requirement), EFFORTS[self.effort], control)
        ways = {"loss": run.lose_least, "queries": run.answer_best, "classify": run.predict_best}
        with ThreadPoolExecutor(os.cpu_count()) as pool, run.piece(np.arange(1)).rebuilding_ahead():
            labels = ways[table.objective.name](rng, pool, start)
        stopped = control.stop or not run.in_time
        return Partition(labels, facts={"stopped_early": True} if stopped else {})


def best_slack(sample: EncodedTable, requirement: Requirement, rng: np.random.Generator) -> float:
    """The slack with which splitting a sample loses least: how late what t allows is best spent.

    A class of N of n rows may then use t (1 - slack log(N / 2k) / log(n / 2k)). Of slacks that lose nearly the same
    it is the least: what a shard leaves of t is divided by a slack of its own.
    """
    run = _TightRun(sample, decidable(requirement), EFFORTS["fast"], Control())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return run.find_slacks(run.softened, rng, pool, NEARLY)[0]


def left_to_classes(table: EncodedTable, requirement: Requirement) -> float:
    """The part of every t, rise and beta that a table as a whole does not use: 1 where it is the reference itself.

    Slacks are parts of this. A table that is measured against another one, as a shard against the whole, may be at
    0.7 t before it is cut; if its first classes were to stay within 0.6 t, it could not be cut at all.
    """
    used = 0.0
    for attribute, codes in zip(requirement.attributes, table.codes, strict=True):
        counts = np.bincount(codes, minlength=len(attribute.reference))
        if np.array_equal(counts, attribute.reference):
            continue
        if attribute.t:
            used = max(used, float(attribute.distance(counts) / attribute.t))
        caps, known = attribute.caps, attribute.reference > 0
        shares = attribute.reference[known] / attribute.reference.sum()
        extra = counts[known] / max(len(table), 1) - shares
        if caps is not None and caps.rise:
            used = max(used, float(extra.max()) / float(caps.rise))
        if caps is not None and caps.beta:
            used = max(used, float((extra / shares).max()) / float(caps.beta))
    return max(1.0 - used, 0.0)


@dataclass(eq=False)
class _TightRun:
    """What all steps share."""

    table: EncodedTable
    requirement: Requirement
    effort: Effort
    control: Control
    halt: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, np.bool_))  # set when the time is over

    in_time: bool = True

    @cached_property
    def softened(self) -> Softened:
        """What is asked, for searching."""
        return soften(self.requirement, self.control, MOST_LEAVES)

    def lose_least(self, rng: np.random.Generator, pool: ThreadPoolExecutor, start: Partition | None) -> Labels:
        """The partition of least loss that is found, from nothing or from `start`."""
        before = np.inf if start is None else self.table.loss(start.labels)
        rounds, anneals = self.effort.annealed_after or self.effort.rounds, self.effort.annealed_after > 0
        whole = BEFORE_ANNEALING if anneals else 1.0
        half = whole if start is None else whole / 2
        labels, least = self.search(self.split(rng, pool), rng, pool, before, (0.0, half), rounds)
        if start is not None and before <= least:
            labels, least = self.search(start.labels, rng, pool, before, (half, whole), rounds)
        return anneal_table(self, labels, least, rng, pool) if anneals else labels

    def answer_best(self, rng: np.random.Generator, pool: ThreadPoolExecutor, start: Partition | None) -> Labels:
        """The partition whose answers to the workload are least off, of those found by loss and from there on.

        Axes weigh by what it costs the queries if they are not shown. What was split with little effort is often better
        to start from: narrow boxes that took long to find only have to be widened again.
        """
        asked = self.table.objective.workload or draw_workload(self.table, rng.spawn(1)[0])
        answers = AnswerSearch(self.table, asked)
        tables = [weighted(self.table, answers.bias(), power) for power in POWERS]
        ways = [(self.table, self.effort), *((table, EFFORTS["fast"]) for table in tables)]
        tried = self._tried(ways, rng, pool, SPLITTING)
        tried += [] if start is None else [start.labels]
        labels = min(tried, key=answers.median_error)
        least = answers.median_error(labels)
        for number in range(self.effort.rounds):
            if self.control.stop:
                break
            found = self._answer(answers, labels, rng, number)
            error = answers.median_error(found)
            saved = least - error
            if saved > 0:
                labels, least = found, error
            self.control.report(done=SPLITTING + (1 - SPLITTING) * (number + 1) / self.effort.rounds)
            if saved <= self.effort.enough * least:
                break
        return labels

    def _answer(self, answers: AnswerSearch, labels: Labels, rng: np.random.Generator, round_: int) -> Labels:
        """Search one piece after the other: each knows what the answers of all have come to."""
        excess, found = answers.excess(labels), []
        groups = self._grouped(labels, rng, round_)
        for rows in groups:
            piece = self.piece(rows)
            own = np.unique(labels[rows], return_inverse=True)[1]
            n_trials = self.effort.paths * TRIALS * len(rows)
            found.append(answers.improve(piece, own, rows, excess, n_trials, int(rng.integers(2**62)), self.control))
        return _joined(labels, groups, found)

    def predict_best(self, rng: np.random.Generator, pool: ThreadPoolExecutor, start: Partition | None) -> Labels:
        """The partition whose classes mix fewest labels of the target, of some of least loss.

        In one the target is an axis itself, so that its labels are kept apart where the promise lets them.
        """
        target = self.table.objective.target
        assert target is not None
        tables = [self.table, labelled(self.table, target, LABEL_WEIGHT)]
        tried = self._tried([(table, self.effort) for table in tables], rng, pool, 1.0)
        tried += [] if start is None else [start.labels]
        return min(tried, key=lambda labels: (rows_mixed(target, labels), self.table.loss(labels)))

    def _tried(
        self,
        ways: list[tuple[EncodedTable, Effort]],
        rng: np.random.Generator,
        pool: ThreadPoolExecutor,
        share: float,
    ) -> list[Labels]:
        """Partitions of least loss of tables with other axes, each with some effort, in a share of the time."""
        found = []
        for place, (table, effort) in enumerate(ways):
            begin, end = (share * each / len(ways) for each in (place, place + 1))
            run = _TightRun(table, self.requirement, effort, self.control.part(begin, end))
            found.append(run.lose_least(rng, pool, None))
            self.in_time &= run.in_time and not run.control.stop
        return found

    def split(self, rng: np.random.Generator, pool: ThreadPoolExecutor) -> Labels:
        """Split the whole, with each slack, into ever smaller pieces, and every piece by itself."""
        softened, n = self.softened, len(self.table)
        slacks = self.find_slacks(softened, rng, pool)
        smallest = int(np.clip(n // 8, SMALLEST, LARGEST))
        tried = [np.zeros(n, np.int64) for _ in slacks]
        for size in (*_stages(n, smallest), 0):
            if self.control.stop:
                break

            def split(job: tuple[float, NDArray[np.int64]], size: int = size) -> Labels:
                slack, rows = job
                return self.piece(rows).split(slack, self.effort.mends, size + 1, self.control)

            groups = [list(_members(labels)) for labels in tried]
            jobs = [(slack, rows) for slack, pieces in zip(slacks, groups, strict=True) for rows in pieces]
            found = iter(self.mapped(pool, split, jobs))
            tried = [
                _joined(labels, pieces, [next(found) for _ in pieces])
                for labels, pieces in zip(tried, groups, strict=True)
            ]
        return min(tried, key=self.table.loss)

    def find_slacks(
        self, softened: Softened, rng: np.random.Generator, pool: ThreadPoolExecutor, nearly: float = 1.0
    ) -> list[float]:
        """The slacks that lose least on a sample, best first; one alone where there is no time to try them all.

        Those that lose up to `nearly` times the least count as equally good, and the least of them comes first.
        """
        if not len(softened.soft.edges) and not len(softened.soft.caps) and (softened.soft.diverse[:, 1] < 0).all():
            return [0.0]
        allowed = self.control.seconds
        sampling = Control(None if allowed is None else SAMPLING * allowed, whole=self.control)
        samples = [
            Piece.of(self.table.take(rows), self.requirement, softened, len(rows), self.halt)
            for rows in _sampled(len(self.table), rng)
        ]

        def loss(job: tuple[float, Piece]) -> float:
            slack, sample = job
            return sample.table.loss(sample.split(slack, self.effort.mends, 0, sampling))

        room = left_to_classes(self.table, self.requirement)
        slacks = [room * slack for slack in SLACKS]
        jobs = [(slack, sample) for slack in slacks for sample in samples]
        losses = np.reshape(self.mapped(pool, loss, jobs, sampling), (len(slacks), -1)).mean(axis=1)
        if sampling.stop:
            self.in_time, self.halt[0] = False, False
            return [slacks[int(np.argmin(losses))]]
        rounded = np.maximum(losses, nearly * min(losses))
        return [slacks[place] for place in np.argsort(rounded, kind="stable")[: self.effort.slacks]]

    def search(
        self, labels: Labels, rng: np.random.Generator, pool: ThreadPoolExecutor, known: float,
        share: tuple[float, float], rounds: int,
    ) -> tuple[Labels, float]:  # fmt: skip
        """Improve classes round by round; returns the best, and its loss.

        A partition that loses `known` is there already, and this is a share of all work.
        """
        least = self.table.loss(labels)
        self.control.report(loss=min(least, known), done=share[0])
        for number in range(rounds):
            if self.control.stop:
                break
            found = self.improve(labels, rng, pool, number)
            loss = self.table.loss(found)
            saved = least - loss
            if saved > 0:
                labels, least = found, loss
            done = share[0] + (share[1] - share[0]) * (number + 1) / rounds
            self.control.report(loss=min(least, known), done=done)
            if saved <= self.effort.enough * least:
                break
        return labels, least

    def improve(self, labels: Labels, rng: np.random.Generator, pool: ThreadPoolExecutor, round_: int) -> Labels:
        """Cut the table into pieces of whole classes, and search each."""

        def better(rows: NDArray[np.int64], own: Labels, seed: int) -> Labels:
            return self.piece(rows).improve(own, self.effort, seed, self.control)

        return self.on_pieces(labels, rng, pool, round_, better)

    def on_pieces(
        self,
        labels: Labels,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor,
        round_: int,
        work: Callable[[NDArray[np.int64], Labels, int], Labels],
    ) -> Labels:
        """Cut the table into pieces of whole classes, and work on each: its rows, their classes and a seed."""
        groups = self._grouped(labels, rng, round_)
        seeds = rng.integers(2**62, size=len(groups))

        def worked(job: tuple[NDArray[np.int64], int]) -> Labels:
            rows, seed = job
            return work(rows, np.unique(labels[rows], return_inverse=True)[1], int(seed))

        return _joined(labels, groups, self.mapped(pool, worked, zip(groups, seeds, strict=True)))

    def piece(self, rows: NDArray[np.int64]) -> Piece:
        """Some rows as kernels take them."""
        return Piece.of(self.table.take(rows), self.requirement, self.softened, len(self.table), self.halt)

    def mapped(
        self, pool: ThreadPoolExecutor, work: Callable[[Job], Result], jobs: Iterable[Job], watch: Control | None = None
    ) -> list[Result]:
        """The results in the order of the jobs, whichever thread finished first.

        How long a kernel takes over one class depends on more than its rows, so none is trusted to
        come back in time by itself: this thread watches the clock, and halts them all.
        """
        futures = [pool.submit(work, job) for job in jobs]
        try:
            while wait(futures, SECONDS_BETWEEN_LOOKS).not_done:
                self.halt[0] |= (watch or self.control).stop
            return [future.result() for future in futures]
        except BaseException:
            self.halt[0] = True
            raise

    def _grouped(self, labels: Labels, rng: np.random.Generator, round_: int) -> list[NDArray[np.int64]]:
        """The rows of each piece, class by class, along a curve through their middles: as the search goes over them."""
        sizes = np.bincount(labels)
        spans = self.table.spans(labels, len(sizes))
        places = tuple(((low + high) // 2).astype(np.int32) for low, high in spans)
        middles = replace(self.table, places=places, rows=np.arange(len(sizes)))
        along = order_along(middles, rng.permutation(len(self.table.axes)).tolist())
        size = int(np.clip(len(labels) // 4, SMALLEST, LARGEST))
        before = np.cumsum(sizes[along]) - sizes[along]
        pieces = (before + (size // 2 if round_ % 2 else 0)) // size
        rank = np.empty(len(sizes), np.int64)
        rank[along] = np.arange(len(sizes))
        order = np.argsort(rank[labels], kind="stable")
        return np.split(order, np.flatnonzero(np.diff(np.repeat(pieces, sizes[along]))) + 1)


def _sampled(n: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """The rows of samples of n rows, none in two of them.

    A sample is sparser than the table: the more levels of cuts it lacks, the more slack it seems to want. Of a large
    table there are several, since what a slack loses on one is in part chance.
    """
    size = min(int(np.clip(n // 10, LEAST_SAMPLE, MOST_SAMPLE)), n)
    n_samples = int(np.clip(n // (10 * MOST_SAMPLE), 1, MOST_SAMPLES))
    drawn = rng.choice(n, n_samples * size, replace=False).reshape(n_samples, size)
    return [np.sort(rows) for rows in drawn]


def _stages(n: int, smallest: int) -> Iterator[int]:
    """How far pieces of n rows are split at a time: in halves, so that soon there is work for all threads."""
    while n > smallest:
        n = max(n // 2, smallest)
        yield n


def _members(labels: Labels) -> Iterator[NDArray[np.int64]]:
    """The rows of each label."""
    order = np.argsort(labels, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(labels))[:-1])


def _joined(labels: Labels, groups: list[NDArray[np.int64]], found: list[Labels]) -> Labels:
    """The labels of all pieces, those of one after those of the other."""
    joined, first = np.empty(len(labels), np.int64), 0
    for rows, own in zip(groups, found, strict=True):
        joined[rows] = own + first
        first += int(own.max()) + 1
    return Partition.of(joined).labels
