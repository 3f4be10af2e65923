"""Pieces of a table, worked on one by one, on any number of threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.packing import costs_of, pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.curve import order_along
from tclose.algorithms.shared.demand import Softened
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms.tight import moving_loops as moving
    from tclose.algorithms.tight import regrowing_loops as regrowing
    from tclose.algorithms.tight.boxes_loops import Task, Tools
    from tclose.algorithms.tight.cutting_loops import Cuts, Division
    from tclose.algorithms.tight.narrowing_loops import NarrowRoom

Labels = NDArray[np.int64]
BUDGET = 20_000_000  # row visits of a split between two looks at the clock, about 0.1 s
ROWS_AT_A_TIME = 4000  # of a search between two looks at the clock
FEWEST_ON_PLOT, MOST_ON_PLOT = 60, 400  # rows whose classes are built anew at a time
MANY_VALUES = 256  # above, a trial takes longer, and fewer are made
FEWEST_TRIALS = 200  # to build classes anew, at full effort: a small table should not want for a moment's work


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes
    ----------
    slacks
        With how many slacks the whole table is split; the best is gone on with.
    mends
        Cuts of a class that are mended at most.
    rounds
        How often the table is cut into pieces, each of which is searched.
    paths
        Orders along which a row has neighbours.
    passes
        How often all rows of a piece are looked at.
    swaps
        Whether rows are swapped as well as moved.
    rebuilds
        How much is built anew: 1 is about ten plots a class.
    enough
        A round that saves a smaller share than this is the last.
    annealed_after
        So many rounds come first where steps are taken then that cost more, before the others; 0: none are.
    """

    slacks: int
    mends: int
    rounds: int
    paths: int
    passes: int
    swaps: bool
    rebuilds: float
    enough: float
    annealed_after: int = 0


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table as kernels take them.

    Attributes
    ----------
    table
        The rows.
    task
        The same with what is asked of their classes.
    n_all
        The rows of the whole table.
    halt
        Kernels read it while they run: set it to have them come back at once, from any thread.
    """

    table: EncodedTable
    requirement: Requirement
    task: Task
    n_all: int
    halt: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        table: EncodedTable,
        requirement: Requirement,
        softened: Softened,
        n_all: int,
        halt: NDArray[np.bool_] | None = None,
    ) -> Piece:
        """Lay places, codes and the values of `softened` side by side."""
        from tclose.algorithms.tight.boxes_loops import BoxSpace, Task

        values = (of[codes] for of, codes in zip(softened.values, table.codes, strict=True))
        columns = (*table.places, *table.codes, *values)
        rows = np.empty((len(table), len(columns)), np.int32)
        for place, column in enumerate(columns):
            rows[:, place] = column
        weights = np.array([axis.weight for axis in table.axes])
        space, rules = BoxSpace(rows, weights, costs_of(table)), rules_of(requirement)
        task = Task(
            space=space,
            n_axes=len(weights),
            n_attributes=len(requirement.attributes),
            k=requirement.k,
            rules=rules,
            soft=softened.soft,
        )
        return cls(table, requirement, task, n_all, np.zeros(1, np.bool_) if halt is None else halt)

    def split(self, slack: float, mends: int, smallest: int, control: Control) -> Labels:
        """Divide the rows, from one class down, where that saves most; classes below `smallest` stay whole."""
        from tclose.algorithms.tight import cutting_loops as kernels
        from tclose.algorithms.tight.mending_loops import SplitOptions

        n = len(self.table)
        # In no order: of rows that are equally good to move the first go, and they should not all lie in one corner.
        # They are laid out that way too, so that the rows of a class are read one after the other.
        shuffled, members = np.random.default_rng(n).permutation(n), np.arange(n)
        space = self.task.space
        task = self.task._replace(space=space._replace(rows=space.rows[shuffled]))
        most = n // self.task.k + 3
        stack, starts, state = np.zeros((most, 2), np.int64), np.empty(most, np.int64), np.array([1, 0])
        stack[0, 1] = n
        classes = kernels.SplitClasses(members=members, stack=stack, starts=starts, state=state)
        options = SplitOptions(n_all=self.n_all, slack=slack, smallest=smallest, n_mends=mends)
        room = self._cuts(n), _division(n), self._narrow(), self.tools()
        budget = BUDGET // pace_of(self.requirement)
        while kernels.DONE != kernels.split(task, classes, options, *room, budget):
            if self.ends(control):
                break
        begins = np.sort(np.concatenate([starts[: state[kernels.N_CLASSES]], stack[: state[kernels.N_STACK], 0]]))
        labels = np.empty(n, np.int64)
        labels[shuffled[members]] = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, n)))
        return labels

    def improve(self, labels: Labels, effort: Effort, seed: int, control: Control) -> Labels:
        """Move and swap rows, and build classes anew, where that saves."""
        from tclose.algorithms.tight import moving_loops as moving

        n, classes = len(self.table), self.movable(labels)
        most = len(classes.loss)
        paths, tools = self.paths(effort.paths, seed), self.tools()
        marks, members = np.full(most, -1, np.int64), np.empty(n, np.int64)
        clock, step = 0, max(ROWS_AT_A_TIME // pace_of(self.requirement), 50)

        def search(passes: int) -> None:
            nonlocal clock
            changed = classes.table[:, moving.CHANGED]
            changed[changed == 2**62] = clock + 1
            for _ in range(passes):
                n_changed = 0
                for first in range(0, n, step):
                    last = min(first + step, n)
                    turn = moving.SearchPass(first=first, last=last, reach=3, swaps=effort.swaps, clock=clock)
                    n_changed += moving.search(self.task, classes, paths, turn, marks, members, tools)
                    clock += step
                    if self.ends(control):
                        return
                if n_changed <= n // 2000:
                    return

        search(effort.passes)
        if effort.rebuilds and not self.ends(control):
            n_classes = int(labels.max()) + 1
            share = effort.rebuilds * min((MANY_VALUES / max(self.task.soft.n_values, 1)) ** 0.5, 1.0)
            n_trials = int(share * max(n * 80 / self.plot_size(n_classes), FEWEST_TRIALS)) + 1
            self._rebuild(classes, n_classes, paths, n_trials, 0.0, seed, control)
            search(effort.passes)
        return Partition.of(classes.rows[:, moving.CLASS]).labels

    def rebuilt(self, labels: Labels, n_trials: int, heat: float, n_paths: int, seed: int, control: Control) -> Labels:
        """Build classes anew, so many times, where that saves or, while it is hot, costs little."""
        from tclose.algorithms.tight import moving_loops as moving

        classes = self.movable(labels)
        self._rebuild(classes, int(labels.max()) + 1, self.paths(n_paths, seed), n_trials, heat, seed, control)
        return Partition.of(classes.rows[:, moving.CLASS]).labels

    def plot_size(self, n_classes: int) -> int:
        """How many rows are built anew at a time, where there are so many classes: about eight of them."""
        return int(np.clip(8 * len(self.table) // n_classes, FEWEST_ON_PLOT, MOST_ON_PLOT))

    def _rebuild(
        self,
        classes: moving.MovableClasses,
        n_classes: int,
        paths: moving.Paths,
        n_trials: int,
        heat: float,
        seed: int,
        control: Control,
    ) -> None:
        from tclose.algorithms.tight import regrowing_loops as regrowing
        from tclose.kernels.ahead import wait_for

        most, size = len(classes.loss), self.plot_size(n_classes)
        plot, cuts, tools = self._plot(size), self._cuts(size), self.tools()
        wait_for(regrowing.rebuild)
        free = np.concatenate([[most - n_classes], np.arange(n_classes, most), np.zeros(n_classes, np.int64)])
        trials = self._trials(heat, seed, free)
        piece = max(16_000 // size, 10) if pace_of(self.requirement) == 1 else 2
        for done in range(0, n_trials, piece):
            count = min(piece, n_trials - done)
            regrowing.rebuild(self.task, classes, paths, plot, count, trials, cuts, tools)
            if self.ends(control):
                return

    def rebuilding_ahead(self) -> AbstractContextManager[None]:
        """Have that which builds classes anew compiled by another process, if it has to be: it takes longest."""
        from tclose.algorithms.tight import moving_loops as moving
        from tclose.algorithms.tight import regrowing_loops as regrowing
        from tclose.kernels.ahead import compiled_ahead

        size, places = FEWEST_ON_PLOT, np.zeros((1, 1), np.int64)
        trials = self._trials(0.0, 0, np.zeros(1, np.int64))
        plot, cuts, tools = self._plot(size), self._cuts(size), self.tools()
        paths = moving.Paths(places, places)
        return compiled_ahead(regrowing.rebuild, self.task, self._no_classes(), paths, plot, 1, trials, cuts, tools)

    def movable(self, labels: Labels) -> moving.MovableClasses:
        """The classes of these labels, as they can be changed."""
        from tclose.algorithms.tight import moving_loops as moving

        classes = self._no_classes()
        moving.fill(self.task.space, classes, labels, int(labels.max()) + 1)
        return classes

    def _no_classes(self) -> moving.MovableClasses:
        from tclose.algorithms.tight import moving_loops as moving

        n, most = len(self.table), len(self.table) // self.task.k + 1
        classes = moving.MovableClasses(
            table=np.zeros((most, 3), np.int64),
            rows=np.full((n, 4), -1, np.int64),
            ends=np.empty((most, len(self.table.axes), 6), np.int32),
            loss=np.zeros(most),
        )
        classes.table[:, moving.HEAD] = -1
        return classes

    def ends(self, control: Control) -> bool:
        """Whether to come back: kernels that were halted are not begun again."""
        return bool(self.halt[0]) or control.stop

    def paths(self, n_paths: int, seed: int) -> moving.Paths:
        """Hilbert curves through the axes in several orders."""
        from tclose.algorithms.tight.moving_loops import Paths

        rng, n_axes = np.random.default_rng(seed), len(self.table.axes)
        orders = np.empty((n_paths, len(self.table)), np.int64)
        places = np.empty_like(orders)
        for path in range(n_paths):
            orders[path] = order_along(self.table, rng.permutation(n_axes).tolist())
            places[path, orders[path]] = np.arange(len(self.table))
        return Paths(orders, places)

    def tools(self) -> Tools:
        """Room for one thread."""
        from tclose.algorithms.tight.boxes_loops import Tools
        from tclose.kernels.soft import Gauge

        n_values, n_attributes = self.task.soft.n_values, len(self.requirement.attributes)
        gauge, other = (
            Gauge(np.zeros(n_values + 1, np.int64), np.zeros(n_values + 1), np.zeros(n_attributes)) for _ in range(2)
        )
        return Tools(scratch_of(self.requirement), gauge, other, self.halt)

    def _narrow(self) -> NarrowRoom:
        from tclose.algorithms.tight.narrowing_loops import NarrowRoom

        soft = self.task.soft
        return NarrowRoom(
            before=np.empty(soft.n_values + 1, np.int64),
            values=np.empty(soft.n_values, np.int64),
            shares_of_values=np.empty(soft.n_values),
            edges=np.empty_like(soft.edges),
            weights=np.empty_like(soft.weights),
            shares=np.empty_like(soft.shares),
            caps=np.empty_like(soft.caps),
            tops=np.empty_like(soft.tops),
            firsts=np.empty_like(soft.firsts),
            base=np.empty_like(soft.base),
        )

    def _cuts(self, n: int) -> Cuts:
        from tclose.algorithms.tight.cutting_loops import Cuts

        sizes = [axis.size for axis in self.table.axes]
        most, widest = sum(min(size, n) for size in sizes) + 1, max(sizes)
        room, n_axes = max(most, n), len(sizes)
        return Cuts(
            saved=np.empty(most),
            where=np.empty((most, 3), np.int64),
            order=np.empty(room, np.int64),
            room=np.empty(room, np.int64),
            counts=np.zeros(widest, np.int64),
            lows=np.empty((widest, n_axes), np.int32),
            highs=np.empty((widest, n_axes), np.int32),
            left=np.empty(widest),
            found=np.empty(widest, np.int32),
            key=np.empty(room),
        )

    def _trials(self, heat: float, seed: int, free: NDArray[np.int64]) -> regrowing.Trials:
        from tclose.algorithms.tight.regrowing_loops import Trials

        return Trials(
            tried=np.ones((2, 2)),
            heat=heat,
            random=np.array([seed], np.uint64),
            free=free,
            room=self._narrow(),
            room_of_class=self._narrow(),
        )

    def _plot(self, size: int) -> regrowing.Plot:
        from tclose.algorithms.tight.regrowing_loops import Plot

        most, n_axes = size // self.task.k + 3, len(self.table.axes)
        return Plot(
            members=np.empty(size, np.int64),
            parts=np.empty(size, np.int64),
            lows=np.empty((most, n_axes), np.int32),
            highs=np.empty((most, n_axes), np.int32),
            sizes=np.empty(most, np.int64),
            losses=np.empty(most),
            counts=np.zeros((most, self.task.soft.n_values), np.int64),
            stack=np.zeros((most, 2), np.int64),
            starts=np.empty(most, np.int64),
            state=np.empty(2, np.int64),
            division=_division(size),
        )


def _division(n: int) -> Division:
    from tclose.algorithms.tight.cutting_loops import Division

    return Division(sides=np.empty(n, np.int8), trial=np.empty(n, np.int8))
