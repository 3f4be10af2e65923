"""How far classes are from the window they belong to: exact, by code that the methods do not use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.class_distances import Distances, class_distances
from tclose.table.classes import Tally
from tclose.table.encode import Domain, EncodedTable
from tclose.table.joint_distances import joint_distances

Integers = NDArray[np.int64]


def reached(schema: Schema, table: EncodedTable, labels: Integers) -> dict[str, Distances]:
    """The distances of classes 0, 1, 2, ... from the whole table, by attribute and joint.

    Rows with label -1 are in none of the classes, and count in the table nevertheless.
    """
    n_classes = int(labels.max(initial=-1)) + 1
    keys = np.where(labels < 0, n_classes, labels)
    found: dict[str, Distances] = {}
    parts: dict[str, tuple[Domain, NDArray[np.int32]]] = {}
    for sensitive, domain, codes in zip(schema.sensitive, table.domains, table.codes, strict=False):
        parts[sensitive.column] = domain, codes
        found[sensitive.column] = class_distances(domain.form, Tally.of(keys, codes, domain.size))
    for joint in schema.joint:
        found[joint.name] = joint_distances(joint, [parts[column] for column in joint.columns], keys)
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
