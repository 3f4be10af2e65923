"""tclose compare, suggest and anonymize --report, in one process."""

from __future__ import annotations

import inspect
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tclose.cli import choosing as cli_choosing
from tclose.evaluation.choosing.compare import METHODS
from tests.cli.test_main import Run, folder, run  # noqa: F401
from tests.pages.test_pages import checked
from tests.pages.test_pdf import needs_pango

pytestmark = pytest.mark.filterwarnings("always")
COMPARE = ("compare", "data.csv", "-s", "schema.toml", "--methods", "mondrian,sabre-ak", "--queries", "50")
SUGGEST = ("suggest", "data.csv", "-s", "schema.toml", "--method", "mondrian", "--queries", "0")
ANONYMIZE = ("anonymize", "data.csv", "-s", "schema.toml", "-o", "release.csv", "--method", "mondrian")


def test_compare_tells_people_programs_and_browsers(run: Run, folder: Path) -> None:  # noqa: F811
    found = run(*COMPARE, "--t", "0.4,0.6", "--k", "5, 8", "-o", "c.html")
    assert found.code == 0
    assert "Best by loss" in found.out
    assert "Best by query error" in found.out
    assert found.out.count("mondrian") >= 4
    assert "c.html" in found.err
    checked((folder / "c.html").read_text())
    told = run(*COMPARE, "--t", "0.4,0.6", "--k", "5,8", "--json").json
    assert len(told["runs"]) == 8
    assert {(each["t"]["exact"], each["k"]) for each in told["runs"]} == {
        ("2/5", 5),
        ("2/5", 8),
        ("3/5", 5),
        ("3/5", 8),
    }
    assert not list(folder.glob(".*"))


def test_compare_without_any_release_is_infeasible(run: Run, folder: Path) -> None:  # noqa: F811
    found = run(*COMPARE, "--k", "1000", "-o", "c.html")
    assert found.code == 4
    assert "asks for more" in found.out
    assert (folder / "c.html").exists()


def test_suggest_tells_people_programs_and_browsers(run: Run, folder: Path) -> None:  # noqa: F811
    found = run(*SUGGEST, "--from", "0.3", "--to", "0.9", "-o", "s.html")
    assert found.code == 0
    assert "not a proof" in found.out
    checked((folder / "s.html").read_text())
    told = run(*SUGGEST, "--from", "0.3", "--to", "0.9", "--column", "ill", "--k", "6", "--json").json
    assert [each["t"]["value"] for each in told["runs"]] == [0.3, 0.4, 0.5, 0.9]
    assert told["column"] == "ill"
    assert told["k"] == 6
    assert told["t"] is None


def test_suggest_by_what_is_allowed(run: Run, folder: Path) -> None:  # noqa: F811
    asked = (*SUGGEST, "--from", "0.3", "--to", "0.9")
    told = run(*asked, "--max-rise", "0.4", "--max-risk", "0.1", "--json").json
    assert told["k"] == 10
    chosen = next(each for each in told["runs"] if each["t"] == told["t"])
    assert max(each["value"] for each in chosen["rises"].values()) <= 0.4
    found = run(*asked, "--max-rise", "0.4", "-o", "s.html")
    assert found.code == 0
    assert f"Suggested: t = {run(*asked, '--max-rise', '0.4', '--json').json['t']['value']:g}" in found.out
    checked((folder / "s.html").read_text())
    nothing = run(*asked, "--max-rise", "0")
    assert nothing.code == 4
    assert "No t tried keeps the bounds" in nothing.out


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.everyday(1)
def test_no_cell_is_cut(run: Run, folder: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("COLUMNS", str(width))
    commands = [
        (*COMPARE, "--t", "0.4,0.6", "--k", "5,100"),
        (*SUGGEST, "--from", "0.3", "--to", "0.9"),
        ANONYMIZE,
        ("verify", "release.csv", "-s", "schema.toml"),
        ("assess", "data.csv", "-s", "schema.toml"),
        ("methods",),
    ]
    for arguments in commands:
        found = run(*arguments)
        assert found.code == 0, found.err
        assert "…" not in found.out, arguments[0]
        long = [line for line in found.out.split("\n") if len(line.rstrip()) > width and "/" not in line]
        assert long == [], arguments[0]
    runs = run(*COMPARE, "--t", "0.4,0.6", "--k", "5,100", "--json").json["runs"]
    shown = run(*COMPARE, "--t", "0.4,0.6", "--k", "5,100").out
    for each in (each for each in runs if "loss" in each):
        assert f"{each['loss']:.4f}" in shown
        assert f"{each['gains']['risk']:.1%}" in shown


def test_utility_tells_people_and_programs(run: Run, folder: Path) -> None:  # noqa: F811
    made = run(*ANONYMIZE, "--json").json
    asked = ("utility", "data.csv", "release.csv", "-s", "schema.toml", "--cubes", "1")
    told = run(*asked, "--json").json
    assert told["loss"] == pytest.approx(made["loss"])
    assert told["classes"] == made["classes"]
    assert set(told["cubes"]) == {"1"}
    found = run(*asked)
    assert found.code == 0
    assert f"{made['loss']:.4f}" in found.out
    assert "KL divergence of cubes, level 1" in found.out
    assert run(*asked[:-1], "none").code == 2
    assert run(*asked[:-1], "9").code == 3
    bare = asked[:-2]
    assert run(*bare, "--weight", "age=1", "--json").json["loss"] == pytest.approx(told["loss_by_column"]["age"])
    drawn = run(*bare, "--attributes", "1", "--selectivity", "0.5", "--json").json["queries"]
    assert (drawn["attributes"], drawn["selectivity"]) == (1, 0.5)
    assert run(*bare, "--weight", "age").code == 2
    assert run(*bare, "--weight", "absent=1").code == 3
    assert run(*bare, "--classifier").code == 2


def test_anonymize_writes_a_report(run: Run, folder: Path) -> None:  # noqa: F811
    found = run(*ANONYMIZE, "--report", "report.html", "--json")
    assert found.code == 0
    assert found.json["report"] == "report.html"
    page = (folder / "report.html").read_text()
    checked(page)
    assert "P0001" not in page
    assert "This report may be given away" in page
    assert found.json["certificate"] in (folder / "release.csv.certificate.json").name
    digest = json.loads((folder / "release.csv.certificate.json").read_text())["sha256"]
    assert digest in page
    assert "Report:" in run(*ANONYMIZE, "--report", "report.html").out
    assert not list(folder.glob(".*"))


def test_anonymize_says_what_binds(run: Run, folder: Path) -> None:  # noqa: F811
    plain = run(*ANONYMIZE, "--record", "record.json")
    assert "What binds" in plain.out
    assert "measured with --what-binds" in plain.out
    assert "held" in json.loads((folder / "record.json").read_text())["binding"]
    found = run(*ANONYMIZE, "--what-binds", "--record", "record.json")
    assert found.code == 0
    assert "measured on all rows with 'tight effort=fast'" in found.out
    assert not any(cell in found.out for cell in ("flu", "cold", "rash", "cook", "baker", "P0001"))
    record = json.loads((folder / "record.json").read_text())["binding"]
    assert {gain["change"] for gain in record["measured"]["gains"]} == {
        "without 'age'",
        "without 'job'",
        "t of 'ill' 0.6 instead of 0.4",
        "t of 'pay' 0.75 instead of 0.5",
        "without l of 'pay'",
        "k = 3 instead of 5",
    }
    assert run(*ANONYMIZE, "--json").json["binding"]["measured"] is None
    assert "binding" not in (folder / "release.csv.certificate.json").read_text()


def test_the_private_report_is_for_its_owner_alone(run: Run, folder: Path) -> None:  # noqa: F811
    found = run(*ANONYMIZE, "--private-report", "mine.html", "--json")
    assert found.json["private_report"] == "mine.html"
    page = (folder / "mine.html").read_text()
    assert "Keep this report to yourself" in page
    assert "What binds" in page
    assert "In the original" in page
    assert stat.S_IMODE((folder / "mine.html").stat().st_mode) == 0o600
    both = run(*ANONYMIZE, "--private-report", "mine.html", "--report", "report.html").out
    assert "For you only: mine.html" in both
    assert "Report:" in both


def test_a_page_may_be_pdf(run: Run, folder: Path) -> None:  # noqa: F811
    needs_pango()
    assert run(*ANONYMIZE, "--report", "report.pdf").code == 0
    assert run(*COMPARE, "-o", "comparison.PDF").code == 0
    for page in ("report.pdf", "comparison.PDF"):
        assert (folder / page).read_bytes().startswith(b"%PDF-")


def test_what_pdf_needs_is_looked_for_before_any_work(
    run: Run,  # noqa: F811
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    before = {path.name for path in folder.iterdir()}
    for arguments in ((*ANONYMIZE, "--report", "report.pdf"), (*COMPARE, "-o", "comparison.pdf")):
        found = run(*arguments)
        assert found.code == 3
        assert "tclose[pdf]" in found.err
        assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "wrong",
    [
        (*COMPARE, "--t", "2"),
        (*COMPARE, "--t", "x"),
        (*COMPARE, "--k", "0"),
        (*COMPARE, "--k", "1.5"),
        (*COMPARE, "-o", "no/such/folder.html"),
        (*COMPARE, "-o", "data.csv"),
        (*COMPARE, "-o", "comparison.docx"),
        (*ANONYMIZE, "--report", "report.txt"),
        (*SUGGEST, "--from", "0.5", "--to", "0.2"),
        (*SUGGEST, "--by", "hope"),
        (*SUGGEST, "--by", "queries"),
        (*SUGGEST, "-o", "schema.toml"),
        (*SUGGEST, "--max-rise", "10"),
        (*SUGGEST, "--max-risk", "-0.1"),
        (*SUGGEST, "--max-risk", "0"),
        (*SUGGEST, "--max-loss", "1.2"),
        (*SUGGEST, "--max-loss", "x"),
        (*SUGGEST, "--max-risk", "0.1", "--k", "5"),
        (*ANONYMIZE, "--report", "release.csv"),
        (*ANONYMIZE, "--report", "."),
    ],
)
def test_wrong_usage_is_found_before_any_work(wrong: tuple[str, ...], run: Run, folder: Path) -> None:  # noqa: F811
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(*wrong).code == 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_bad_input_is_bad_input(run: Run, folder: Path) -> None:  # noqa: F811
    assert run(*SUGGEST, "--column", "age").code == 3
    assert run("compare", "absent.csv", "-s", "schema.toml").code == 3


def test_the_methods_of_the_command_are_those_of_the_library() -> None:
    told = inspect.signature(cli_choosing.compare).parameters["methods"].default
    assert tuple(told.split(",")) == METHODS


def test_what_is_not_an_ordinary_file_is_not_replaced(run: Run, folder: Path) -> None:  # noqa: F811
    os.mkfifo(folder / "pipe")
    for arguments in ((*COMPARE, "-o", "pipe"), (*ANONYMIZE, "--report", "pipe"), (*ANONYMIZE, "--record", "pipe")):
        found = run(*arguments)
        assert found.code == 2
        assert "not an ordinary file" in found.err
    assert (folder / "pipe").is_fifo()
