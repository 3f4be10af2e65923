"""Processes that do jobs side by side, each replaced when it dies: a job is then begun again."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from tclose.errors import EngineError
from tclose.scale import worker_process
from tclose.scale.worker_process import receive, send

Result = TypeVar("Result")
ATTEMPTS = 4  # at one job, each by a process of its own


WORKER_DIED = (
    "A process that worked on a part of the table was ended several times, by the system or from outside. Nothing was "
    "released. Is there enough memory? Fewer `--jobs`, or a smaller `--shard-rows`, need less."
)


@dataclass
class WorkerPool:
    """Processes of this machine.

    Attributes
    ----------
    jobs
        How many there are at a time; with 0 jobs are done in this process.

    Examples
    --------
    >>> with WorkerPool(2) as pool:
    ...     sorted(pool.each(abs, [(-1,), (2,)]))
    [1, 2]
    """

    jobs: int
    _idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = field(default_factory=queue.SimpleQueue)
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def __enter__(self) -> WorkerPool:
        for _ in range(self.jobs):
            self._idle.put(None)  # it is started when there is something to do
        self._threads = ThreadPoolExecutor(max(self.jobs, 1))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._closed = True
            running = [*self._running]
        for process in running:
            if error is not None:
                process.kill()
            elif process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in running:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def each(self, work: Callable[..., Result], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """What comes of each job, in the order of the jobs; a few more are begun than were taken.

        Raises
        ------
        EngineError
            The process of a job ended before the job did, each time.
        Exception
            What a job raised.
        """
        waiting: list[Future[Result]] = []
        if not self.jobs:
            yield from (work(*arguments) for arguments in jobs)
            return
        try:
            for arguments in jobs:
                waiting.append(self._threads.submit(self._do, work, arguments))
                if len(waiting) >= 4 * self.jobs:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()

    def _do(self, work: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
        for _ in range(ATTEMPTS):
            process = self._idle.get()
            try:
                process = process or self._started()
                assert process.stdin is not None
                assert process.stdout is not None
                send(process.stdin, (work, arguments))
                outcome: Any = receive(process.stdout)
            except (EOFError, OSError):
                self._bury(process)
                self._idle.put(None)
                continue
            self._idle.put(process)
            if outcome[0]:
                return outcome[1]  # type: ignore[no-any-return]
            raise outcome[1]
        raise EngineError(WORKER_DIED)

    def _started(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "POLARS_MAX_THREADS": "1"}
        command = [sys.executable, "-P", "-m", worker_process.__name__]
        with self._lock:
            if self._closed:
                raise EngineError(WORKER_DIED)
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                start_new_session=True,  # Ctrl-C is for this process: the others end with it
            )  # fmt: skip
            self._running.add(process)
        return process

    def _bury(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with self._lock:
            self._running.discard(process)
