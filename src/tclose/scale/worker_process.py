"""A process that does jobs: it reads them from its standard input and writes what came of them to its output."""

from __future__ import annotations

import errno
import os
import pickle
import sys
import traceback
from typing import IO, Any

from tclose.errors import TcloseError

LENGTH = 8  # bytes before a message, which say how long it is


def send(stream: IO[bytes], message: object) -> None:
    """Write a message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(LENGTH, "little") + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message.

    Raises
    ------
    EOFError
        The other side is gone.
    """
    return pickle.loads(_exactly(stream, int.from_bytes(_exactly(stream, LENGTH), "little")))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if data is None or len(data) < size:
        raise EOFError
    return data


def serve() -> None:
    """Do jobs until there are no more."""
    jobs, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    while True:
        try:
            work, arguments = receive(jobs)
        except EOFError:
            return
        try:
            outcome: tuple[bool, object] = True, work(*arguments)
        except Exception as error:
            outcome = False, told(error)
        try:
            send(results, outcome)
        except BrokenPipeError:
            os._exit(1)  # whoever gave the job is gone, and nobody reads a traceback


def told(error: Exception) -> Exception:
    """An error as it may leave the process: ours with its sentence, one of the system, of others the type alone.

    Their messages may quote a cell; with TCLOSE_DEBUG set, the traceback is told.

    Examples
    --------
    >>> told(KeyError("secret")), told(OSError(28, "No space left on device"))
    (RuntimeError('KeyError'), OSError(28, 'No space left on device'))
    """
    if isinstance(error, TcloseError):
        kind: type[Exception] = next(each for each in type(error).__mro__ if "__init__" not in vars(each))
        return kind(*error.args)
    if isinstance(error, OSError) and error.errno is None:  # numpy, of a file that took fewer bytes than it was given
        return OSError(errno.ENOSPC, "A file could not be written whole. Is the disk full?")
    if isinstance(error, OSError):
        return OSError(error.errno, error.strerror, *([error.filename] if error.filename else []))
    if os.environ.get("TCLOSE_DEBUG"):
        return RuntimeError("".join(traceback.format_exception(error)))
    return RuntimeError(type(error).__name__)


if __name__ == "__main__":
    serve()
