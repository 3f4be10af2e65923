"""Engine: rows in, released classes and a checkpoint out."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, find, parameters_of
from tclose.algorithms.capable import check_capable
from tclose.errors import SchemaError, TableError
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema, SchemaLike
from tclose.stream.checkpoint import EngineState, KeptClasses, pack_state, unpack_state
from tclose.stream.ending import end
from tclose.stream.intake import OpenedRows, opened, read
from tclose.stream.items import Outcome, Rejected, Released, Withheld
from tclose.stream.limits import check_method, check_schema, check_sizes
from tclose.stream.reached import reached, some
from tclose.stream.stream_certificate import certify_stream
from tclose.stream.verified_classes import check_formed, check_kept_back, check_shown
from tclose.stream.view import About, StreamView
from tclose.stream.windows import NOWHERE, Budget, WindowSplitter, advance
from tclose.table.arguments import check_run
from tclose.table.class_distances import Distances

LOG = logging.getLogger(__name__)

Integers = NDArray[np.int64]
DEFAULT = "sabre-ak"
NO_CLASS = "No class was found that these rows could be in and that keeps what is asked, and they leave the window."
AT_THE_END = "The stream ended, and these rows cannot be made close to its last window."


class Engine:
    """Anonymize a stream: (omega, t)-closeness over a sliding window (SABRE_W).

    A window of the last `window` rows moves on by `step` rows at a time. Its first `step` rows
    expire then, and are released in classes that are close to it: classes formed of all of its rows
    that are not out, or classes formed for an earlier window if these rows are too unlike it.

    Parameters
    ----------
    schema
        What each column is and what is promised: a `Schema`, a dict with its keys, or a path to TOML.
    window, step
        Their sizes in rows; `window` is a multiple of `step`, and `step` at least k.
    method
        A name of `tclose.methods()`, or an algorithm object.
    seed
        For random choices; the operating system's entropy if None. Who knows it learns in which order
        rows came in.
    budget
        How classes are formed: `printed` as the paper has it, or `window`; see `WindowSplitter`.

    Attributes
    ----------
    position
        How many rows were taken in; the number of the next.

    Guarantee
    ---------
    Every class has at least k rows, all of one window, and is within t and the caps of it in every sensitive
    attribute, and every row that leaves the window is in a class by then, rejected, or withheld
    (definitions 6 and 7; `tests/stream`). Rows are withheld only at the end of the stream, or where l,
    rise or beta is asked.

    Cost
    ----
    For each step one partition of at most `window` rows, and memory for `window + step` rows,
    whatever the length of the stream.

    References
    ----------
    004 section 5.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(3000, seed=1)
    >>> engine = Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame), *engine.finish()]
    >>> sum(len(released.frame) for outcome in outcomes for released in outcome.released)
    3000
    """

    def __init__(
        self,
        schema: SchemaLike,
        *,
        window: int,
        step: int,
        method: str | Algorithm = DEFAULT,
        seed: int | None = None,
        budget: Budget = "printed",
    ) -> None:
        self._algorithm, schema = find(method), Schema.of(schema)
        check_run(seed, window=window, step=step)
        check_schema(schema)
        check_capable(self._algorithm, schema)
        check_method(self._algorithm)
        check_sizes(schema, window, step)
        if budget not in ("printed", "window"):
            raise SchemaError("A stream's 'budget' must be 'printed' or 'window'.")
        self._schema, self._window, self._step, self._budget = schema, window, step, budget
        with_t = [sensitive.column for sensitive in schema.sensitive if sensitive.t is not None]
        self._promised = {*with_t, *(joint.name for joint in schema.joint)}
        self._seed = secrets.randbits(63) if seed is None else seed
        self._state = EngineState()

    @property
    def position(self) -> int:
        """How many rows were taken in; the number of the next."""
        return self._state.position

    @property
    def oldest(self) -> int:
        """The number of the oldest row at hand; all before it came out."""
        return int(self._state.numbers[0]) if len(self._state.numbers) else self.position

    @property
    def finished(self) -> bool:
        """Whether the end of the stream was told."""
        return self._state.finished

    @property
    def counts(self) -> dict[str, int]:
        """Rows taken in, released, rejected, withheld and waiting; classes; and how often each case was met."""
        state = self._state
        return {"rows": state.position, **state.counts, "waiting": int((~state.out).sum())}

    def certificate(self) -> dict[str, Any]:
        """What is promised of all classes, and by what method; publishable."""
        algorithm = self._algorithm
        method = {"name": algorithm.name, "parameters": parameters_of(algorithm), "budget": self._budget}
        return certify_stream(self._schema, self._window, self._step, method)

    def feed(self, batch: pl.DataFrame | Sequence[Mapping[str, Any]]) -> Iterator[Outcome]:
        """Take rows in, and tell what comes out; rows are taken in as outcomes are asked for.

        Raises
        ------
        TableError
            The batch as a whole does not fit the schema: its columns are others, or of nested types.
        """
        if self.finished:
            raise TableError("The stream has ended. Begin a new one for further rows.")
        rows = opened(batch, self._schema, self._state.types)
        done = 0
        while done < len(rows):
            taken = rows.slice(done, self._window + self._step - len(self._state.numbers))
            done += len(taken)
            with self._all_or_nothing():
                outcome = self._take_in(taken)
                if len(self._state.numbers) == self._window + self._step:
                    outcome = self._advance(outcome, self._step)
                    self._state = self._state.without_first(self._step)
            if outcome.released or outcome.rejected or outcome.withheld:
                yield outcome

    def finish(self) -> Iterator[Outcome]:
        """Tell that the stream has ended, and what comes out then.

        The last window is that of the last rows, `window` of them or all there are.
        """
        if self.finished:
            return
        outcome = Outcome()
        with self._all_or_nothing():
            beyond = len(self._state.numbers) - self._window
            if beyond > 0:
                outcome = self._advance(outcome, beyond, last=True)
                self._state = self._state.without_first(beyond)
            outcome = self._end(outcome)
            self._state = replace(EngineState(), position=self.position, counts=self._state.counts, finished=True)
        if outcome.released or outcome.withheld:
            yield outcome

    def checkpoint(self) -> bytes:
        """All that is needed to go on from here; it holds raw rows and the seed."""
        algorithm = self._algorithm
        settings = {
            "window": self._window,
            "step": self._step,
            "budget": self._budget,
            "seed": self._seed,
            "method": algorithm.name,
            "parameters": parameters_of(algorithm),
        }
        return pack_state(self._state, settings, self._schema)

    @classmethod
    def restore(cls, schema: SchemaLike, data: bytes, method: Algorithm | None = None) -> Engine:
        """The engine as it was when the checkpoint was made; `method` is needed only if it is none of the registry."""
        schema = Schema.of(schema)
        state, settings = unpack_state(data, schema)
        engine = guarded("The checkpoint is damaged", lambda: cls._made(schema, settings, method))
        engine._state = state
        return engine

    @classmethod
    def _made(cls, schema: Schema, settings: dict[str, Any], method: Algorithm | None) -> Engine:
        if method is None:
            method = type(find(settings["method"]))(**settings["parameters"])
        return cls(schema, method=method, **{name: settings[name] for name in ("window", "step", "seed", "budget")})

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """An error, such as that of a method for which the window is too large, leaves the state as it was."""
        before = self._state
        try:
            yield
        except BaseException:
            self._state = before
            raise

    def _take_in(self, batch: OpenedRows) -> Outcome:
        """Put the rows that fit at the end of those at hand."""
        state = self._state
        verdict = read(batch, self._schema, state.columns)
        numbers = np.arange(state.position, state.position + len(batch))
        accepted = numbers[verdict.accepted]
        rejected = tuple(Rejected(numbers[rows], column, reason) for column, reason, rows in verdict.rejected)
        self._state = replace(
            state,
            position=state.position + len(batch),
            types=state.types or dict(batch.frame.schema),
            counts=state.counted(rejected=len(batch) - len(accepted)),
            numbers=np.append(state.numbers, accepted),
            columns=verdict.columns,
            out=np.append(state.out, np.zeros(len(accepted), bool)),
            labels=np.append(state.labels, np.full(len(accepted), NOWHERE)),
        )
        return Outcome(rejected=rejected)

    def _advance(self, before: Outcome, step: int, last: bool = False) -> Outcome:
        """Release what must be out before the window, the first rows at hand, advances by so many rows."""
        state, size, rng = self._state, self._window, self._rng()
        view = StreamView(self._schema, state, size)
        done = advance(state.out[:size], state.labels[:size], step, lambda rows: self._form(view, rows, rng), last)
        counts = state.counted(**{f"case_{done.case}": 1})
        labels = np.append(done.kept, np.full(len(state.numbers) - size, NOWHERE))
        if done.case == 1:
            self._state = replace(state, steps=state.steps + 1, counts=counts)
            return before
        if done.case == 2:
            released, kept = self._direct(view, done.released, done.kept, rng)
        else:
            released, kept = self._indirect(view, done.released, rng), state.kept if last else None
        self._state = replace(state, steps=state.steps + 1, counts=counts, labels=labels, kept=kept)
        return self._settled(before, released, done.released >= 0, done.stuck, NO_CLASS)

    def _end(self, before: Outcome) -> Outcome:
        """Release or withhold all that is left."""
        state, rng = self._state, self._rng()
        if state.out.all():
            return before
        view = StreamView(self._schema, state, len(state.numbers))
        done = end(state.out, state.labels, self._splitter(view), rng)
        indirect = self._indirect(view, done.kept, rng)
        direct = self._direct(view, done.formed, np.full(view.size, NOWHERE), rng, len(indirect[0]) if indirect else 0)
        now = (done.kept >= 0) | (done.formed >= 0)
        return self._settled(before, indirect + direct[0], now, done.withheld, AT_THE_END)

    def _rng(self) -> np.random.Generator:
        """Random choices of a step depend on the seed and its number alone, wherever the engine was restored."""
        return np.random.default_rng([self._seed, self._state.steps])

    def _splitter(self, view: StreamView) -> WindowSplitter:
        return WindowSplitter(self._schema, view.table, self._algorithm, self._budget)

    def _form(self, view: StreamView, rows: Integers, rng: np.random.Generator) -> Integers | None:
        return self._splitter(view).form(rows, rng)

    def _direct(
        self, view: StreamView, now: Integers, later: Integers, rng: np.random.Generator, before: int = 0
    ) -> tuple[tuple[Released, ...], KeptClasses | None]:
        """Classes close to the window at hand, and what must be known of those kept back."""
        n_now, n_later = int(now.max(initial=NOWHERE)) + 1, int(later.max(initial=NOWHERE)) + 1
        if not n_now:
            return (), None
        both = np.where(later >= 0, later + n_now, now)
        found = reached(self._schema, view.table, both)
        found = {name: each for name, each in found.items() if name in self._promised}
        check_formed(view.original([each.column for each in self._schema.sensitive]), both, found, self._schema)
        distances = {name: some(each, np.arange(n_now)) for name, each in found.items()}
        about: About = (view.window, "direct", self._algorithm.name)
        released = self._shown(view, now, about, distances, self._state.counts["classes"] + before, rng)
        rest = {name: some(each, np.arange(n_now, n_now + n_later)) for name, each in found.items()}
        return (released,), KeptClasses(view.window, rest) if n_later else None

    def _indirect(self, view: StreamView, labels: Integers, rng: np.random.Generator) -> tuple[Released, ...]:
        """Classes kept back, which are close to the window they were formed for."""
        kept, rows = self._state.kept, labels >= 0
        if kept is None or not rows.any():
            return ()
        check_kept_back(labels, self._state.labels)
        classes, numbered = np.unique(labels[rows], return_inverse=True)
        labels = np.where(rows, 0, NOWHERE)
        labels[rows] = numbered
        distances = {name: some(each, classes) for name, each in kept.distances.items()}
        about: About = (kept.window, "indirect", self._algorithm.name)
        return (self._shown(view, labels, about, distances, self._state.counts["classes"], rng),)

    def _shown(
        self,
        view: StreamView,
        labels: Integers,
        about: About,
        distances: dict[str, Distances],
        first: int,
        rng: np.random.Generator,
    ) -> Released:
        """Classes as they are released, compared with the rows they are made of."""
        released = view.release(labels, about, distances, first, rng)
        check_shown(released, view.original(view.source.names, released.numbers), self._schema)
        return released

    def _settled(
        self,
        before: Outcome,
        released: tuple[Released, ...],
        now: NDArray[np.bool_],
        withheld: NDArray[np.bool_],
        reason: str,
    ) -> Outcome:
        """Note what is out; `now` and `withheld` are about the first rows at hand."""
        state, out = self._state, self._state.out.copy()
        out[: len(now)] |= now | withheld
        counts = state.counted(
            released=int(now.sum()), withheld=int(withheld.sum()), classes=sum(len(each) for each in released)
        )
        self._state = replace(state, out=out, counts=counts)
        LOG.info("step %d: %d rows out, %d withheld", state.steps, int(now.sum()), int(withheld.sum()))
        held = (Withheld(state.numbers[: len(now)][withheld], reason),) if withheld.any() else ()
        return replace(before, released=before.released + released, withheld=before.withheld + held)
