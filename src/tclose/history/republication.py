"""republish: the next release of a table that lives, safe beside the earlier ones; on one screen."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from tclose.algorithms import DEFAULT, Algorithm, find
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control, check_watching
from tclose.errors import InfeasibleError, SchemaError, TableError, VerificationError
from tclose.history.certificate_chain import link_of
from tclose.history.continued_classes import ContinuedClasses
from tclose.history.followed_schema import check_follows, check_supported
from tclose.history.history_check import check_history
from tclose.history.history_folder import HistoryFolder
from tclose.history.history_state import HistoryState, ReleaseEntry
from tclose.history.kept_back import is_limited, keep_back
from tclose.history.next_rows import DELETIONS, Deletions, KeptBack, NextRows, choose_rows
from tclose.history.next_state import state_after
from tclose.history.original_rows import OriginalTable, untrue_held
from tclose.history.person_changes import PersonChanges, PersonRows, find_changes
from tclose.history.schema_copies import schema_of_text, schema_text
from tclose.history.unit_spellings import warn_of_other_spellings
from tclose.history.visible_atoms import join_unseen
from tclose.pipeline import Listener, anonymize
from tclose.release.certificate import Certificate
from tclose.release.earlier import Earlier, histories_among, named_earlier
from tclose.release.known_persons import is_history, warn_of_known_persons
from tclose.release.record import Record
from tclose.release.release import Release
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_flags, check_order, check_path, check_run, take_in
from tclose.table.row_selection import select_rows
from tclose.table.source import Source
from tclose.table.unit_rows import count_unpicked

LOG = logging.getLogger(__name__)


def republish(
    df: Any,
    schema: SchemaLike,
    *,
    history: Path | str,
    first: bool = False,
    deletions: Deletions = "hold",
    least_batch: float = 0.0,
    method: str | Algorithm = DEFAULT,
    seed: int | None = None,
    time: float | None = None,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
    control: Control | None = None,
    earlier: Earlier | Iterable[Earlier] = (),
) -> Release:
    """Make the next release of a table, so that all releases together keep what each of them promises.

    The release must be written (`release.write`) before it can be seen: file and history are written together.

    Parameters
    ----------
    df
        The new whole table, in all forms that `anonymize` takes.
    schema
        That of the last release, or a stricter one: a `Schema`, a dict with its keys, or a path to TOML. It names a
        `unit`.
    history
        The folder of the history; as confidential as the table.
    first
        Begin the history with the first release of a table; the folder is made if it is not there.
    deletions
        What becomes of a deleted person who cannot leave without telling something: `hold` keeps the released row
        until that is possible, `withdraw` takes the whole class out at once, and never releases its persons again.
    least_batch
        New persons wait until there are this many for each person who was released before: 0.5 is half as many. The
        more they are, the narrower are their classes.
    method, seed, time, allow_single_class, show_values, progress, control, earlier
        As in `anonymize`; the method forms classes of new persons.

    Raises
    ------
    SchemaError, TableError, InfeasibleError, VerificationError
        Nothing weaker than the promise is ever returned.

    Examples
    --------
    >>> import tempfile, tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> frame, schema = frame.with_row_index("who"), replace(schema, unit="who")
    >>> folder = Path(tempfile.mkdtemp())
    >>> first = republish(frame.head(1500), schema, history=folder / "history", first=True, method="mondrian")
    >>> certificate = first.write(folder / "release-1.csv").certificate
    >>> second = republish(frame, schema, history=folder / "history", method="mondrian")
    >>> second.write(folder / "release-2.csv").certificate["history"]["number"]
    2
    """
    check_order(df, schema, "republish")
    if deletions not in DELETIONS:
        raise SchemaError(f"deletions must be one of {', '.join(DELETIONS)}.")
    if not (isinstance(least_batch, int | float) and 0 <= least_batch < math.inf):
        raise SchemaError("least_batch must be a number from 0 up: 0.5 is half as many as were released before.")
    check_path("history", history)
    check_watching(progress, control)
    check_run(seed, time)
    check_flags(first=first, allow_single_class=allow_single_class, show_values=show_values)
    inner = find(method)
    settled, source = take_in(df, Schema.of(schema), {}, republish)
    check_supported(settled)
    check_capable(inner, settled)
    named = named_earlier(earlier)
    warn_of_known_persons(source, settled, histories_among(named))
    records = [each for each in named if isinstance(each, Record) or not is_history(Path(each))]
    folder = HistoryFolder.create(Path(history)) if first else HistoryFolder.open(Path(history))
    state = folder.state
    if not first and not state.number:
        raise TableError(
            f"The history '{folder.path.name}' has no release yet. Begin it with `tclose anonymize --history`."
        )
    if state.number:
        check_follows(schema_of_text(state.releases[-1].schema), settled)
    how = {
        "seed": seed, "time": time, "allow_single_class": allow_single_class, "show_values": show_values,
        "progress": progress, "control": control, "earlier": records,
    }  # fmt: skip
    LOG.info("release %d of a history", state.number + 1)
    release, after, whole = _followed(state, folder.key, source, settled, inner, deletions, least_batch, how)
    return replace(release, _history=_HistoryContinuation(folder, after, whole))


def follow(
    state: HistoryState,
    key: bytes,
    source: Source,
    schema: Schema,
    inner: Algorithm,
    deletions: Deletions = "hold",
    least_batch: float = 0.0,
    **how: Any,
) -> tuple[Release, HistoryState]:
    """The release of a table that follows on a state, and the state that follows on the release; nothing is written.

    Parameters
    ----------
    state, key
        What earlier releases have told, and the key by which it knows persons.
    source, schema
        The new whole table.
    inner, deletions, least_batch
        The method for new rows; and as in `republish`.
    how
        As `anonymize` takes it.
    """
    return _followed(state, key, source, schema, inner, deletions, least_batch, how)[:2]


def _followed(
    state: HistoryState,
    key: bytes,
    source: Source,
    schema: Schema,
    inner: Algorithm,
    deletions: Deletions,
    least_batch: float,
    how: dict[str, Any],
) -> tuple[Release, HistoryState, Source]:
    """The same, and the rows that were generalized."""
    rows = PersonRows.of(source, *select_rows(source, schema), schema, key)
    changes = find_changes(join_unseen(state, schema), rows, schema)
    _check_same_table(changes, schema)
    assert schema.unit is not None
    new = source.column(schema.unit).gather(rows.rows[changes.new_rows])
    warn_of_other_spellings(changes, new, key, stacklevel=4)
    choose = partial(_chosen, changes, source, schema, deletions, least_batch)
    chosen, whole, classes, release = _formed(choose, inner, schema, how)
    counts = chosen.counts | {"atoms": len(np.unique(classes.atoms))}
    entry = ReleaseEntry(
        state.number + 1, schema_text(schema), release.record.method, release.loss, release.measured.rows,
        release.measured.classes, counts, {},
    )  # fmt: skip
    after = state_after(chosen, classes.atoms, release.measured.grouping.labels, entry, schema)
    original = OriginalTable(source, key)
    problems = [*check_history(after, {after.number: original}).problems]
    problems += untrue_held(chosen.changes.state, after, original, schema)
    if problems:
        raise VerificationError(
            " ".join(["The releases would not keep their promise together, and nothing is released.", *problems])
        )
    return _told(release, chosen, source, entry), after, whole


def _check_same_table(changes: PersonChanges, schema: Schema) -> None:
    """Refuse a table that has nobody of the history: all its persons would be taken for new ones."""
    n_known = len(changes.state)
    if n_known and (changes.row_of < 0).all():
        raise TableError(
            f"Nobody of the {n_known:,} persons of the history is in this table. Is it another table, or is "
            f"'{schema.unit}' written in another way? Persons who are not recognized are taken for new ones."
        )


def _chosen(
    changes: PersonChanges, source: Source, schema: Schema, deletions: Deletions, least_batch: float, *, new: bool
) -> tuple[NextRows, Source]:
    """The rows of the next release, and the same as a table; `new` is whether new persons may be among them."""
    back = replace(KeptBack.nobody(len(changes.state)), new=not new)
    while True:
        chosen = choose_rows(changes, schema, deletions, least_batch, back)
        whole = _whole(chosen, source, schema)
        more = keep_back(chosen, whole, schema, back) if is_limited(schema) else back
        if more is back:
            return chosen, whole
        back = more


def _formed(
    choose: Callable[..., tuple[NextRows, Source]], inner: Algorithm, schema: Schema, how: dict[str, Any]
) -> tuple[NextRows, Source, ContinuedClasses, Release]:
    """Rows, the same as a table, classes and release; a batch that `coarsest` lets form no classes waits, all of it."""
    for new in (True, False):
        chosen, whole = choose(new=new)
        classes = ContinuedClasses(inner, chosen.blocks)
        try:
            return chosen, whole, classes, anonymize(whole, schema, method=cast(Algorithm, classes), **how)
        except InfeasibleError:
            if not (chosen.takes_new and is_limited(schema) and chosen.changes.state.number):
                raise
    raise AssertionError("without new persons it is returned or raised")


def _whole(chosen: NextRows, source: Source, schema: Schema) -> Source:
    """The rows of the release as a table: some of the new one, some that the history holds."""
    assert schema.unit is not None
    n_rows = len(chosen.persons)
    values = {each.name: each for each in (*chosen.quasi.get_columns(), *chosen.sensitive.get_columns())}
    values[schema.unit] = pl.Series(schema.unit, np.arange(n_rows))  # one row a person: they are told apart, not named
    absent = [name for name in source.names if name not in values]  # identifiers, which are not released
    values |= {name: pl.Series(name, [None] * n_rows, dtype=pl.String) for name in absent}
    whole = Source.of(pl.DataFrame([values[name] for name in source.names]), source.restore)
    whole = replace(whole, is_text=source.is_text, is_loose=source.is_loose)
    return replace(whole, digest=source.digest, categorical=source.categorical)


def _told(release: Release, chosen: NextRows, source: Source, entry: ReleaseEntry) -> Release:
    """The release with what its certificate and its record say of the history."""
    state, rows = chosen.changes.state, chosen.changes.table.rows
    unpicked = count_unpicked(source, release.schema)
    record = replace(
        release.record,
        input_rows=source.n_rows,
        unpicked_rows=unpicked,
        dropped_rows=source.n_rows - unpicked - len(rows),
        notes={**release.record.notes, "history": {"number": entry.number, **entry.counts}},
    )
    link = {"history": link_of(state)}
    at = chosen.table_rows
    return replace(
        release,
        certificate=Certificate({**release.certificate.fields, **link}),
        record=record,
        _rows=np.where(at < 0, -1, rows[at]),
    )


@dataclass
class _HistoryContinuation:
    """Records a release in its history when it is written."""

    folder: HistoryFolder
    after: HistoryState
    whole: Source
    is_recorded: bool = field(default=False)

    @contextlib.contextmanager
    def recorded(self, certificate: bytes, files: Sequence[tuple[Path, Path]]) -> Iterator[None]:
        if self.is_recorded:
            raise TableError("This release was written already. Copy its file and its certificate.")
        with self.folder.recorded(self.after, certificate, files):
            yield
        self.is_recorded = True
