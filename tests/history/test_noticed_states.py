"""A state that is lost, older, of another branch or of another history is noticed before anything is released."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

import tclose
from tclose.history.history_folder import HistoryFolder
from tclose.history.last_generation import GENERATION
from tests.history.living import HISTORY, copied, people, publish, schema


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with two releases, and the same as it was after the first."""
    before, folder = (tmp_path_factory.mktemp(name) / "all" for name in ("before", "twice"))
    before.mkdir()
    publish(before, people(30), "first.csv")
    shutil.copytree(before, folder)
    publish(folder, people(60), "second.csv")
    return folder, before


def without_certificates(folder: Path) -> Path:
    for each in folder.glob("*.certificate.json"):
        each.unlink()
    return folder


def put_back(name: str, before: Path, folder: Path) -> None:
    """Put a file of the history back as it was."""
    for each in (folder / HISTORY).glob("state-*"):
        each.unlink()
    shutil.copy(before / HISTORY / name, folder / HISTORY / name)


def test_an_older_state_is_noticed_without_a_certificate(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder = without_certificates(copied(twice[0], tmp_path / "older"))
    put_back("state-000001", twice[1], folder)
    with pytest.raises(tclose.TableError, match="is that of release 1, and release 2 was written"):
        HistoryFolder.open(folder / HISTORY)


@pytest.mark.slow
def test_an_older_folder_is_noticed_where_the_key_is_kept_elsewhere(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder, safe = copied(twice[1], tmp_path / "linked"), tmp_path / "safe"
    safe.mkdir()
    for name in ("key", GENERATION):
        os.rename(folder / HISTORY / name, safe / name)
    (folder / HISTORY / "key").symlink_to(safe / "key")
    shutil.copytree(folder / HISTORY, tmp_path / "backup", symlinks=True)
    publish(folder, people(60), "second.csv")
    assert (safe / GENERATION).read_text().startswith("2 ")
    shutil.rmtree(folder / HISTORY)
    shutil.copytree(tmp_path / "backup", folder / HISTORY, symlinks=True)
    without_certificates(folder)
    with pytest.raises(tclose.TableError, match="release 2 was written"):
        HistoryFolder.open(folder / HISTORY)


@pytest.mark.slow
def test_a_state_of_another_branch_is_noticed(twice: tuple[Path, Path], tmp_path: Path) -> None:
    """Two releases follow on the same one: no state knows both."""
    folder, other = (copied(twice[1], tmp_path / name) for name in ("one", "other"))
    publish(folder, people(60), "second.csv")
    publish(other, people(70), "else.csv")
    put_back("state-000002", other, folder)
    with pytest.raises(tclose.TableError, match="knows another release 2 than the one that was written"):
        HistoryFolder.open(folder / HISTORY)
    put_back("state-000002", twice[0], copied(twice[0], tmp_path / "third"))
    shutil.copy(folder / "second.csv.certificate.json", tmp_path / "third" / "copy.csv.certificate.json")
    release = tclose.republish(people(80), schema(), history=tmp_path / "third" / HISTORY, method="mondrian")
    with pytest.raises(tclose.TableError, match="is the certificate of another release 2"):
        release.write(tmp_path / "third" / "next.csv")


@pytest.mark.slow
def test_a_later_certificate_is_noticed_though_those_between_are_gone(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder, old = copied(twice[0], tmp_path / "later"), copied(twice[1], tmp_path / "old")
    publish(folder, people(90), "third.csv")
    shutil.copy(folder / "third.csv.certificate.json", old)
    release = tclose.republish(people(70), schema(), history=old / HISTORY, method="mondrian")
    with pytest.raises(tclose.TableError, match=r"older than 'third\.csv\.certificate\.json', .* release 3"):
        release.write(old / "second.csv")


@pytest.mark.parametrize("first", [True, False])
def test_a_lost_state_is_noticed_by_what_is_left(first: bool, twice: tuple[Path, Path], tmp_path: Path) -> None:
    for gone in ((), (GENERATION,), ("known",)):
        folder = without_certificates(copied(twice[0], tmp_path / f"lost{len(gone)}{''.join(gone)}"))
        for name in ("state-000002", *gone):
            (folder / HISTORY / name).unlink()
        with pytest.raises(tclose.TableError, match="has lost its state"):
            tclose.republish(people(60), schema(), history=folder / HISTORY, first=first)


@pytest.mark.slow
def test_what_says_which_state_is_the_last_must_be_there(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder = copied(twice[0], tmp_path / "gone")
    written = (folder / HISTORY / GENERATION).read_text()
    (folder / HISTORY / GENERATION).write_text("2 nonsense")
    with pytest.raises(tclose.TableError, match=r"'key\.generation' of the history 'history' is damaged"):
        HistoryFolder.open(folder / HISTORY)
    (folder / HISTORY / GENERATION).unlink()
    with pytest.raises(tclose.TableError, match="write it anew"):
        HistoryFolder.open(folder / HISTORY)
    (folder / HISTORY / GENERATION).write_text(written)
    assert HistoryFolder.open(folder / HISTORY).state.number == 2


def test_a_key_of_another_history_is_noticed(twice: tuple[Path, Path], tmp_path: Path) -> None:
    """With another key nobody would be recognized: all would be released again, as new persons."""
    folder = copied(twice[0], tmp_path / "foreign")
    (folder / HISTORY / "key").write_bytes(bytes(32))
    with pytest.raises(tclose.TableError, match="written with another key"):
        tclose.republish(people(60), schema(), history=folder / HISTORY)


def test_a_state_under_another_number_is_noticed(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder = copied(twice[0], tmp_path / "renamed")
    os.rename(folder / HISTORY / "state-000002", folder / HISTORY / "state-000003")
    with pytest.raises(tclose.TableError, match="is the state after release 2"):
        HistoryFolder.open(folder / HISTORY)


def test_a_folder_that_became_readable_for_others_is_closed(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder = copied(twice[0], tmp_path / "open")
    (folder / HISTORY).chmod(0o755)
    HistoryFolder.open(folder / HISTORY)
    assert stat.S_IMODE((folder / HISTORY).stat().st_mode) == 0o700


def test_a_table_with_nobody_of_the_history_is_refused(twice: tuple[Path, Path], tmp_path: Path) -> None:
    """Persons whose names are written in another way would all be released again, as new ones."""
    folder = copied(twice[0], tmp_path / "strangers")
    table = people(60).with_columns(who=people(60)["who"].str.to_uppercase())
    with pytest.raises(tclose.TableError, match=r"Nobody of the 60 persons .* is in this table"):
        tclose.republish(table, schema(), history=folder / HISTORY, method="mondrian")
