"""The end of a stream, each way out of it forced on one window."""

from __future__ import annotations

import numpy as np

from tclose.stream.ending import Settlement, end
from tclose.stream.windows import NOWHERE, WindowSplitter
from tclose.table.encode import encode
from tclose.table.source import read
from tests.stream.streams import Halves, frame_of, schema_of


def ended(out: list[int], kept: list[list[int]], late: list[int], t: str = "0.1", k: int = 2) -> Settlement:
    """A window of rows that are out, classes kept back, and late rows: their sensitive values, of 0 to 3."""
    values = [*out, *(value for group in kept for value in group), *late]
    schema = schema_of([t], k)
    table = encode(read(frame_of([(value,) for value in values], np.random.default_rng(1))), schema)
    labels = np.concatenate(
        [
            np.full(len(out), NOWHERE),
            np.repeat(np.arange(len(kept)), [len(group) for group in kept]).astype(np.int64),
            np.full(len(late), NOWHERE),
        ]
    )
    is_out = np.arange(len(values)) < len(out)
    done = end(is_out, labels, WindowSplitter(schema, table, Halves()), np.random.default_rng(2))
    fates = np.stack([done.formed != NOWHERE, done.kept != NOWHERE, done.withheld, is_out])
    assert (fates.sum(axis=0) == 1).all()  # every row has one fate
    for each in range(len(kept)):  # a class kept back goes as it is, or joins as a whole
        assert len(set(fates[1, labels == each])) == 1
    return done


def test_all_together_where_that_is_close() -> None:
    done = ended([0, 3] * 10, [[0, 3], [3, 0]], [0, 3, 0, 3])
    assert (done.formed != NOWHERE).sum() == 8


def test_late_rows_by_themselves() -> None:
    """With what is kept back they would be far from the window."""
    done = ended([3] * 12, [[0, 0]] * 6, [0, 3, 0, 3, 0, 3])
    assert (done.formed != NOWHERE).tolist() == [False] * 24 + [True] * 6
    assert (done.kept != NOWHERE).sum() == 12


def test_classes_kept_back_that_help_join() -> None:
    """Late rows of one value, and only two of many classes kept back have the other."""
    done = ended([3] * 20, [[0, 0]] * 8 + [[3, 3]] * 2, [0] * 4)
    assert (done.formed != NOWHERE).tolist() == [False] * 36 + [True] * 8
    assert not done.withheld.any()


def test_some_late_rows_are_released() -> None:
    """Of ten and two only a few of the more frequent go with the others."""
    done = ended([0, 3] * 20, [], [0] * 10 + [3] * 2)
    assert done.withheld[-2:].sum() == 0
    assert 5 <= done.withheld.sum() <= 8


def test_nothing_can_be_done() -> None:
    done = ended([0] * 20, [[0, 0]], [3] * 5)
    assert done.withheld.sum() == 5
    assert (done.kept != NOWHERE).sum() == 2


def test_fewer_than_k_late_rows() -> None:
    done = ended([0, 3] * 10, [[0, 0, 0]] * 3, [3], k=3)
    assert done.withheld.tolist() == [False] * 29 + [True]
