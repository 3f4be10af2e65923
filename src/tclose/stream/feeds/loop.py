"""The loop: rows from a feed into an engine, and what comes out back to the feed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tclose.algorithms import Algorithm, parameters_of
from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.stream.engine import Engine
from tclose.stream.envelope import pack, unpack
from tclose.stream.feeds.feed import Batch, Feed, Letter, LostError, PendingOutcome, Position, StoppedError
from tclose.stream.feeds.places import RowPlaces
from tclose.stream.items import Outcome, Rejected, Released, Withheld
from tclose.stream.windows import Budget

EVERY = 10.0  # seconds between two commits, at most, while rows come in
LETTERS_EVERY = 1.0  # the same while rows are rejected
MOST_LETTERS = 10_000  # rejected rows that wait for a commit
BACKOFF = (0.1, 5.0)  # seconds before the first new try, and at most


@dataclass(frozen=True)
class StreamSettings:
    """How the stream is anonymized; the same for as long as it goes on.

    Attributes
    ----------
    window, step
        Rows of the window, and by how many it advances.
    method
        How classes are formed.
    seed
        For random choices; chosen once and kept in the checkpoint if None.
    budget
        See `Engine`.
    """

    window: int
    step: int
    method: Algorithm
    seed: int | None = None
    budget: Budget = "printed"

    def as_dict(self) -> dict[str, Any]:
        """As a checkpoint has it."""
        sizes = {"window": self.window, "step": self.step, "budget": self.budget}
        return {**sizes, "method": self.method.name, "parameters": parameters_of(self.method), "seed": self.seed}


@dataclass(frozen=True)
class StreamEnding:
    """When to leave off.

    Attributes
    ----------
    stop
        Asked again and again: whether to commit and stop now, to go on another time.
    pause
        Whether to do so at the end of the input too, instead of ending the stream.
    idle
        Seconds without a row after which the input is taken to have ended; None for any.
    """

    stop: Callable[[], bool] = lambda: False
    pause: bool = False
    idle: float | None = None


@dataclass(eq=False)
class StreamStatus:
    """How it goes; `tell` is called after every batch, and `begun` once, when the feed was not refused.

    Attributes
    ----------
    counts
        Of the engine.
    seconds
        How long the last window took, from its last row to the classes that are released.
    """

    tell: Callable[[StreamStatus], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    begun: Callable[[], None] = lambda: None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def run(
    feed: Feed,
    schema: Schema,
    settings: StreamSettings,
    ending: StreamEnding | None = None,
    status: StreamStatus | None = None,
    with_rows: bool = False,
) -> StreamStatus:
    """Go on with a stream, or begin it, until its end or until asked to stop.

    Parameters
    ----------
    feed
        Where rows come from and go to.
    schema, settings
        How the stream is anonymized.
    ending
        When to leave off.
    status
        Who is told how it goes.
    with_rows
        Whether dead letters quote the rows they are about.

    Raises
    ------
    TableError
        The checkpoint is another stream's, or the input is not the one it was made after.
    """
    ending, status = ending or StreamEnding(), status or StreamStatus()
    pause, known, told, begun = BACKOFF[0], False, False, 0.0
    while True:
        try:
            session = FeedSession(feed, schema, settings, ending, status, with_rows)
            saved = feed.open()
            known, begun = True, time.monotonic()
            session.begin(saved)
            if not told:
                status.begun()
            told = True
            session.work()
            return status
        except StoppedError:
            return status
        except LostError as error:
            if not known:
                raise
            if time.monotonic() - begun > BACKOFF[1]:
                pause = BACKOFF[0]
            status.note(f"{error} Trying again from the checkpoint.")
        finally:
            feed.close()
        until = time.monotonic() + pause
        while time.monotonic() < until:
            if ending.stop():
                return status
            time.sleep(0.05)
        pause = min(2 * pause, BACKOFF[1])


class FeedSession:
    """From one opening of a feed to its closing."""

    def __init__(
        self,
        feed: Feed,
        schema: Schema,
        settings: StreamSettings,
        ending: StreamEnding,
        status: StreamStatus,
        with_rows: bool,
    ) -> None:
        self._feed, self._schema, self._settings, self._ending = feed, schema, settings, ending
        self._status, self._with_rows = status, with_rows
        self._pending = PendingOutcome()
        self._committed, self._committed_at = time.monotonic(), 0
        self._position: Position | None = None
        self._places = RowPlaces()
        self._told = {**settings.as_dict(), **feed.fixed}

    def begin(self, saved: bytes | None) -> None:
        """Go on from what the feed has, or begin anew."""
        if saved is None:
            self._engine = engine_of(self._schema, self._settings)
            self._pending.certificates.append(self._engine.certificate())
            self._commit()  # the seed, before anything is released
        else:
            self._engine = guarded("The checkpoint is damaged", lambda: self._restored(saved))
        self._feed.begin(self._position, self._ending.pause)

    def _restored(self, saved: bytes) -> Engine:
        head, parts = unpack(saved)
        given = {**self._settings.as_dict(), **self._feed.fixed}
        different = [name for name, value in given.items() if head["settings"].get(name) != value]
        if self._settings.seed is None and "seed" in different:
            different.remove("seed")
        if different:
            raise TableError(f"The checkpoint was made with another {' and '.join(different)}. Give the same.")
        self._position, self._places = head["position"], RowPlaces.of(head["places"])
        self._told = head["settings"]
        return Engine.restore(self._schema, parts["engine"])

    def work(self) -> None:
        """Until the end, or until asked to stop."""
        last_row = time.monotonic()
        while not self._engine.finished:
            if self._ending.stop():
                self._commit()
                return
            batch = self._feed.read()
            now = time.monotonic()
            if batch.rows:
                last_row = now
                self._take(batch)
            if self._ending.stop():
                continue
            if batch.ended:
                self._end()
                return
            if self._ending.idle is not None and not batch.rows and now - last_row > self._ending.idle:
                self._feed.end()
            self._commit_if_due()
            self._tell()

    def _take(self, batch: Batch) -> None:
        """Rows in; what comes out is committed as soon as a class is among it."""
        first = self._engine.position
        for run in batch.runs(first):
            self._places.add(run)
        for outcome in self._timed(self._engine.feed(batch.rows)):
            self._collect(outcome, batch, first)
            self._position = batch.after(self._engine.position - first - 1)
            if outcome.released or outcome.withheld:
                self._commit()
                self._tell()
            if self._ending.stop():
                return
        self._position = batch.after(len(batch.rows) - 1)

    def _timed(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        started = time.perf_counter()
        for outcome in outcomes:
            if outcome.released:
                self._status.seconds = time.perf_counter() - started
            yield outcome
            started = time.perf_counter()

    def _end(self) -> None:
        if not self._ending.pause:
            for outcome in self._engine.finish():
                self._collect(outcome, None, self._engine.position)
        self._commit()
        self._tell()

    def _collect(self, outcome: Outcome, batch: Batch | None, first: int) -> None:
        """Note what came out; dead letters by the number of their row."""
        letters = {}
        for rejected in outcome.rejected:
            for number in rejected.numbers.tolist():
                column, reason = rejected.column, rejected.reason
                if batch is not None and number - first in batch.broken:
                    column, reason = None, batch.broken[number - first]
                letters[number] = self._letter(number, "rejected", column, reason)
                if self._with_rows and batch is not None:
                    letters[number]["text"] = batch.text(number - first)
        self._pending.letters += [letters[number] for number in sorted(letters)]
        for withheld in outcome.withheld:
            numbers = withheld.numbers.tolist()
            self._pending.letters += [self._letter(number, "withheld", None, withheld.reason) for number in numbers]
        parts: tuple[Released | Rejected | Withheld, ...] = (*outcome.released, *outcome.rejected, *outcome.withheld)
        for part in parts:
            self._pending.entries += self._places.entries(part.numbers.tolist())
        for released in outcome.released:
            self._pending.released.append(released)
            self._pending.certificates += [released.certificate(place) for place in range(len(released))]

    def _letter(self, number: int, what: str, column: str | None, reason: str) -> Letter:
        return {"row": number, **self._places.find(number), "what": what, "column": column, "reason": reason}

    def _commit_if_due(self) -> None:
        waited = time.monotonic() - self._committed
        letters = len(self._pending.letters)
        moved = self._engine.position > self._committed_at
        if moved and (waited > (LETTERS_EVERY if letters else EVERY) or letters > MOST_LETTERS):
            self._commit()

    def _commit(self) -> None:
        engine = self._engine
        self._places.forget(engine.oldest)
        head = {
            "settings": self._told,
            "position": self._position,
            "places": self._places.between(engine.oldest, engine.position),
        }
        self._feed.commit(self._pending, pack(head, {"engine": engine.checkpoint()}))
        self._pending = PendingOutcome()
        self._committed, self._committed_at = time.monotonic(), engine.position

    def _tell(self) -> None:
        self._status.counts = self._engine.counts
        self._status.tell(self._status)


def engine_of(schema: Schema, settings: StreamSettings) -> Engine:
    """A stream that begins."""
    return Engine(
        schema,
        window=settings.window,
        step=settings.step,
        method=settings.method,
        seed=settings.seed,
        budget=settings.budget,
    )
