"""`python -m tests.fuzz SECONDS`."""

import sys

from tests.fuzz.fuzz import main

if __name__ == "__main__":
    sys.exit(main())
