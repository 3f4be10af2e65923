"""Write every generated page and picture: `python -m docs.generate`; with `--quick`, no picture of the gallery."""

from __future__ import annotations

import sys

from docs.generate.pages import drawn, generated, write

if __name__ == "__main__":
    write(generated())
    if "--quick" not in sys.argv[1:]:
        write(drawn())
