"""Everything that must hold of a case: its release and certificate, its mutants, its other forms, its messages."""

from __future__ import annotations

import copy
import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tests.fuzz.cases import Case
from tests.fuzz.feasible import is_feasible
from tests.fuzz.forms import FORMS, as_rows, make_form, read_file, written
from tests.fuzz.judged import (
    Verdict,
    as_fractions,
    cap_differences,
    caps_told,
    differences,
    quiet,
    release_of,
    verdict_of,
)
from tests.fuzz.left_out import left_out_broken
from tests.fuzz.meaning import NoMeaning, Rows
from tests.fuzz.oracle import Judgement, judge, persons_of, released_columns, remaining
from tests.fuzz.truth import lies

JUST_BELOW = Fraction(1, 10**9)
N_MUTANTS, N_FORMS = 4, 2
SUFFIXES, SHARE_WRITTEN = (".csv", ".csv.gz", ".parquet"), 0.3
CAPS = ("rise", "beta")
SHORTEST_QUOTE = 6  # a shorter cell may be in a message by chance


@dataclass(frozen=True)
class Finding:
    """Something that must not be: its kind, by which it is recognized while it is made smaller, and what it is."""

    kind: str
    what: str


def check(case: Case, counts: Counter[str] | None = None, forms: Sequence[str] | None = None) -> list[Finding]:
    """All findings of a case, in these forms or in some; what was done is added to `counts`."""
    counts = Counter() if counts is None else counts
    counts["cases"] += 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            return list(_findings(case, Path(folder), counts, forms))
    except Exception as error:  # whatever is not a TcloseError must not come out of the package
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if "tclose" in frame.filename]
        place = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else "the fuzzer"
        return [Finding(f"exception {type(error).__name__} in {place.split(':')[0]}", f"{error} ({place})")]


def _findings(case: Case, folder: Path, counts: Counter[str], forms: Sequence[str] | None) -> Iterator[Finding]:
    draw = random.Random(case.seed)
    outcome = release_of(case, "polars", folder)
    if isinstance(outcome, tclose.TcloseError):
        counts[f"refused: {type(outcome).__name__}"] += 1
        yield from _quotes(case, str(outcome))
        if isinstance(outcome, tclose.VerificationError):
            yield Finding("refuses its own release", str(outcome))
        if not isinstance(outcome, tclose.SchemaError | tclose.SizeError) and is_feasible(case):
            yield Finding("refuses needlessly", f"{type(outcome).__name__} {outcome}")
    elif outcome is not None:
        counts["releases"] += 1
        counts[f"method: {case.method}"] += 1
        some = [draw.choice(SUFFIXES)] if draw.random() < SHARE_WRITTEN else []
        suffixes = some if forms is None else SUFFIXES
        yield from _release(case, outcome, folder, suffixes, draw, counts)
    others = [form for form in FORMS if form != "polars"]
    for form in draw.sample(others, N_FORMS) if forms is None else forms:
        yield from _same_in(case, form, outcome, folder, counts)


def _release(
    case: Case,
    release: tclose.Release,
    folder: Path,
    suffixes: Sequence[str],
    draw: random.Random,
    counts: Counter[str],
) -> Iterator[Finding]:
    frame = release.aligned()
    rows = as_rows(frame)
    original = case.rows
    kept = kept_rows(case, release)
    gone = left_out_of(case, release)
    counts["rows left out"] += len(gone)
    could_be = remaining(original, case.schema)
    broken = left_out_broken([original[row] for row in could_be], [could_be.index(row) for row in gone], case.schema)
    if broken:
        yield Finding("rows left out", "; ".join(broken))
    untrue = lies([original[row] for row in kept], rows, case.schema)
    if untrue:
        yield Finding("untrue", "; ".join(untrue[:3]))
    who = persons_of([original[row] for row in kept], case.schema)
    try:
        truth = judge(rows, case.schema, who)
    except NoMeaning as problem:
        yield Finding("released what means nothing", str(problem))
        return
    if not truth.holds:
        yield Finding("broken promise", "; ".join(truth.broken))
    told = release.certificate.as_dict()
    wrong = differences(truth, told["reached"]["k"], as_fractions(told["reached"]), told["reached"]["l"])
    wrong += cap_differences(truth, caps_told(told["reached"]))
    wrong += [f"{key} {told[key]}" for key in ("rows", "classes") if told[key] != getattr(truth, key)]
    if wrong:
        yield Finding("certificate", "; ".join(wrong))
    yield from _thresholds(case, frame, truth, counts)
    if case.schema.get("unit_rows") == "all":
        yield from _in_persons(case.take(kept), release, truth, folder, counts)
    yield from _mutants(case, frame, rows, draw, counts)
    for suffix in suffixes:
        yield from _written(case, release, truth, folder / f"release{suffix}", counts)


def left_out_of(case: Case, release: tclose.Release) -> list[int]:
    """The rows that are left out where they need not be."""
    if not case.schema.get("suppress_rows"):
        return []
    return [row for row in remaining(case.rows, case.schema) if release.classes[row] < 0]


def kept_rows(case: Case, release: tclose.Release) -> list[int]:
    """The rows that are released."""
    gone = set(left_out_of(case, release))
    return [row for row in remaining(case.rows, case.schema) if row not in gone]


# -- thresholds at and next to what is reached


def _thresholds(case: Case, frame: pl.DataFrame, truth: Judgement, counts: Counter[str]) -> Iterator[Finding]:
    for name, changed, expected in _next_to(case.schema, truth):
        counts["verdicts"] += 1
        try:
            found = verdict_of(frame, changed)
        except tclose.TcloseError as refusal:
            yield Finding("verdict refused", f"{name}: {type(refusal).__name__} {refusal}")
            return
        wrong = differences(truth, found.k, found.t, found.l) + cap_differences(truth, found.rises)
        if wrong:
            yield Finding("verdict", f"{name}: {'; '.join(wrong)}")
        elif found.holds not in (None, expected):
            yield Finding("threshold", f"{name}: holds is {found.holds}")


def _next_to(schema: dict[str, Any], truth: Judgement) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Schemas that ask exactly what is reached, and a little more."""
    reached = copy.deepcopy(schema)
    if not schema.get("keep") or schema.get("keep_unchecked"):
        reached["k"] = truth.k
    places = [(part, name) for part in ("sensitive", "joint") for name in schema.get(part, {})]
    places = [(part, name) for part, name in places if "t" in schema[part][name]]
    for part, name in places:
        reached[part][name]["t"] = str(truth.t[name])
    for name, keys in schema.get("sensitive", {}).items():
        if isinstance(keys.get("l"), dict) and "frequency" in keys["l"]:
            reached["sensitive"][name]["l"]["frequency"] = str(truth.l[name].frequency)
    caps = [(name, key, truth.rises[name][place]) for name in truth.rises for place, key in enumerate(("rise", "beta"))]
    caps = [(name, key, most) for name, key, most in caps if key in schema["sensitive"][name] and most > JUST_BELOW]
    for name, key, most in caps:
        reached["sensitive"][name][key] = str(most)
    yield "exactly what is reached", reached, True
    more = copy.deepcopy(reached)
    more["k"] = truth.k + 1
    yield "k one above", more, False
    for part, name in places:
        if truth.t[name] >= JUST_BELOW:
            more = copy.deepcopy(reached)
            more[part][name]["t"] = str(truth.t[name] - JUST_BELOW)
            yield f"t of {name} just below", more, False
    for name, key, most in caps:
        more = copy.deepcopy(reached)
        more["sensitive"][name][key] = str(most - JUST_BELOW)
        yield f"{key} of {name} just below", more, False


# -- persons


def _in_persons(
    case: Case, release: tclose.Release, truth: Judgement, folder: Path, counts: Counter[str]
) -> Iterator[Finding]:
    """What is counted in persons is that of the judge, and decided at and next to what is reached."""
    assert truth.persons is not None
    told = release.record.persons
    if told["k"] != truth.persons:
        yield Finding("persons", f"k is {truth.persons} in persons, told as {told['k']}")
    for name, (rise, beta) in truth.person_rises.items():
        found = Fraction(told["rise"][name]["exact"]), Fraction(told["beta"][name]["exact"])
        if found != (rise, beta):
            yield Finding("persons", f"rise and beta of {name} are {(rise, beta)} in persons, told as {found}")
    original, frame = make_form(case, "polars", folder), release.aligned()
    for name, changed, expected in _next_to_persons(case.schema, truth):
        counts["verdicts in persons"] += 1
        with quiet():
            verdict = tclose.verify(frame, changed, original=original)
        if verdict.holds != expected:
            yield Finding("threshold in persons", f"{name}: holds is {verdict.holds} {verdict.problems}")


def _next_to_persons(schema: dict[str, Any], truth: Judgement) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Schemas that ask exactly what is reached in persons, and a little more."""
    reached = copy.deepcopy(schema)
    if not schema.get("keep") or schema.get("keep_unchecked"):
        reached["k"] = truth.persons
    caps = [
        (name, key, each) for name, most in truth.person_rises.items() for key, each in zip(CAPS, most, strict=True)
    ]
    caps = [(name, key, most) for name, key, most in caps if key in schema["sensitive"][name] and most > JUST_BELOW]
    for name, key, most in caps:
        reached["sensitive"][name][key] = str(most)
    yield "exactly what is reached", reached, True
    yield "k one above", reached | {"k": (truth.persons or 0) + 1}, False
    for name, key, most in caps:
        more = copy.deepcopy(reached)
        more["sensitive"][name][key] = str(most - JUST_BELOW)
        yield f"{key} of {name} just below", more, False


# -- mutants


def _mutants(
    case: Case, frame: pl.DataFrame, rows: Rows, draw: random.Random, counts: Counter[str]
) -> Iterator[Finding]:
    for _ in range(N_MUTANTS):
        name, places = _mutation(case, len(rows), draw)
        length = len(next(iter(places.values())))
        mutant = frame.select([frame[column].gather(picked) for column, picked in places.items()])
        moved = [{column: rows[picked[row]][column] for column, picked in places.items()} for row in range(length)]
        counts["mutants"] += 1
        truth = judge(moved, case.schema)
        try:
            found: Verdict = verdict_of(mutant, case.schema)
        except tclose.TcloseError as refusal:
            yield Finding("mutant refused", f"{name}: {type(refusal).__name__} {refusal}")
            continue
        wrong = differences(truth, found.k, found.t, found.l) + cap_differences(truth, found.rises)
        if found.holds not in (None, truth.holds):
            wrong.append(f"holds is {truth.holds}, told as {found.holds} ({'; '.join(truth.broken)})")
        if wrong:
            yield Finding("mutant", f"{name}: {'; '.join(wrong)}")


def _mutation(case: Case, n: int, draw: random.Random) -> tuple[str, dict[str, list[int]]]:
    """What was done, and for each column the row that each cell is now taken from."""
    quasi = [name for names in released_columns(case.schema).values() for name in names]
    sensitive = list(case.schema.get("sensitive", {}))
    names = [*quasi, *sensitive, *case.schema.get("keep", [])]
    places = {name: list(range(n)) for name in names}
    one, other = draw.randrange(n), draw.randrange(n)
    kinds = ["move a row", "change a cell", "drop a row", "repeat a row"] + ["swap values"] * (2 * bool(sensitive))
    kind = draw.choice([each for each in kinds if n > 1 or each == "repeat a row"])
    if kind == "swap values":
        for name in sensitive:
            places[name][one], places[name][other] = other, one
    elif kind == "move a row":
        for name in quasi:
            places[name][one] = other
    elif kind == "change a cell":
        places[draw.choice(names)][one] = other
    else:
        for picked in places.values():
            picked[one : one + 1] = [] if kind == "drop a row" else [one, one]
    return f"{kind} ({one}, {other})", places


# -- other forms, files, messages


def _same_in(case: Case, form: str, first: Any, folder: Path, counts: Counter[str]) -> Iterator[Finding]:
    other = release_of(case, form, folder)
    if other is None:
        return
    counts["forms"] += 1
    kinds = [_outcome(first), _outcome(other)]
    if kinds[0] != kinds[1] and not (_stopped(first) or _stopped(other)):
        yield Finding(f"forms differ: {form}", f"polars {kinds[0]}, {form} {kinds[1]}{_reasons(first, other)}")
    if isinstance(other, tclose.TcloseError):
        yield from _quotes(case, str(other))
        return
    untrue = lies([case.rows[row] for row in kept_rows(case, other)], as_rows(other.aligned()), case.schema)
    if untrue:
        yield Finding(f"untrue: {form}", "; ".join(untrue[:3]))


def _outcome(outcome: Any) -> Any:
    """What must be alike: the numbers of a certificate, or the kind of refusal."""
    if isinstance(outcome, tclose.TableError):
        return "TableError"
    if isinstance(outcome, tclose.TcloseError):
        return type(outcome).__name__
    told = outcome.certificate.as_dict()
    return {key: told[key] for key in ("rows", "classes", "reached")}


def _stopped(outcome: Any) -> bool:
    """Whether the clock, and not the table, decided where the search ended."""
    return not isinstance(outcome, Exception) and bool(outcome.facts.get("stopped_early"))


def _reasons(*outcomes: Any) -> str:
    return "".join(f"; {outcome}" for outcome in outcomes if isinstance(outcome, Exception))


def _written(
    case: Case, release: tclose.Release, truth: Judgement, path: Path, counts: Counter[str]
) -> Iterator[Finding]:
    """A written file, read by other code, is what was certified, and the package finds the same in it."""
    counts["written"] += 1
    try:
        with quiet():
            release.write(path, keep_order=True)
        told = verdict_of(path, case.schema)
    except tclose.TcloseError as refusal:
        yield Finding("cannot be written", str(refusal))
        return
    rows = read_file(path, case.schema.get("delimiter", ","))
    again = judge(rows, case.schema)
    if (again.rows, again.classes, again.k, again.t) != (truth.rows, truth.classes, truth.k, truth.t):
        yield Finding("written", f"{again.k}, {again.t} in the file, {truth.k}, {truth.t} before")
    wrong = differences(truth, told.k, told.t, told.l)
    if wrong:
        yield Finding("verdict on a file", "; ".join(wrong))
    untrue = lies([case.rows[row] for row in kept_rows(case, release)], rows, case.schema)
    if untrue:
        yield Finding("untrue: written", "; ".join(untrue[:3]))


def _quotes(case: Case, message: str) -> Iterator[Finding]:
    """A message must not quote a cell, unless the schema says the same."""
    known = repr(case.schema)
    for column in case.columns:
        for cell in column.cells:
            text = written(cell)
            if len(text) >= SHORTEST_QUOTE and text in message and text not in known:
                yield Finding("quotes a cell", message)
                return
