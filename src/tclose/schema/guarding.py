"""The one guard around every reader: whatever another library does, what comes out is an error of ours.

Messages of other libraries, and the exceptions behind them, may quote a cell. A panic of polars is no
`Exception`, and its text goes straight to the standard error of the process.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from tclose.errors import MissingExtraError, SchemaError, TableError, TcloseError

Result = TypeVar("Result")
MOST_BYTES = 1 << 26  # of a schema, hierarchy, matrix or certificate: 64 MiB
_STDERR = 2


def guarded(
    problem: str, action: Callable[[], Result], kind: type[TcloseError] = TableError, *, silent: bool = False
) -> Result:
    """Do it, and turn any error of another library into ours: its message, and those behind it, may quote a cell.

    Parameters
    ----------
    problem
        What to say where it fails; the type of the error is added.
    action
        What to do.
    kind
        The type of the error.
    silent
        Keep what is written to standard error meanwhile if it panics: for what may panic in this process.

    Raises
    ------
    TcloseError
        It failed. Errors of ours and of the system come through, the former as `kind` where they are about a table.

    Examples
    --------
    >>> guarded("The number cannot be read", lambda: int("secret"))
    Traceback (most recent call last):
        ...
    tclose.errors.TableError: The number cannot be read (ValueError).
    """
    caught: BaseException
    try:
        with _silenced() if silent else contextlib.nullcontext():
            return action()
    except TcloseError as error:
        about_table = isinstance(error, TableError) and not issubclass(kind, TableError)
        caught = kind(str(error)) if about_table else error
    except OSError as error:  # without a number it is not the system's: polars says so of a file that is damaged
        caught = error if error.errno is not None else kind(f"{problem} ({type(error).__name__}).")
    except ModuleNotFoundError as error:
        caught = MissingExtraError(error.name or "pyarrow", "pandas", "Reading this dataframe")
    except Exception as error:
        caught = kind(f"{problem} ({type(error).__name__}).")
    except BaseException as error:
        if not is_panic(error):  # such as Ctrl-C
            raise
        caught = kind(f"{problem} ({type(error).__name__}).")
    caught.__context__ = None
    raise caught  # out here, so that it carries no trace of the other


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust panicked; each has a type of its own for that, of the same name."""
    return type(error).__name__ == "PanicException"


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Hold back what goes to standard error; it is passed on at the end, unless there was a panic."""
    _HELD.begin()
    panicked = False
    try:
        yield
    except BaseException as error:
        panicked = is_panic(error)
        raise
    finally:
        _HELD.end(panicked)


class HeldBack:
    """Standard error in a file of no name, while at least one thread wants it so; no lock is held meanwhile."""

    def __init__(self) -> None:
        self._lock, self._wanted, self._panicked = threading.Lock(), 0, False
        self._before: int | None = None
        self._file: IO[bytes] | None = None

    def begin(self) -> None:
        """Hold it back from now on, as far as there is one."""
        with self._lock:
            self._wanted += 1
            if self._wanted > 1:
                return
            self._panicked = False
            with contextlib.suppress(OSError):
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
                self._before = os.dup(_STDERR)
                os.dup2(self._file.fileno(), _STDERR)

    def end(self, panicked: bool) -> None:
        """Let it go on, if no other thread wants it back; what was held comes first, without a panic's words."""
        with self._lock:
            self._wanted -= 1
            self._panicked |= panicked
            if self._wanted:
                return
            if self._before is not None:
                os.dup2(self._before, _STDERR)
                os.close(self._before)
            if self._file is not None:
                self._pass_on(self._file)
            self._before = self._file = None

    def _pass_on(self, file: IO[bytes]) -> None:
        with file, contextlib.suppress(OSError):
            file.seek(0)
            while not self._panicked and (written := file.read(1 << 16)):
                os.write(_STDERR, written)


_HELD = HeldBack()


def read_small(path: Path, what: str, *, pipes: bool = False, most: int = MOST_BYTES) -> str:
    """The text of a file that a person wrote: a schema, a hierarchy, a matrix, a certificate.

    Parameters
    ----------
    path
        Where it lies.
    what
        What it is, for messages: `Schema`.
    pipes
        Whether it may be a pipe, whose end nobody knows. A device never is: `/dev/zero` has none.
    most
        The bytes it may have.

    Raises
    ------
    SchemaError
        It is not there, no ordinary file, too large, or not UTF-8. The message never quotes it.
    """
    return guarded(
        f"{what} '{path}' is not UTF-8 text", lambda: _bytes(path, what, pipes, most).decode("utf-8-sig"), SchemaError
    )


def _bytes(path: Path, what: str, pipes: bool, most: int) -> bytes:
    try:
        _check_ordinary(path.stat(), path, what, pipes)  # before it is opened, which waits at a pipe
        with path.open("rb") as file:
            _check_ordinary(os.fstat(file.fileno()), path, what, pipes)
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name is no name of a file"
    else:
        if len(data) <= most:
            return data
        reason = f"it is larger than {most >> 20} MiB"
    raise SchemaError(f"{what} '{path}' cannot be read: {reason}.")


def _check_ordinary(found: os.stat_result, path: Path, what: str, pipes: bool) -> None:
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        raise SchemaError(f"{what} '{path}' cannot be read: it is a folder.")
    if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
        raise SchemaError(f"{what} '{path}' cannot be read: it is not an ordinary file.")
