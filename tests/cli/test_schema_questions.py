"""Questions: by pipe and on a terminal, with the guess as the default, a way back, help and a way out."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.schema.schema import Schema

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run `tclose init people.csv --ask` with answers."""
    rng = np.random.default_rng(4)
    n = 120
    pl.DataFrame(
        {
            "email": [f"p{row}@example.org" for row in range(n)],
            "age": rng.integers(20, 80, n),
            "ward": rng.choice(["a", "b", "c", "Unknown"], n),
            "cp": rng.integers(1, 5, n),
            "diagnosis": rng.choice(["flu", "cold", ""], n),
            **{f"lab_{number}": rng.normal(size=n).round(1) for number in range(5)},
        }
    ).write_csv(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*answers: str, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tclose", "init", "people.csv", "--ask", *flags])
        monkeypatch.setattr(sys, "stdin", StringIO("".join(f"{answer}\n" for answer in answers)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err

    return command


GUESSED = ["", "", "", "", "", "", "", "", "", ""]  # k, email, age, ward, cp, diagnosis, lab_*, Unknown, missing, write


def test_the_guess_is_the_default(ask: Ask) -> None:
    code, out, err = ask(*GUESSED)
    assert code == 0, err
    schema = Schema.from_dict(tomllib.loads(out)).resolve(pl.read_csv("people.csv").columns)
    assert schema.columns == {
        "email": "identifier", "ward": "identifier", "cp": "identifier", "age": "quasi", "diagnosis": "sensitive",
        **{f"lab_{number}": "sensitive" for number in range(5)},
    }  # fmt: skip
    assert (schema.k, schema.missing) == (5, "category")
    assert "Column lab_* (5 columns): what is it? [6 of 6]" in err
    assert "Its values are e-mail addresses" in err


def test_answers_count_by_number_and_by_word(ask: Ask) -> None:
    code, out, err = ask("7", "drop?", "3", "1", "quasi", "2", "y", "sens", "3", "y", "drop", "y")
    assert code == 0, err
    assert "That is none of the answers. Give quasi, sensitive, identifier, keep, unit, b, ? or q." in err
    schema = Schema.from_dict(tomllib.loads(out)).resolve(pl.read_csv("people.csv").columns)
    assert (schema.k, schema.missing, schema.missing_values) == (7, "drop", ("Unknown",))
    assert {each.column for each in schema.quasi} == {"age", "ward"}
    assert {each.column: each.distance for each in schema.sensitive} == {"cp": "ordered", "diagnosis": "equal"}


def test_codes_have_no_order_unless_someone_says_so(ask: Ask) -> None:
    answers = ["", "", "", "", "sensitive", "", "", "", "", "", ""]
    code, out, err = ask(*answers)
    assert code == 0, err
    assert "Column cp: do larger numbers mean more of something?" in err
    assert tomllib.loads(out)["sensitive"]["cp"]["distance"] == "equal"


def test_there_is_a_way_back(ask: Ask) -> None:
    code, out, err = ask("b", "9", "b", "4", "keep", "b", "", *GUESSED[2:])
    assert code == 0, err
    assert "This is the first question." in err
    keys = tomllib.loads(out)
    assert keys["k"] == 4
    assert "keep" not in keys


def test_there_is_help(ask: Ask) -> None:
    code, _, err = ask("?", *GUESSED)
    assert code == 0
    assert "This is k." in err


@pytest.mark.parametrize("answers", [("q",), ("", "quit"), (*GUESSED, "n")])
def test_there_is_a_way_out(ask: Ask, answers: tuple[str, ...]) -> None:
    code, out, err = ask(*answers, flags=("-o", "schema.toml"))
    assert (code, out) == (1, "")
    assert "Nothing was written." in err
    assert not Path("schema.toml").exists()


def test_answers_that_end_too_soon_write_nothing(ask: Ask) -> None:
    code, _, err = ask("", "", flags=("-o", "schema.toml"))
    assert code == 2
    assert "the answers ended before the questions did" in err
    assert not Path("schema.toml").exists()


def test_what_flags_say_is_not_asked(ask: Ask) -> None:
    flags = ("--quasi", "age", "--sensitive", "diagnosis", "--k", "3", "--identifiers", "lab_*,email")
    code, out, err = ask("keep", "", "", "", "", flags=flags)
    assert code == 0, err
    assert "How many rows" not in err
    assert "Column age" not in err
    assert tomllib.loads(out)["keep"] == ["ward"]


@pytest.mark.filterwarnings("ignore::tclose.errors.RepeatedIdentifierWarning")
def test_hierarchies_are_offered_where_there_is_a_place_for_them(ask: Ask) -> None:
    flags = ("--quasi", "age,ward", "--sensitive", "diagnosis", "--identifiers", "lab_*,email,cp", "-o", "schema.toml")
    code, _, err = ask("", "", "", "y", "", flags=flags)
    assert code == 0, err
    assert Schema.load("schema.toml").quasi[1].hierarchy is not None
    assert (Path("schema.hierarchies") / "ward.csv").read_text().count("\n") == 4
    assert tclose.anonymize("people.csv", "schema.toml", allow_single_class=True).measured.k >= 5


def test_on_a_terminal_it_asks_without_being_told(ask: Ask) -> None:
    """In a process of its own, whose stdin and stderr are a terminal."""
    mine, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from tclose.cli.main import main; main()", "init", "people.csv", "-o", "schema.toml"],
        stdin=theirs, stderr=theirs, stdout=subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    os.write(mine, b"8\n" + b"\n" * 20)
    shown = b""
    while True:
        try:
            piece = os.read(mine, 4096)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        shown += piece
    process.communicate()
    os.close(mine)
    assert process.returncode == 0, shown.decode()
    assert b"How many rows shall be alike" in shown
    assert Schema.load("schema.toml").k == 8


def test_elsewhere_it_does_not_ask(ask: Ask) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tclose.cli.main import main; main()", "init", "people.csv"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0
    assert "How many rows" not in done.stderr
    assert "undecided" in tomllib.loads(done.stdout)


def test_dates_that_can_be_read_in_two_ways_are_asked_about(ask: Ask, tmp_path: Path) -> None:
    rows = [(f"0{1 + row % 9}/{1 + row % 12:02}/2024", ("flu", "cold")[row % 2]) for row in range(120)]
    pl.DataFrame(rows, schema=["seen", "diagnosis"], orient="row").write_csv(tmp_path / "people.csv")
    code, out, err = ask("", "quasi", "", "%d", "", "")  # k, seen, an empty line that says nothing, diagnosis, write
    assert code == 0, err
    assert "That is none of the answers" in err
    assert tomllib.loads(out)["quasi"]["seen"]["format"] == "%d/%m/%Y"
    code, out, err = ask("", "quasi", "1", "", "")
    assert tomllib.loads(out)["quasi"]["seen"]["format"] == "%m/%d/%Y"
    code, out, err = ask("", "", "", "", flags=("--quasi", "diagnosis"))  # nobody named it, so Enter leaves it out
    assert tomllib.loads(out)["identifiers"] == ["seen"]
    assert "whether the day or the month comes first" in err


def test_ctrl_c_ends_it_at_a_question(ask: Ask, tmp_path: Path) -> None:
    main_side, their_side = pty.openpty()
    command = [sys.executable, "-m", "tclose", "init", "people.csv", "-o", "schema.toml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=their_side, stdout=their_side, stderr=their_side, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )  # fmt: skip
    os.close(their_side)
    told = b""
    while not told.endswith(b"\n? "):  # the place for an answer, and not a title that ends so
        told += os.read(main_side, 4096)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 130
    os.close(main_side)
    assert not (tmp_path / "schema.toml").exists()


def test_persons_with_several_rows_are_asked_about(ask: Ask, tmp_path: Path) -> None:
    persons = pl.read_csv("people.csv").select(
        pl.lit("p").alias("patient_nbr") + (pl.int_range(pl.len()) // 2).cast(pl.String), "age", "diagnosis"
    )
    persons.write_csv("people.csv")
    code, out, err = ask("", "unit", "", "", "all", "", "")  # k, patient_nbr, age, diagnosis, rows, missing, write
    assert code == 0, err
    assert "What becomes of persons with several rows?" in err
    assert tomllib.loads(out)["unit_rows"] == "all"


def test_a_spelling_that_is_said_to_mean_missing_is_settled(ask: Ask) -> None:
    pl.read_csv("people.csv").select("age", "ward").write_csv("people.csv")
    code, out, err = ask("", "", "sensitive", "y", "drop", "")  # k, age, ward, Unknown, missing, write
    assert code == 0, err
    assert (tomllib.loads(out)["missing"], tomllib.loads(out)["missing_values"]) == ("drop", ["Unknown"])


def test_without_a_quasi_identifier_there_is_only_a_way_back(ask: Ask) -> None:
    pl.read_csv("people.csv").select("age", "cp").write_csv("people.csv")
    code, _, err = ask("", "identifier", "identifier", "", "n")
    assert code == 1
    assert "Go back, and say which." in err
