"""The exit codes of all commands, and which error ends with which."""

from __future__ import annotations

from tclose.errors import EngineError, InfeasibleError, LockError, TcloseError, VerificationError

MEANINGS = {
    "0": "done",
    "1": "something else went wrong, such as a full disk or a file that another process writes",
    "2": "wrong usage",
    "3": "bad input (table, schema or hierarchy)",
    "4": "the requirement cannot be met",
    "5": "verification failed",
    "129 and 143": "ended by SIGHUP and SIGTERM",
}
_BY_ERROR: dict[type[TcloseError], int] = {LockError: 1, EngineError: 1, InfeasibleError: 4, VerificationError: 5}


def exit_code_of(error: type[TcloseError]) -> int:
    """The code that a command ends with for an error of this kind: 3 unless it is said otherwise.

    Examples
    --------
    >>> from tclose.errors import BusyError, TableError
    >>> exit_code_of(BusyError), exit_code_of(TableError), exit_code_of(VerificationError)
    (1, 3, 5)
    """
    return next((code for kind, code in _BY_ERROR.items() if issubclass(error, kind)), 3)


def exit_codes_text() -> str:
    """All of them in one line, for the end of `tclose --help`."""
    return f"[bold]Exit codes:[/bold] {'; '.join(f'{code} {meaning}' for code, meaning in MEANINGS.items())}."
