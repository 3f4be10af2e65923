"""The command line, in one process: exit codes, JSON on stdout, messages on stderr, and no cell in any of them."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.cli.options import COMPILING
from tclose.release.certificate import certificate_path
from tests.oracles.release import check_release, read_rows

# A command says what a library warns of.
pytestmark = pytest.mark.filterwarnings("always")

SCHEMA = """
k = 5
identifiers = ["id"]

[quasi.age]
kind = "numeric"
[quasi.job]
kind = "categorical"
hierarchy = "job.csv"

[sensitive.ill]
distance = "equal"
t = 0.4
[sensitive.pay]
distance = "ordered"
t = 0.5
l = 2
"""
JOBS = "cook;food;*\nbaker;food;*\nsmith;metal;*\nwelder;metal;*\n"


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `tclose` with these arguments."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own

    def command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["tclose", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Result(code, said.out, said.err.replace(f"{COMPILING}\n", ""))  # said only where kernels are not on disk

    return command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data.csv, schema.toml and job.csv, to work in."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "id": [f"P{row:04}" for row in range(300)],
            "age": rng.integers(20, 80, 300),
            "job": rng.choice(["cook", "baker", "smith", "welder"], 300),
            "ill": rng.choice(["flu", "cold", "rash"], 300),
            "pay": rng.integers(0, 10, 300),
        }
    )
    frame.write_csv(tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "job.csv").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


ANONYMIZE = ("anonymize", "data.csv", "-s", "schema.toml", "-o", "release.csv")
MONDRIAN = (*ANONYMIZE, "--method", "mondrian")  # which gives up where `tight` still finds two classes
VERIFY = ("verify", "release.csv", "-s", "schema.toml")
ASSESS = ("assess", "data.csv", "-s", "schema.toml")
SENSITIVE: dict[str, Any] = {"ill": {"distance": "equal"}, "pay": {"distance": "ordered"}}


# assess


def test_assess(folder: Path, run: Run) -> None:
    result = run(*ASSESS, "--json")
    assert (result.code, result.err) == (0, "")
    wanted = check_release(read_rows("data.csv"), ["age", "job"], SENSITIVE)
    told = result.json
    assert (told["rows"], told["classes"], told["k"]) == (300, wanted["classes"], wanted["k"])
    for column, t in wanted["t"].items():
        assert told["t"][column] == {"exact": str(t), "value": pytest.approx(float(t))}
        assert told["l"][column]["distinct"] == wanted["l"][column]["distinct"]
        assert told["l"][column]["entropy"] == pytest.approx(wanted["l"][column]["entropy"])
        assert told["l"][column]["frequency"] == pytest.approx(float(wanted["l"][column]["frequency"]))


def test_assess_for_people(folder: Path, run: Run) -> None:
    result = run(*ASSESS)
    assert (result.code, result.err) == (0, "")
    for said in ("300 rows", "ill", "pay", "equal", "ordered"):
        assert said in result.out
    assert "cook" not in result.out
    assert "'job'" in run(*ASSESS, "--show-values").out


@pytest.mark.parametrize("json_too", [True, False])
def test_assess_shows_values_of_any_type(folder: Path, run: Run, json_too: bool) -> None:
    frame = pl.read_csv("data.csv").with_columns(age=pl.date(2000, 1, 1) + pl.duration(days=pl.col("age")))
    frame.write_parquet("data.parquet")
    change(folder / "schema.toml", 'kind = "numeric"', 'kind = "date"')
    result = run("assess", "data.parquet", "-s", "schema.toml", "--show-values", *(["--json"] if json_too else []))
    assert result.code == 0
    assert re.search(r"2000-0\d-\d\d|datetime.date\(2000", result.out)


# anonymize


def test_anonymize(folder: Path, run: Run) -> None:
    result = run(*ANONYMIZE, "--json", "--seed", "7")
    assert (result.code, result.err.strip()) == (0, "")
    told = result.json
    wanted = check_release(read_rows("release.csv"), ["age", "job"], SENSITIVE)
    assert (told["rows"], told["classes"], told["k"]) == (300, wanted["classes"], wanted["k"])
    assert {column: Fraction(t["exact"]) for column, t in told["t"].items()} == wanted["t"]
    assert told["t"]["ill"]["value"] == pytest.approx(float(wanted["t"]["ill"]))
    assert {"distinct", "entropy", "frequency"} <= set(told["l"]["pay"])
    assert 0 < told["loss"] < 1
    assert (told["method"], told["seed"]) == ("tight", 7)
    assert set(told["seconds"]) == {"compile", "read", "encode", "partition", "recode", "verify", "binding", "write"}
    assert all(isinstance(spent, float) for spent in told["seconds"].values())
    assert wanted["k"] >= 5
    assert wanted["t"]["ill"] <= Fraction(2, 5)
    assert wanted["l"]["pay"]["distinct"] >= 2


def test_anonymize_for_people(folder: Path, run: Run) -> None:
    result = run(*ANONYMIZE)
    assert (result.code, result.err.strip()) == (0, "")
    for said in ("300 rows", "release.csv", "release.csv.certificate.json", "loss"):
        assert said in result.out


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_anonymize_writes_by_suffix(folder: Path, run: Run, suffix: str) -> None:
    told = run("anonymize", "data.csv", "-s", "schema.toml", "--output", f"release{suffix}", "--json").json
    assert Path(told["output"]).is_file()
    assert Path(told["certificate"]).is_file()
    assert run("verify", f"release{suffix}", "-s", "schema.toml").code == 0
    assert run("assess", f"release{suffix}", "-s", "schema.toml", "--json").json["t"] == told["t"]


def test_k_and_t_from_the_command_line(folder: Path, run: Run) -> None:
    loose = run(*ANONYMIZE, "--json").json
    tight = run(*ANONYMIZE, "--json", "--k", "40", "--t", "ill=0.15", "--t", "pay=1/5").json
    assert tight["k"] >= 40 > loose["k"]
    assert Fraction(tight["t"]["ill"]["exact"]) <= Fraction(3, 20) < Fraction(loose["t"]["ill"]["exact"])
    assert Fraction(tight["t"]["pay"]["exact"]) <= Fraction(1, 5)
    required = json.loads(certificate_path(Path("release.csv")).read_text())["required"]
    assert (required["k"], required["t"]["ill"]["exact"], required["t"]["pay"]["exact"]) == (40, "3/20", "1/5")


def test_the_seed_is_told_and_drawn_if_not_given(folder: Path, run: Run) -> None:
    assert run(*ANONYMIZE, "--json", "--seed", "7").json["seed"] == 7
    assert len({run(*ANONYMIZE, "--json").json["seed"] for _ in range(2)}) == 2


def test_the_order_is_kept_on_request(folder: Path, run: Run) -> None:
    original = [row["pay"] for row in read_rows("data.csv")]
    assert run(*ANONYMIZE, "--keep-order").code == 0
    assert [row["pay"] for row in read_rows("release.csv")] == original
    assert run(*ANONYMIZE).code == 0
    assert [row["pay"] for row in read_rows("release.csv")] != original


def test_the_record(folder: Path, run: Run) -> None:
    told = run(*ANONYMIZE, "--json", "--record", "record.json").json
    record = json.loads(Path("record.json").read_text())
    assert (record["seed"], record["seconds"]) == (told["seed"], told["seconds"])
    assert stat.S_IMODE(Path("record.json").stat().st_mode) == 0o600
    assert {path.name for path in folder.iterdir()} == {
        "data.csv",
        "schema.toml",
        "job.csv",
        "release.csv",
        "release.csv.certificate.json",
        "record.json",
    }


def test_one_class_is_refused_and_what_binds_is_named(folder: Path, run: Run) -> None:
    result = run(*MONDRIAN, "--t", "ill=0")
    assert (result.code, result.out) == (4, "")
    assert "'ill'" in result.err
    assert "'pay'" not in result.err
    assert "--allow-single-class" in result.err
    assert not Path("release.csv").exists()


def test_what_binds_may_be_k_or_two_attributes(folder: Path, run: Run) -> None:
    assert "k = 200" in run(*MONDRIAN, "--k", "200").err
    both = run(*MONDRIAN, "--t", "ill=0", "--t", "pay=0")
    assert both.code == 4
    assert "'ill'" in both.err
    assert "'pay'" in both.err


def test_one_class_on_request_is_noted(folder: Path, run: Run) -> None:
    result = run(*MONDRIAN, "--t", "ill=0", "--allow-single-class", "--json")
    assert result.code == 0
    assert (result.json["classes"], result.json["loss"]) == (1, 1)
    assert result.json["t"]["ill"] == {"exact": "0", "value": 0}
    assert "Note: " in result.err
    assert "100%" in result.err


def test_more_rows_asked_than_there_are(folder: Path, run: Run) -> None:
    result = run(*ANONYMIZE, "--k", "301")
    assert result.code == 4
    assert "300 rows" in result.err


# verify


def test_verify(folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    result = run(*VERIFY)
    assert (result.code, result.err) == (0, "")
    assert "keeps its promise" in result.out
    told = run(*VERIFY, "--json").json
    assert told["rows"] == 300
    assert told["certificate"] is True


def test_verify_needs_no_certificate(folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    certificate_path(Path("release.csv")).unlink()
    assert run(*VERIFY, "--json").json["certificate"] is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
@pytest.mark.parametrize("what", ["folder", "pipe", "device", "nowhere"])
def test_what_lies_in_the_place_of_a_certificate_and_is_no_file_is_a_problem(what: str, folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    beside = certificate_path(Path("release.csv"))
    beside.unlink()
    put: dict[str, Callable[[], None]] = {
        "folder": beside.mkdir,
        "pipe": lambda: os.mkfifo(beside),
        "device": lambda: beside.symlink_to("/dev/zero"),
        "nowhere": lambda: beside.symlink_to("absent.json"),
    }
    put[what]()
    result = run(*VERIFY)
    assert (result.code, result.out) == (5, "")
    assert f"'{beside.name}' is not a certificate, as it is not an ordinary file." in result.err


def test_a_tampered_release_is_caught(folder: Path, run: Run) -> None:
    run(*ANONYMIZE, "--keep-order")
    lines = Path("release.csv").read_text().splitlines()
    lines[7] = re.sub(r'^(".*?"|[^,]*),', "99,", lines[7])
    Path("release.csv").write_text("\n".join(lines) + "\n")
    result = run(*VERIFY)
    assert (result.code, result.out) == (5, "")
    assert "smallest class has 1 row, and k is 5" in result.err
    assert "99" not in result.err


def test_a_harmless_change_is_caught_by_the_certificate(folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    lines = Path("release.csv").read_text().splitlines()
    Path("release.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    result = run(*VERIFY)
    assert result.code == 5
    assert "release.csv.certificate.json" in result.err


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("sha256",), "0" * 64),
        (("rows",), 299),
        (("classes",), 1),
        (("reached", "k"), 1000),
        (("reached", "t", "ill", "exact"), "0"),
        (("required", "k"), 1000),
        (("required", "t", "ill", "exact"), "0"),
    ],
)
def test_a_tampered_certificate_is_caught(folder: Path, run: Run, where: tuple[str, ...], value: object) -> None:
    run(*ANONYMIZE)
    path = certificate_path(Path("release.csv"))
    fields = json.loads(path.read_text())
    inner = fields
    for key in where[:-1]:
        inner = inner[key]
    assert inner[where[-1]] != value
    inner[where[-1]] = value
    path.write_text(json.dumps(fields))
    assert run(*VERIFY).code == 5


def test_an_identifier_in_a_release_is_caught(folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    pl.read_csv("release.csv", infer_schema=False).with_columns(id=pl.lit("x")).write_csv("release.csv")
    result = run(*VERIFY)
    assert result.code == 5
    assert "'id'" in result.err


def test_a_raw_table_is_not_a_release(folder: Path, run: Run) -> None:
    assert run("verify", "data.csv", "-s", "schema.toml").code == 5


def test_a_stricter_schema_is_not_kept(folder: Path, run: Run) -> None:
    run(*ANONYMIZE)
    certificate_path(Path("release.csv")).unlink()
    change(folder / "schema.toml", "t = 0.4", "t = 0.01")
    result = run(*VERIFY)
    assert result.code == 5
    assert "t of 'ill'" in result.err


# init, methods, demo


def test_init(folder: Path, run: Run) -> None:
    result = run("init", "data.csv")
    assert (result.code, result.err) == (0, "")
    Path("first.toml").write_text(result.out)
    loaded = run("assess", "data.csv", "-s", "first.toml")
    assert loaded.code == 3
    assert "'age'" in loaded.err
    assert "undecided" in loaded.err
    assert 'identifiers = ["id"]' in result.out


def test_init_of_a_table_with_another_delimiter(folder: Path, run: Run) -> None:
    Path("data.csv").write_text(Path("data.csv").read_text().replace(",", ";"))
    result = run("init", "data.csv", "--delimiter", ";")
    assert 'delimiter = ";"' in result.out
    assert "[undecided.age]" in result.out


def test_options_of_a_method(folder: Path, run: Run) -> None:
    printed = run(*ANONYMIZE, "--json", "--seed", "7", "--method", "sabre-knn").json
    given = ("--method", "sabre-knn", "--option", "search_budget=true", "--option", "first=pay")
    chosen = run(*ANONYMIZE, "--json", "--seed", "7", *given).json
    assert chosen["method"] == "sabre-knn"
    assert chosen["loss"] != printed["loss"]
    told = json.loads(Path(chosen["certificate"]).read_text())["method"]["parameters"]
    as_printed = {"bound": "printed", "try_first": False, "slack": False, "metric": "euclidean"}
    assert told == {**as_printed, "first": "pay", "search_budget": True}
    for wrong in (("first",), ("nothing=1",), ("search_budget=yes",), ("first=pay", "--option", "first=ill")):
        assert run(*ANONYMIZE, "--method", "sabre-knn", "--option", *wrong).code == 2


def test_the_first_interrupt_releases_the_best_so_far(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the method works: it comes back, and what it has is verified and written."""
    from tclose.algorithms.mondrian.mondrian import Mondrian

    original, handler = Mondrian.partition, signal.getsignal(signal.SIGINT)

    def interrupted(*given: Any, **keys: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return original(*given, **keys)

    monkeypatch.setattr(Mondrian, "partition", interrupted)
    monkeypatch.setattr("tclose.algorithms.mondrian.mondrian.BUDGET", 1)
    result = run(*MONDRIAN, "--json", "--allow-single-class")
    assert result.code == 0
    assert "Stopping" in result.err
    assert result.json["facts"]["stopped_early"] is True
    assert "stopped_early" not in Path(result.json["certificate"]).read_text()
    assert run(*VERIFY).code == 0
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_measures_are_told(folder: Path, run: Run) -> None:
    told = run("assess", "data.csv", "-s", "schema.toml", "--json").json["measures"]
    assert set(told) == {"ill", "pay"}
    assert set(told["ill"]) == {"euclidean", "hamming", "jensen_shannon"}
    assert "Hamming" not in run("assess", "data.csv", "-s", "schema.toml").out
    assert "Hamming" in run("assess", "data.csv", "-s", "schema.toml", "--measures").out


def test_methods(run: Run) -> None:
    told = run("methods", "--json").json
    assert told == tclose.methods()
    assert {"name", "needs", "paper"} <= set(told[0])
    assert "mondrian" in run("methods").out


@pytest.mark.slow
def test_demo(folder: Path, run: Run) -> None:
    result = run("demo", "--rows", "2000", "--folder", "shown")
    assert result.code == 0
    for name in ("hospital.csv", "schema.toml", "release.csv", "release.csv.certificate.json", "record.json"):
        assert (folder / "shown" / name).is_file()
        assert name in result.out
    for said in ("Before", "After", "reached"):
        assert said in result.out
    assert run("verify", "shown/release.csv", "-s", "shown/schema.toml").code == 0


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_methods_are_made_ready_one_by_one_or_several_at_once(jobs: str, tmp_path: Path) -> None:
    """In a cache of its own, where the loops of both methods are found then."""
    command = [sys.executable, "-m", "tclose", "warmup", "--method", "sabre-ak", "--method", "mondrian", "--jobs", jobs]
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, check=True, capture_output=True)
    kept = {path.name.split(".")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"along_loops", "mondrian_loops"} <= kept


@pytest.mark.parametrize("command", ["init", "assess", "anonymize", "verify", "methods", "demo"])
def test_help_has_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.code == 0
    assert re.search(rf"Examples?:.*tclose {command} ", result.out, re.DOTALL)


def test_help_lists_the_commands(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    for command in ("init", "assess", "anonymize", "verify", "methods", "demo"):
        assert command in result.out


# Exit codes

WRONG_USAGE = [
    ("nonsense",),
    ("assess", "data.csv"),
    ("assess", "-s", "schema.toml"),
    ("anonymize", "data.csv", "-s", "schema.toml"),
    (*ANONYMIZE, "--nonsense"),
    (*ANONYMIZE, "--k", "many"),
    (*ANONYMIZE, "--seed", "-1"),
    (*ANONYMIZE, "--time", "-1"),
    (*ANONYMIZE, "--method", "magic"),
    (*ANONYMIZE, "--t", "ill"),
    (*ANONYMIZE, "--t", "age=0.2"),
    (*ANONYMIZE, "--t", "nowhere=0.2"),
    ("anonymize", "data.csv", "-s", "schema.toml", "-o", "release.xlsx"),
    ("anonymize", "data.csv", "-s", "schema.toml", "-o", "no/such/folder/release.csv"),
    (*ANONYMIZE, "--record", "no/such/folder/record.json"),
    ("demo", "--rows", "0"),
]


@pytest.mark.parametrize("arguments", WRONG_USAGE, ids=lambda arguments: " ".join(arguments[-3:]))
def test_wrong_usage(folder: Path, run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err
    assert not Path("release.csv").exists()


def spoil_schema(folder: Path) -> None:
    change(folder / "schema.toml", 'distance = "equal"', 'distance = "far"')


def spoil_toml(folder: Path) -> None:
    change(folder / "schema.toml", "k = 5", "k = ")


def spoil_hierarchy(folder: Path) -> None:
    change(folder / "job.csv", "baker;food;*", "cook;metal;*")


def spoil_cover(folder: Path) -> None:
    change(folder / "job.csv", "cook;food;*\n", "")


def spoil_column(folder: Path) -> None:
    change(folder / "data.csv", "id,age", "id,years")


def spoil_line(folder: Path) -> None:
    change(folder / "data.csv", "P0007,", "P0007,1,2,3,")


def spoil_number(folder: Path) -> None:
    path = folder / "data.csv"
    path.write_text(re.sub(r"P0003,\d+", "P0003,secretly", path.read_text()))


def empty(folder: Path) -> None:
    (folder / "data.csv").write_text("")


def remove(folder: Path) -> None:
    (folder / "data.csv").unlink()


def remove_schema(folder: Path) -> None:
    (folder / "schema.toml").unlink()


def keep_header(folder: Path) -> None:
    (folder / "data.csv").write_text("id,age,job,ill,pay\n")


# What is spoiled, and what the message says.
BAD_INPUT: dict[Callable[[Path], None], str] = {
    spoil_schema: r"\[sensitive.ill\].*equal, ordered",
    spoil_toml: "not valid TOML",
    spoil_hierarchy: r"job\.csv.*line",
    spoil_cover: r"'job'.*1 distinct value in \d+ rows.*lines",
    spoil_column: "'years'",
    spoil_line: "record 8.*fields",
    spoil_number: r"'age'.*1 distinct value in 1 row.*line 5",
    empty: "empty",
    remove: "not a file",
    remove_schema: "cannot be read",
    keep_header: "no rows",
}


@pytest.mark.parametrize("spoil", BAD_INPUT, ids=lambda spoil: str(spoil.__name__))
def test_bad_input(folder: Path, run: Run, spoil: Callable[[Path], None]) -> None:
    spoil(folder)
    result = run(*ANONYMIZE)
    assert (result.code, result.out) == (3, "")
    assert re.search(BAD_INPUT[spoil], result.err)
    assert not any(cell in result.err for cell in ("cook", "secretly", "P0003", "P0007"))
    assert not Path("release.csv").exists()


def test_values_are_shown_on_request(folder: Path, run: Run) -> None:
    spoil_cover(folder)
    assert "'cook'" not in run(*ANONYMIZE).err
    assert "'cook'" in run(*ANONYMIZE, "--show-values").err
    spoil_number(folder)
    change(folder / "job.csv", "baker;food;*\n", "baker;food;*\ncook;food;*\n")
    assert "secretly" in run(*ANONYMIZE, "--show-values").err


def test_an_unforeseen_error_tells_only_its_type(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("cell: cook")

    monkeypatch.delenv("TCLOSE_DEBUG", raising=False)
    monkeypatch.setattr(tclose.Release, "write", fail)
    result = run(*ANONYMIZE)
    assert result.code not in (0, 2, 3, 4, 5)
    assert "RuntimeError" in result.err
    assert "cook" not in result.err


# What is loaded, and when


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import tclose", {"numba", "scipy", "pandas", "polars", "pyarrow", "ot", "rich", "typer"}),
        ("import tclose.cli", {"numba", "scipy", "pandas", "polars", "pyarrow", "ot"}),
        ("import tclose; tclose.Schema; tclose.emd([1, 0], [1, 1], 'equal')", {"numba", "scipy", "pandas", "ot"}),
    ],
)
def test_nothing_is_loaded_before_it_is_needed(code: str, unwanted: set[str]) -> None:
    code += "\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not unwanted & set(done.stdout.split())


def test_every_public_name_is_there() -> None:
    for name in tclose.__all__:
        assert getattr(tclose, name) is not None
    assert set(tclose.__all__) <= set(dir(tclose))
    wanted = {"anonymize", "assess", "emd", "moves", "methods", "datasets", "Schema", "Hierarchy"}
    assert wanted <= set(tclose.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tclose.nonsense  # type: ignore[attr-defined]


# the first run


FIRST_RUN = """
import sys
from tclose.cli.main import main
sys.argv = ["tclose", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_a_first_run_says_that_it_compiles_and_books_it_as_such(folder: Path) -> None:
    """In a process whose cache of machine code is empty."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    seconds = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_RUN, *MONDRIAN, "--json"], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        seconds.append((json.loads(done.stdout)["seconds"], done.stderr.count(COMPILING)))
    (first, said_first), (second, said_second) = seconds
    assert (said_first, said_second) == (1, 0)
    assert first["compile"] > 1 > second["compile"]
    assert first["partition"] < first["compile"]


def test_unchecked_columns_are_the_first_line(folder: Path, run: Run) -> None:
    change(folder / "schema.toml", 'identifiers = ["id"]', 'keep = ["id"]\nkeep_unchecked = true')
    words = "kept columns not checked: with these columns the smallest group has 1 row, and 300 of 300 rows are alone"
    result = run(*MONDRIAN, "--json")
    assert next(iter(result.json)) == "warning"
    assert result.json["warning"] == words
    for command in (MONDRIAN, VERIFY):
        assert run(*command).out.splitlines()[0] == f"K{words[1:]}."
    assert (folder / "release.csv.certificate.json").read_text().splitlines()[1].startswith('  "keep": "not checked')


def test_verify_lists_what_it_cannot_check_and_refuses_what_is_forged(folder: Path, run: Run) -> None:
    run(*MONDRIAN)
    result = run(*VERIFY)
    assert result.code == 0
    for told in ("cannot be checked by the file", "method: ", "versions: ", "order: "):
        assert told in result.out
    assert set(run(*VERIFY, "--json").json["unchecked"]) == {"method", "versions", "order", "formulas"}
    path = folder / "release.csv.certificate.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "loss": {**fields["loss"], "value": 0.0}}))
    forged = run(*VERIFY)
    assert forged.code == 5
    assert "loss differ" in forged.err


def test_verify_accepts_what_was_asked_on_the_command_line(folder: Path, run: Run) -> None:
    assert run(*MONDRIAN, "--k", "8", "--t", "ill=0.35").code == 0
    result = run(*VERIFY)
    assert result.code == 0
    assert "required: it is stricter than the schema, and the table keeps it" in result.out


def test_assess_says_what_k_counts(run: Run, tmp_path: Path) -> None:
    """Twenty patients with five rows each were once k = 5."""
    rows = [f"{patient},{20 + patient},flu" for patient in range(20) for _ in range(5)]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,age,ill", *rows]), encoding="utf-8")
    columns = '[quasi.age]\nkind = "numeric"\n[sensitive.ill]\ndistance = "equal"\nt = 1\n'
    (tmp_path / "unit.toml").write_text('k = 5\nunit = "patient"\n' + columns, encoding="utf-8")
    (tmp_path / "named.toml").write_text('k = 5\nidentifiers = ["patient"]\n' + columns, encoding="utf-8")
    counted = run("assess", tmp_path / "visits.csv", "-s", tmp_path / "unit.toml")
    assert "100 rows of 20 persons in 20 classes; k = 1, counted in persons by 'patient'" in counted.out
    assert "5 rows of 1 persons" in counted.out
    assert run("assess", tmp_path / "visits.csv", "-s", tmp_path / "unit.toml", "--json").json["k"] == 1
    named = run("assess", tmp_path / "visits.csv", "-s", tmp_path / "named.toml")
    assert "k = 5, counted in rows: one row is taken to be one person" in named.out
    assert "'patient' (20 distinct values in 100 rows)" in named.err
    assert "`unit`" in named.err


def test_verbose_tells_what_the_package_does_and_nothing_that_libraries_log(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = logging.getLogger("tclose")
    monkeypatch.setattr(own, "handlers", [])
    monkeypatch.setattr(own, "level", own.level)
    before = logging.getLogger().level
    told = run("-v", "anonymize", "data.csv", "-s", "schema.toml", "-o", "release.csv", "--method", "mondrian").err
    assert "tclose.pipeline: encode: " in told
    assert "tclose.release.release: wrote 300 rows as .csv" in told
    assert logging.getLogger().level == before
    own.setLevel(logging.NOTSET)
