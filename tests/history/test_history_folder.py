"""History and release: written together or not at all, whatever happens; lost, older and damaged states are noticed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import stat
from pathlib import Path

import polars as pl
import pytest

import tclose
from tclose.history.history_check import check_history
from tclose.history.history_folder import HistoryFolder
from tclose.history.last_generation import Generation
from tclose.release.certificate import certificate_path
from tests.history.living import HISTORY, RELEASE, Killed, copied, ended_at, moved_to, people, publish, schema

NAMES = (RELEASE, "next.csv")  # over the first release, and beside it


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    publish(folder, people(60))
    return folder


@pytest.fixture(scope="module")
def following(begun: Path) -> tclose.Release:
    return tclose.republish(people(90), schema(), history=begun / HISTORY, method="mondrian", seed=1)


def agree(folder: Path, name: str, before: bytes | None) -> int:
    """State and release agree: the number of the last release, after what was left to do was done."""
    target = folder / name
    shown = target.read_bytes() if target.exists() else None
    if shown != before:  # it was seen already, so the history must have known of it
        assert (folder / HISTORY / "state-000002").exists()
    history = HistoryFolder.open(folder / HISTORY)
    number = history.state.number
    content = target.read_bytes() if target.exists() else None
    if number == 1:
        assert content == before
    else:
        assert content is not None
        told = certificate_path(target).read_bytes()
        assert hashlib.sha256(told).hexdigest() == history.state.releases[-1].certificate_sha256
        assert json.loads(told)["sha256"] == hashlib.sha256(content).hexdigest()
    assert check_history(history.state).holds
    assert Generation.read(folder / HISTORY) == Generation.of(history.state)
    assert [each.name for each in (folder / HISTORY).glob("state-*")] == [f"state-{number:06}"]
    return number


def points(following: tclose.Release, folder: Path, name: str) -> int:
    with ended_at(None) as done:
        moved_to(following, folder).write(folder / name)
    return len(done)


@pytest.mark.parametrize(
    ("name", "step"), [(NAMES[1], 15), *(pytest.param(name, 1, marks=pytest.mark.slow) for name in NAMES)]
)
def test_killed_at_any_point_state_and_release_agree(
    name: str, step: int, begun: Path, following: tclose.Release, tmp_path: Path
) -> None:
    n_points = points(following, copied(begun, tmp_path / "all"), name)
    assert n_points > 20
    before = (begun / name).read_bytes() if (begun / name).exists() else None
    numbers = []
    for place in range(0, n_points, step):
        folder = copied(begun, tmp_path / str(place))
        with pytest.raises(Killed), ended_at(place):
            moved_to(following, folder).write(folder / name)
        numbers.append(agree(folder, name, before))
    assert numbers == sorted(numbers)
    assert set(numbers) == {1, 2}
    later = tclose.republish(people(90), schema(), history=folder / HISTORY, method="mondrian", seed=1)
    later.write(folder / "later.csv")
    assert [each.name for each in folder.iterdir() if each.name.startswith(".")] == []


@pytest.mark.slow
def test_killed_in_the_first_release_a_history_has_it_or_has_none(tmp_path: Path) -> None:
    def begin(folder: Path) -> tclose.Release:
        folder.mkdir(exist_ok=True)
        return tclose.republish(people(60), schema(), history=folder / HISTORY, first=True, method="mondrian", seed=1)

    with ended_at(None) as done:
        begin(tmp_path / "all").write(tmp_path / "all" / RELEASE)
    for place in range(0, len(done), 4):
        folder = tmp_path / str(place)
        with pytest.raises(Killed), ended_at(place):
            begin(folder).write(folder / RELEASE)
        was_seen = (folder / RELEASE).exists()
        with contextlib.suppress(tclose.TableError):  # it was not even made
            number = 0
            number = HistoryFolder.open(folder / HISTORY).state.number
        assert number == 1 or not was_seen
        if number:
            assert Generation.read(folder / HISTORY) is not None
            assert (folder / RELEASE).exists()
        else:
            begin(folder).write(folder / RELEASE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_on_a_failure_nothing_has_changed(name: str, begun: Path, following: tclose.Release, tmp_path: Path) -> None:
    n_points = points(following, copied(begun, tmp_path / "all"), name)
    before = (begun / name).read_bytes() if (begun / name).exists() else None
    for place in range(n_points):
        folder = copied(begun, tmp_path / str(place))
        release = moved_to(following, folder)
        try:
            with ended_at(place, lambda: OSError(errno.ENOSPC, "full"), once=True):
                release.write(folder / name)
        except OSError:
            number = agree(folder, name, before)
            assert number == 1 or (folder / name).read_bytes() != before


@pytest.mark.slow
def test_a_release_that_is_gone_counts_as_published(begun: Path, following: tclose.Release, tmp_path: Path) -> None:
    """Killed after the state was written, and then somebody removed the temporary files: nobody knows who saw them."""
    for place in range(points(following, copied(begun, tmp_path / "all"), "next.csv")):
        folder = copied(begun, tmp_path / str(place))
        with pytest.raises(Killed), ended_at(place):
            moved_to(following, folder).write(folder / "next.csv")
        if (folder / HISTORY / "state-000002").exists() and not (folder / "next.csv").exists():
            break
    for each in folder.glob(".next.csv*.tmp*"):
        each.unlink()
    with pytest.warns(tclose.EarlierReleaseWarning, match="counts it as published"):
        history = HistoryFolder.open(folder / HISTORY)
    assert history.state.number == 2
    assert HistoryFolder.open(folder / HISTORY).state.number == 2  # and says so once


def test_the_folder_is_for_its_owner_alone(begun: Path) -> None:
    assert stat.S_IMODE((begun / HISTORY).stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in (begun / HISTORY).iterdir()} == {0o600}
    told = b"".join(each.read_bytes() for each in (begun / HISTORY).iterdir())
    assert b"person 1" not in told


@pytest.mark.slow
def test_certificates_are_a_chain(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "chain")
    publish(folder, people(80), "second.csv")
    first, second = (certificate_path(folder / name) for name in (RELEASE, "second.csv"))
    assert json.loads(first.read_text())["history"] == {"number": 1, "before": None, "first": None}
    digest = hashlib.sha256(first.read_bytes()).hexdigest()
    link = {"number": 2, "before": digest, "first": digest}
    assert json.loads(second.read_text())["history"] == link
    verdict = tclose.verify(folder / "second.csv", schema())
    assert verdict.holds
    assert "history" in verdict.unchecked
    wrong_links: tuple[object, ...] = (
        {**link, "before": None}, {**link, "number": 1}, {**link, "number": 3}, {**link, "first": "0" * 64},
        {"number": 2, "before": digest}, {"number": 0}, 7, {},
    )  # fmt: skip
    for wrong in wrong_links:
        certificate = json.loads(second.read_text()) | {"history": wrong}
        assert "history differ" in tclose.verify(folder / "second.csv", schema(), certificate=certificate).problems[-1]


def test_an_older_state_is_noticed(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "old")
    publish(folder, people(80), "second.csv")
    shutil.rmtree(folder / HISTORY)
    shutil.copytree(begun / HISTORY, folder / HISTORY)
    release = tclose.republish(people(85), schema(), history=folder / HISTORY, method="mondrian")
    with pytest.raises(tclose.TableError, match=r"older than 'second\.csv\.certificate\.json'"):
        release.write(folder / "third.csv")
    assert not (folder / "third.csv").exists()


@pytest.mark.slow
def test_a_lost_history_is_noticed(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "lost")
    shutil.rmtree(folder / HISTORY)
    release = tclose.republish(people(70), schema(), history=folder / HISTORY, first=True, method="mondrian")
    with pytest.warns(tclose.EarlierReleaseWarning, match=r"'release\.csv\.certificate\.json' is of a history"):
        release.write(folder / "anew.csv")


@pytest.mark.slow
def test_a_state_that_went_on_meanwhile_is_noticed(begun: Path, following: tclose.Release, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "twice")
    late = moved_to(following, folder)
    publish(folder, people(80), "second.csv")
    with pytest.raises(tclose.BusyError, match="continued the history"):
        late.write(folder / "late.csv")
    assert not (folder / "late.csv").exists()


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [("state-000001", b"tclose history 2\nnonsense", "damaged"), ("state-000001", b"else", "another version"),
     ("key", b"short", "has no key")],
)  # fmt: skip
def test_a_damaged_history_is_refused(begun: Path, tmp_path: Path, file: str, content: bytes, named: str) -> None:
    folder = copied(begun, tmp_path / "damaged")
    (folder / HISTORY / file).write_bytes(content)
    with pytest.raises(tclose.TableError, match=named):
        tclose.republish(people(70), schema(), history=folder / HISTORY)


def test_a_release_is_seen_only_after_it_was_written(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "seen")
    release = tclose.republish(people(90), schema(), history=folder / HISTORY, method="mondrian")
    with pytest.raises(tclose.TableError, match="must know of it before anyone sees it"):
        _ = release.table
    with pytest.raises(tclose.TableError, match="must know of it before anyone sees it"):
        release.aligned()
    with pytest.raises(tclose.TableError, match="written as a file"):
        release.write_table("sqlite:///x.db", "people")
    release.write(folder / "second.csv")
    assert isinstance(release.table, pl.DataFrame)
    assert (release.classes >= 0).sum() == 90
    with pytest.raises(tclose.TableError, match="written already"):
        release.write(folder / "again.csv")


@pytest.mark.slow
def test_an_order_that_is_not_the_input_s_is_not_claimed(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "order")
    turned = people(90).reverse()
    release = tclose.republish(turned, schema(), history=folder / HISTORY, method="mondrian")
    with pytest.raises(tclose.TableError, match="in another order"):
        release.write(folder / "second.csv", keep_order=True)
    release.write(folder / "second.csv")
    with pytest.raises(tclose.TableError, match="in another order"):
        release.aligned()


def test_first_and_next_are_told_apart(begun: Path, tmp_path: Path) -> None:
    with pytest.raises(tclose.TableError, match="has one release already"):
        tclose.republish(people(60), schema(), history=begun / HISTORY, first=True)
    with pytest.raises(tclose.TableError, match="is not the folder of a history"):
        tclose.republish(people(60), schema(), history=tmp_path / "none")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "file").touch()
    with pytest.raises(tclose.TableError, match="not empty"):
        tclose.republish(people(60), schema(), history=tmp_path / "else", first=True)


def test_another_form_of_the_same_table_changes_nobody(begun: Path, tmp_path: Path) -> None:
    folder = copied(begun, tmp_path / "forms")
    people(60).write_csv(folder / "people.csv")
    release = tclose.republish(folder / "people.csv", schema(), history=folder / HISTORY, method="mondrian")
    counts = release.record.notes["history"]
    assert {name for name, count in counts.items() if count} == {"number", "atoms"}


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_anonymize_warns_of_a_history_that_knows_persons(begun: Path) -> None:
    with pytest.warns(tclose.EarlierReleaseWarning, match=r"knows 10 of the 10 persons"):
        tclose.anonymize(people(10), schema(), earlier=begun / HISTORY, method="mondrian", allow_single_class=True)
    strangers = people(10).with_columns(who=pl.col("who") + "x")
    tclose.anonymize(strangers, schema(), earlier=begun / HISTORY, method="mondrian", allow_single_class=True)


@pytest.mark.slow
def test_a_release_is_measured_by_the_rows_it_was_made_of(begun: Path, tmp_path: Path) -> None:
    """Three persons are held and new ones are there: k, loss and risks are those of the file, not of the table."""
    folder = copied(begun, tmp_path / "measured")
    release = publish(folder, people(90)[3:], "second.csv")
    assert release.record.notes["history"]["deletions_held"] == 3
    found = tclose.utility(people(90)[3:], release)
    assert (found.rows, found.classes) == (90, release.measured.classes)
    assert found.loss == pytest.approx(release.loss)
    after = tclose.attack(people(90)[3:], release).after
    assert after is not None
    assert after.reidentification.prosecutor.largest == 1 / release.measured.k
