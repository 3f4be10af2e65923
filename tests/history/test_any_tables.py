"""Random histories with any key of a schema, from frames and files, against a judge that shares nothing with them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.history.history_folder import HistoryFolder
from tclose.history.history_state import WITHDRAWN
from tests.history.any_tables import AnyTable
from tests.history.living import HISTORY
from tests.oracles.history_promises import Member, Members, Seen, Watched
from tests.seeds import for_seeds

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")


def members_of(history: HistoryFolder, n_persons: int) -> tuple[Members, set[str]]:
    """Who is in the last release, and who is withdrawn, by the names that only whoever holds the key can make."""
    named = {
        hashlib.blake2b(f"p{number}".encode(), key=history.key, digest_size=16).hexdigest(): f"p{number}"
        for number in range(n_persons)
    }
    state = history.state
    persons = [named[each] for each in state.hashes]
    found: Members = {}
    for place in np.flatnonzero(state.class_of[:, -1] >= 0).tolist():
        member = int(state.class_of[place, -1]), int(state.version_of[place, -1])
        found[persons[place]] = Member(*member, state.quasi.row(place, named=True))
    return found, {persons[place] for place in np.flatnonzero(state.places == WITHDRAWN).tolist()}


def run(seed: int, folder: Path) -> tuple[list[str], Counter[str]]:
    """Release every state of a table; what is wrong, and what happened."""
    living, watched, events = AnyTable.of(seed), Watched(), Counter[str]()
    number, last = 0, None
    for place, frame in enumerate(living.states()):
        given: Any = frame
        if living.rng.random() < 0.3:
            given = folder / "table.csv"
            frame.write_csv(given)
        file = folder / f"{number + 1}.csv"
        try:
            tclose.republish(
                given, living.keys, history=folder / HISTORY, first=not number, deletions=living.deletions,
                least_batch=living.least_batch, method=living.method, seed=place, allow_single_class=True,
            ).write(file, record=folder / "record.json")  # fmt: skip
        except tclose.InfeasibleError:
            events["infeasible"] += 1
            continue
        except tclose.TcloseError as error:
            if "Nobody of the" not in str(error):
                return [*watched.problems, str(error)], events
            continue
        number += 1
        counts = json.loads((folder / "record.json").read_text())["history"]
        members, withdrawn = members_of(HistoryFolder.open(folder / HISTORY), living.n_persons)
        published = pl.read_csv(file, infer_schema=False).to_dicts()
        withdraws = living.deletions == "withdraw"
        watched.look(Seen(living.present(), living.keys, published, members, withdrawn, counts, withdraws))
        assert tclose.verify(file, living.keys).holds
        told = file.with_name(f"{file.name}.certificate.json").read_bytes()
        link = json.loads(told)["history"]
        assert (link["number"], link["before"]) == (number, last)
        last = hashlib.sha256(told).hexdigest()
        events.update({name: count for name, count in counts.items() if name not in ("number", "atoms")})
    return watched.problems, events


@for_seeds(60, at_a_time=10, everyday=1, tested=5)
def test_any_history_keeps_its_promise(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / str(seed)
    folder.mkdir()
    assert run(seed, folder)[0] == []
