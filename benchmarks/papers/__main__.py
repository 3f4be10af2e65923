"""Rebuild the figures of paper 004, or some by number: `python -m benchmarks.papers 10 11`.

TCLOSE_ROWS is the rows of the tables by default.
"""

from __future__ import annotations

import argparse

from benchmarks.papers import page
from benchmarks.papers.rebuild import FOLDER, N_ROWS, NUMBERS, PAGE, draw, rebuild
from benchmarks.papers.runs import QUERIES


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("figures", nargs="*", type=int, metavar="figure", help=f"of {', '.join(map(str, NUMBERS))}")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw and write from the data there is")
    given = parser.parse_args()
    unknown = [str(number) for number in given.figures if number not in NUMBERS]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)} here. Known: {', '.join(map(str, NUMBERS))}")
    if given.draw:
        draw(FOLDER)
    else:
        rebuild(given.figures or NUMBERS, FOLDER, N_ROWS, QUERIES)
    PAGE.write_text(page.text(FOLDER), encoding="utf-8")


if __name__ == "__main__":
    main()
