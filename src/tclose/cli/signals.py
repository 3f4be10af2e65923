"""Commands that are told to end do so in order: what is unfinished is removed, and the exit code names the signal.

Python runs the handler of a signal in the main thread, and only once compiled code has returned to it. So a second
thread waits for the signal as well, and ends the process if the main thread has not done so after a while.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tclose.cli.options import say

NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
GRACE = 2.0  # seconds for the main thread; kernels come back to it several times a second
BASE = 128  # a shell adds it to the number of the signal that ended a process, and so does this


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit; those that are ignored, as `nohup` has it, stay so."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def on_signal(number: int, _frame: Any) -> None:
        asked.append(number)
        for each in numbers:  # nothing disturbs the cleaning
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(BASE + number)

    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        with _watched(on_signal, asked):
            yield
    except BaseException as error:
        if asked and not isinstance(error, SystemExit):  # a library that was called back made an error of its own of it
            raise SystemExit(BASE + asked[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            with suppress(OSError):  # the terminal may be gone
                say(f"Ended by {signal.Signals(asked[0]).name}: what was unfinished is removed.")


@contextmanager
def _watched(on_signal: Any, asked: list[int]) -> Iterator[None]:
    """Have another thread end the process where the main thread does not come to it."""
    inbox, outbox = socket.socketpair()
    ended = threading.Event()

    def watch() -> None:
        while (told := inbox.recv(1)) and not ended.is_set():
            number = told[0]
            if signal.getsignal(number) is on_signal or number in asked:  # and no command handles it by itself
                if not ended.wait(GRACE):
                    _end_at_once(number)
                return

    outbox.setblocking(False)
    before = signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        outbox.close()
        watcher.join()
        inbox.close()


def _end_at_once(number: int) -> None:
    """Remove what is unfinished, and end the process whatever its other threads do."""
    from tclose.release.atomic import abandon

    abandon()
    os._exit(BASE + number)
