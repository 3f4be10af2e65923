"""What a release of a history did and what waits, in words: for its owner with counts, for everybody without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DONE = {
    "added": "added",
    "changed": "entered with new values",
    "moved": "have other quasi-identifiers",
    "deleted": "left",
    "returned": "returned",
    "withdrawn": "were withdrawn with their class, for good",
}
WAITING = {
    "new_waiting": "new persons wait, all of them",
    "changes_held": "changed persons stay with their old row",
    "moves_held": "persons stay with their old quasi-identifiers, so that their class is no wider than `coarsest`",
    "deletions_held": "deleted persons stay with their row",
    "returned_waiting": "returned persons wait",
    "barred": "persons of the table are withdrawn, and not released again",
}


def counted_sentences(counts: Mapping[str, int]) -> list[str]:
    """What a release did, and a sentence for each reason why someone waits; not publishable.

    Examples
    --------
    >>> counted_sentences({"number": 2, "added": 30, "deletions_held": 1})
    ['Release 2 of its history: 30 added.', '1 deleted persons stay with their row.']
    """
    done = [f"{counts[name]:,} {words}" for name, words in DONE.items() if counts.get(name)]
    waiting = [f"{counts[name]:,} {words}." for name, words in WAITING.items() if counts.get(name)]
    return [f"Release {counts['number']} of its history: {', '.join(done) or 'nobody came or went'}.", *waiting]


def published_sentences(link: Mapping[str, Any]) -> list[str]:
    """What anyone may know of a release of a history: what its certificate says, and what that means.

    Examples
    --------
    >>> published_sentences({"number": 3, "before": "ab", "first": "cd"})[0]
    'By its certificate this is release 3 of a table that is released again as it changes.'
    """
    return [
        f"By its certificate this is release {link['number']} of a table that is released again as it changes.",
        "Such releases are made so that persons who were released in the same releases, in the same class of each, and "
        "with new values in the same of them, are at least k, and that their values are as close to the release in "
        "which they were new as is asked of a class. Whoever holds all releases and takes that as given believes no "
        "more about a person's values than t allows. This file alone does not show it.",
        "To keep it, rows may be here that were changed or deleted since, and persons who are new may be absent. How "
        "many these are is not published.",
    ]
