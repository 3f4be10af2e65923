"""A state that is lost, older, of another branch or of another history is noticed before anything is released."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import polars as pl
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


def test_certificates_that_are_none_change_nothing(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder = copied(twice[1], tmp_path / "odd")
    for number, text in enumerate(('{"history": {"number": 2, "before": [], "first": {}}}', '{"history": 5}', "[", "")):
        (folder / f"{number}.csv.certificate.json").write_text(text)
    os.mkfifo(folder / "pipe.csv.certificate.json")  # whoever read it would wait for ever
    publish(folder, people(60), "second.csv")
    assert (folder / HISTORY / GENERATION).read_text().startswith("2 ")


@pytest.mark.parametrize("name", ["key", GENERATION, "known", "state-000002", "sub/record.json"])
def test_no_file_of_a_release_lies_among_those_of_its_history(
    name: str, twice: tuple[Path, Path], tmp_path: Path
) -> None:
    """A record under the name of the key would end the history for good."""
    folder = copied(twice[1], tmp_path / "inside")
    (folder / HISTORY / "sub").mkdir()
    before = {each.name: each.read_bytes() for each in (folder / HISTORY).iterdir() if each.is_file()}
    release = tclose.republish(people(60), schema(), history=folder / HISTORY, method="mondrian", seed=1)
    with pytest.raises(tclose.TableError, match="would lie in the folder of the history"):
        release.write(folder / "second.csv", record=folder / HISTORY / name)
    assert {each.name: each.read_bytes() for each in (folder / HISTORY).iterdir() if each.is_file()} == before
    assert not (folder / "second.csv").exists()
    release.write(folder / "second.csv", record=folder / "record.json")


def test_a_key_that_is_kept_elsewhere_is_not_overwritten(twice: tuple[Path, Path], tmp_path: Path) -> None:
    folder, safe = copied(twice[1], tmp_path / "linked"), tmp_path / "safe"
    safe.mkdir()
    for name in ("key", GENERATION):
        os.rename(folder / HISTORY / name, safe / name)
    (folder / HISTORY / "key").symlink_to(safe / "key")
    release = tclose.republish(people(60), schema(), history=folder / HISTORY, method="mondrian", seed=1)
    for name in ("key", GENERATION):
        with pytest.raises(tclose.TableError, match="take the place of its key"):
            release.write(folder / "second.csv", record=safe / name)
    release.write(safe / "second.csv", record=safe / "record.json")  # what else is beside the key is nobody's business


def renamed(rows: int, spell: str) -> pl.DataFrame:
    """People whose unit is a number, written in some way from one of them on."""
    number = pl.int_range(pl.len()).cast(pl.String)
    other = number.str.zfill(3) if spell == "zeros" else pl.lit("P") + number if spell == "letters" else number
    return people(rows).with_columns(who=pl.when(pl.int_range(pl.len()) < rows // 2 + 3).then(other).otherwise(number))


@pytest.mark.parametrize(
    ("spell", "words"),
    [("zeros", "33 persons who are new have a 'who' that differs"), ("letters", "33 are gone, and 33")],
)
def test_a_unit_that_is_written_in_another_way_is_warned_of(spell: str, words: str, tmp_path: Path) -> None:
    """Most are not recognized, though not all: they would be released under two names."""
    publish(tmp_path, renamed(60, "plain"), "first.csv")
    with pytest.warns(tclose.EarlierReleaseWarning, match=words) as told:
        publish(tmp_path, renamed(60, spell), "second.csv")
    assert len(told) == 1
    assert "person 1" not in str(told[0].message)
