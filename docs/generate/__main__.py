"""Write every generated page and block: `python -m docs.generate`."""

from __future__ import annotations

from docs.generate.pages import write

if __name__ == "__main__":
    write()
