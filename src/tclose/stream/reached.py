"""How far classes are from the window they belong to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.class_distances import Distances
from tclose.table.encode import EncodedTable
from tclose.table.measuring import measure_classes

Integers = NDArray[np.int64]


def reached(schema: Schema, table: EncodedTable, labels: Integers) -> dict[str, Distances]:
    """The distances of classes 0, 1, 2, ... from the whole table, by attribute and joint.

    Rows with label -1 are in none of the classes, and count in the table nevertheless.
    """
    n_classes = int(labels.max(initial=-1)) + 1
    keys = np.where(labels < 0, n_classes, labels)
    n = len(schema.sensitive)
    found = measure_classes(zip(table.domains[:n], table.codes[:n], strict=True), schema.joint, keys).distances
    return {name: some(distances, np.arange(n_classes)) for name, distances in found.items()}


def some(distances: Distances, classes: Integers) -> Distances:
    """The distances of some of the classes."""
    return replace(
        distances,
        a=None if distances.a is None else distances.a[classes],
        b=None if distances.b is None else distances.b[classes],
        sizes=distances.sizes[classes],
        floats=distances.floats[classes],
    )
