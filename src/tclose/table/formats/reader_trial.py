"""Read a file in a process that may die of it: run as a script, by its path.

A damaged file can make a reader ask for more memory than there is, or point outside of what it has: that ends the
process, and no exception can be caught. What is raised here is raised again where the file is wanted, and told there.
"""

from __future__ import annotations

import contextlib
import json
import sys
from importlib import import_module


def try_reading(module: str, function: str, arguments: list[object]) -> None:
    """Read it, whatever comes of that."""
    with contextlib.suppress(BaseException):  # a panic is no Exception; this process has nothing else to do
        getattr(import_module(module), function)(*arguments)


if __name__ == "__main__":
    with contextlib.suppress(ImportError):
        from tclose.table.parquet_trial import be_the_first_to_die

        be_the_first_to_die()
    try_reading(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
