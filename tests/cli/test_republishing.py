"""republish and history on the command line, and real ends of real processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from tests.history.living import ended_at, people, schema
from tests.history.test_history_folder import agree

Command = Callable[..., tuple[int, str]]
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.cli.test_republishing", "tclose.cli.main", "tclose.history.republication"])
FIRST = ("anonymize", "people.csv", "-s", "schema.toml", "--history", "history", "--method", "mondrian", "--seed", 1)
NEXT = ("republish", "people.csv", "-s", "schema.toml", "--history", "history", "--method", "mondrian", "--seed", 1)


def put(n: int, folder: Path = Path()) -> None:
    people(n).write_csv(folder / "people.csv")


@pytest.fixture
def begun(run: Command) -> Command:
    schema().save("schema.toml")
    put(60)
    assert run(*FIRST, "-o", "release-1.csv")[0] == 0
    return run


def test_a_table_is_released_again_and_again(begun: Command) -> None:
    put(90)
    assert begun(*NEXT, "-o", "release-2.csv", "--record", "record.json")[0] == 0
    told = json.loads(Path("record.json").read_text())["history"]
    code, said = begun(*NEXT, "-o", "release-3.csv", "--record", "record.json")
    assert (code, "released before" in said) == (0, False)  # the history knows it
    assert (told["number"], told["added"], told["new_waiting"]) == (2, 30, 0)
    assert begun("history", "history", "--original", "people.csv")[0] == 0


@pytest.mark.slow
def test_reports_say_what_came_and_waits_and_only_the_private_one_counts(begun: Command) -> None:
    people(90)[1:].write_csv("people.csv")
    pages = ("--report", "public.html", "--private-report", "private.html")
    assert begun(*NEXT, "-o", "release-2.csv", *pages)[0] == 0
    public, private = (Path(name).read_text() for name in ("public.html", "private.html"))
    assert Path("private.html").stat().st_mode & 0o077 == 0
    assert "Release 2 of its history: 30 added." in private
    assert "1 deleted persons stay with their row." in private
    assert "By its certificate this is release 2 of a table that is released again as it changes." in public
    for counted in ("30 added", "deleted persons"):
        assert counted not in public
    code, said = begun(*NEXT, "-o", "release-3.csv", "--report", "public.txt")
    assert (code, "a page is .html or .pdf" in said) == (2, True)
    assert not Path("release-3.csv").exists()


@pytest.mark.slow
def test_a_release_of_a_history_is_verified_and_attacked(begun: Command) -> None:
    put(90)
    assert begun(*NEXT, "-o", "release-2.csv", "--json")[0] == 0
    assert begun("verify", "release-2.csv", "-s", "schema.toml")[0] == 0
    put(91)
    assert begun(*NEXT, "-o", "release-3.csv")[0] == 0
    assert begun("history", "history", "--original", "people.csv", "--original", "1=people.csv")[0] == 0
    assert begun("history", "history", "--original", "9=people.csv")[0] == 2


@pytest.mark.slow
def test_what_history_prints(
    begun: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose.cli.main import main

    for arguments in (["history", "history"], ["history", "history", "--json"]):
        monkeypatch.setattr(sys, "argv", ["tclose", *arguments])
        with pytest.raises(SystemExit):
            main()
    shown = capsys.readouterr().out
    assert "All releases together keep their promise" in shown
    assert "Whoever intersects and subtracts 1 release finds 0 of 60 persons alone" in shown
    told = json.loads(shown[shown.index("{") :])
    assert told["check"]["holds"]
    assert told["releases"][0]["counts"]["added"] == 60
    assert told["releases"][0]["file_is_as_written"]
    Path("release-1.csv").write_text("")
    monkeypatch.setattr(sys, "argv", ["tclose", "history", "history"])
    with pytest.raises(SystemExit):
        main()
    assert "'release-1.csv' is not as it was written" in capsys.readouterr().out


@pytest.mark.slow
def test_wrong_use_is_refused_before_any_work(begun: Command) -> None:
    code, said = begun(*NEXT, "-o", "out.db")
    assert code == 2
    code, said = begun(*NEXT, "-o", "release-2.csv", "--deletions", "forget")
    assert code == 2
    assert "hold or withdraw" in said
    code, said = begun(*FIRST, "-o", "again.csv")
    assert (code, "has one release already" in said) == (3, True)
    code, said = begun(*NEXT, "-o", "release-2.csv", "--t", "ill=0.9")
    assert (code, "A looser promise would break" in said) == (3, True)
    code, said = begun("history", "people.csv")
    assert (code, "is not the folder of a history" in said) == (3, True)
    assert not Path("release-2.csv").exists()


@pytest.mark.slow
def test_anonymize_warns_of_a_history(begun: Command) -> None:
    code, said = begun(
        "anonymize",
        "people.csv",
        "-s",
        "schema.toml",
        "-o",
        "other.csv",
        "--earlier",
        "history",
        "--method",
        "mondrian",
    )
    assert code == 0
    assert "The history 'history' knows 60 of the 60 persons" in said


@pytest.mark.slow
def test_withdrawn_persons_do_not_come_back(begun: Command) -> None:
    everybody, told = people(90), []
    for place, table in enumerate((everybody[1:], everybody), 2):
        table.write_csv("people.csv")
        named = ("-o", f"release-{place}.csv", "--deletions", "withdraw", "--record", "record.json")
        assert begun(*NEXT, *named)[0] == 0
        told.append(json.loads(Path("record.json").read_text())["history"])
    gone = told[0]["withdrawn"]
    assert gone >= 3
    assert told[0]["barred"] == gone - 1  # the deleted one is not in the table
    assert told[1]["barred"] == gone
    assert [pl.read_csv(f"release-{place}.csv").height for place in (2, 3)] == [90 - gone] * 2


def _child(folder: Path, at: int) -> None:
    from tclose.cli.main import main

    os.chdir(folder)
    sys.argv = ["tclose", *map(str, NEXT), "-o", "release.csv"]
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115

    def die() -> BaseException:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    with ended_at(at, die):
        main()


@pytest.mark.slow
@pytest.mark.parametrize("at", [9, 17, 20])
def test_killed_in_earnest_state_and_release_agree(at: int, begun: Command, tmp_path: Path) -> None:
    os.rename("release-1.csv", "release.csv")
    os.rename("release-1.csv.certificate.json", "release.csv.certificate.json")
    put(90)
    before = Path("release.csv").read_bytes()
    process = FORK.Process(target=partial(_child, tmp_path, at))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert agree(tmp_path, "release.csv", before) in (1, 2)
    put(95)
    assert begun(*NEXT, "-o", "later.csv")[0] == 0
