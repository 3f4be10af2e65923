"""How often each value occurs in each class, and how far each class is from the whole table, by attribute and joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Joint
from tclose.table.class_distances import Distances, class_distances
from tclose.table.classes import Tally
from tclose.table.encode import Domain
from tclose.table.joint_distances import joint_distances


@dataclass(frozen=True, eq=False)
class MeasuredClasses:
    """What was measured of every class.

    Attributes
    ----------
    tallies
        By sensitive attribute, how often each value occurs in each class.
    distances
        By sensitive attribute and joint, how far each class is from the whole table.
    """

    tallies: dict[str, Tally]
    distances: dict[str, Distances]


def measure_classes(
    columns: Iterable[tuple[Domain, NDArray[np.int32]]], joints: Iterable[Joint], keys: NDArray[np.int64]
) -> MeasuredClasses:
    """Measure the classes of rows that have the same key: single attributes, then the joints of some of them.

    Columns are taken one after the other, and only those of joints are held on to.
    """
    joints = tuple(joints)
    joined = {column for joint in joints for column in joint.columns}
    found, parts = MeasuredClasses({}, {}), {}
    for domain, codes in columns:
        tally = Tally.of(keys, codes, domain.size)
        found.tallies[domain.column] = tally
        found.distances[domain.column] = class_distances(domain.form, tally)
        if domain.column in joined:
            parts[domain.column] = domain, codes
    for joint in joints:
        found.distances[joint.name] = joint_distances(joint, [parts[column] for column in joint.columns], keys)
    return found
