"""Forms of the whole promise: joints, matrices, diversity, what may be given up, what counts, and taken schemas."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import tclose
from tclose.app.project_settings import ProjectSettings
from tclose.app.workbench import OpenProject
from tests.app.serving import Client, opened, problem, serving

TEXT = "id,day,age,sex,ward,ill\n" + "".join(
    f"p{n // 2},2021-03-{1 + n % 28:02},{20 + n % 47},{'fm'[n % 2]},{'abc'[n * 5 % 3]},"
    f"{('flu', 'cold', 'acne', 'none')[n * 7 % 4]}\n"
    for n in range(240)
)
ROLES = ("unit", "identifier", "quasi", "quasi", "sensitive", "sensitive")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("forms")) as found:
        opened(found, TEXT)
        for number, role in enumerate(ROLES):
            assert found.form("/columns/roles", {"column": number, "role": role}).status == 303
        yield found


@pytest.fixture(autouse=True)
def unchanged(client: Client) -> Iterator[None]:
    """Every test finds what was settled at first."""
    history = project_of(client).history
    before = history.now
    yield
    history.change(before)


def project_of(client: Client) -> OpenProject:
    found = client.server.bench.project
    assert found is not None
    return found


def settings_of(client: Client) -> ProjectSettings:
    return project_of(client).settings


def schema_of(client: Client) -> tclose.Schema:
    """What is settled, written down and read again as a schema of the project."""
    project = project_of(client)
    text = project.history.now.to_text()
    return ProjectSettings.from_text(text).schema(project.folder.folder)


def test_a_joint_is_added_shown_and_removed(client: Client) -> None:
    assert client.form("/promise/joint", [("column", 4), ("column", 5), ("name", "both"), ("t", "0,3")]).status == 303
    assert schema_of(client).joint[0].columns == ("ward", "ill")
    assert schema_of(client).joint[0].t == Fraction(3, 10)
    assert "at most 0.3" in client.get("/promise").text
    for fields, words in (
        ([("column", 4), ("t", "0.3")], "two attributes"),
        ([("column", 4), ("column", 5), ("t", "much")], "0.2"),
        ([("column", 4), ("column", 5), ("t", "2"), ("name", "x")], "from 0 to 1"),
        ([("column", 4), ("column", 2), ("t", "0.3"), ("name", "x")], "Must not be learned"),
        ([("column", 4), ("column", 5), ("t", "0.3"), ("name", "age")], "this name"),
    ):
        reply = client.form("/promise/joint", fields)
        assert reply.status == 422, fields
        assert words in problem(reply)
        assert len(settings_of(client).keys["joint"]) == 1
    assert client.form("/promise/joint/remove", {"joint": 7}).status == 404
    assert client.form("/promise/joint/remove", {"joint": 0}).status == 303
    assert "joint" not in settings_of(client).keys


def test_a_matrix_is_begun_written_and_read(client: Client) -> None:
    assert client.form("/columns/5", {"role": "sensitive", "distance": "matrix"}).status == 303
    page = client.get("/columns/5/matrix")
    assert "Distance between acne and cold" in page.text
    assert client.form("/columns/5/matrix", {"c-0-1": "0,5", "c-0-2": "1"}).status == 303
    matrix = schema_of(client).sensitive[1].matrix
    assert matrix is not None
    assert matrix.costs[0][1] == Fraction(1, 2)
    text = client.get("/columns/5/matrix/file").text
    assert text.startswith(",acne,cold,flu,none")
    assert client.form("/columns/5/matrix", {"text": text.replace(",", ";").replace("0.5", "0,5")}).status == 303
    assert schema_of(client).sensitive[1].matrix == matrix
    for fields, words in (
        ({"c-0-1": "0.1", "c-0-2": "0.1"}, "triangle"),
        ({"c-0-1": "far"}, "numbers"),
        ({"text": ",acne\nacne,0\n"}, "ill"),
    ):
        reply = client.form("/columns/5/matrix", fields)
        assert reply.status == 422
        assert words in problem(reply)
    assert client.form("/columns/5", {"role": "sensitive", "distance": "equal"}).status == 303
    assert "matrix" not in settings_of(client).columns["ill"].sensitive
    assert client.get("/columns/5/matrix").status == 422


def test_all_kinds_of_diversity_and_caps_can_be_asked(client: Client) -> None:
    asked = {"l-5": "2", "entropy-5": "1.5", "frequency-5": "1,5", "recursive_c-5": "3", "recursive_l-5": "2"}
    fields = {"k": 4, "t-4": "", "t-5": "0.4", "more-5": "yes", "beta-5": "1", "enhanced-5": "yes", **asked}
    assert client.form("/promise", fields).status == 303
    found = schema_of(client).sensitive[1]
    assert found.l is not None
    assert dict(found.l.items()) == {
        "distinct": 2, "entropy": Fraction(3, 2), "frequency": Fraction(3, 2), "recursive": (3, 2),
    }  # fmt: skip
    assert found.enhanced
    page = client.get("/promise").text
    assert 'name="enhanced-5" value="yes" checked' in page
    assert client.form("/promise", {**fields, "recursive_l-5": ""}).status == 422
    cleared = dict.fromkeys(asked, "") | {"k": 4, "t-5": "0.4", "more-5": "yes", "beta-5": ""}
    assert client.form("/promise", cleared).status == 303
    assert schema_of(client).sensitive[1].l is None


def test_what_may_be_given_up_and_what_counts(client: Client) -> None:
    settle = client.form("/promise/objective", {"suppress_rows": "2,5 %", "recode": "suppress"})
    assert settle.status == 422  # intervals of age have a step, which hiding does not take
    assert settings_of(client).keys.get("recode") is None
    assert client.form("/promise/objective", {"suppress_rows": "2,5 %"}).status == 303
    assert schema_of(client).suppress_rows == Fraction(1, 40)
    assert 'value="2.5"' in client.get("/promise").text
    for fields, words in (
        ({"suppress_rows": "100"}, "below 100"),
        ({"suppress_rows": "few"}, "number"),
        ({"objective": "classify"}, "To be predicted"),
        ({"objective": "classify", "target": 2}, "generalized"),
        ({"objective": "fame"}, "no such choice"),
        ({"objective": "queries", "suppress_rows": "1"}, "Rows that may be left out"),
    ):
        reply = client.form("/promise/objective", fields)
        assert reply.status == 422, fields
        assert words in problem(reply), problem(reply)
    assert client.form("/promise/objective", {"objective": "classify", "target": 5}).status == 303
    assert schema_of(client).target == "ill"
    lines = "age,ill\r\n20..45,flu\r\n..30,cold"
    assert client.form("/promise/objective", {"objective": "queries", "workload": lines}).status == 303
    workload = schema_of(client).workload
    assert workload is not None
    assert Path(workload).parent == project_of(client).folder.folder
    assert Path(workload).read_text() == "age,ill\n20..45,flu\n..30,cold\n"
    assert "20..45,flu" in client.get("/promise").text


def test_rows_of_a_person_are_picked_by_a_column(client: Client) -> None:
    reply = client.form("/columns/table", {"unit_rows": "one", "unit_pick": "last"})
    assert reply.status == 422
    assert "Ordered by" in problem(reply)
    assert client.form("/columns/table", {"unit_rows": "one", "unit_pick": "last", "unit_order": 0}).status == 422
    assert client.form("/columns/table", {"unit_rows": "one", "unit_pick": "last", "unit_order": 1}).status == 303
    found = schema_of(client)
    assert (found.unit, found.unit_rows, found.unit_pick, found.unit_order) == ("id", "one", "last", "day")
    assert "One row of every person is kept" in client.get("/promise").text
    assert client.form("/columns/table", {"unit_rows": "all", "unit_pick": "last", "unit_order": 1}).status == 303
    assert schema_of(client).unit_pick is None
    assert "rows of 5 persons at least" in client.get("/promise").text


def test_rows_that_are_left_out_do_not_keep_a_column_from_its_distance(tmp_path: Path) -> None:
    """A numeric distance says nothing about missing values, and under `drop` there are none."""
    text = "age,dose\n" + "".join(f"{20 + n % 30},{'' if n % 9 == 0 else n % 7}\n" for n in range(90))
    with serving(tmp_path) as client:
        opened(client, text)
        client.form("/columns/1", {"role": "sensitive"})
        fields = {"role": "sensitive", "distance": "numeric"}
        for policy, status in (("category", 422), ("drop", 303)):
            assert client.form("/columns/table", {"missing": policy}).status == 303
            client.form("/columns/1", {"role": "sensitive", "distance": "ordered"})
            reply = client.form("/columns/1", fields)
            assert reply.status == status
            if status == 422:
                assert "leaves its row out" in problem(reply)
        client.form("/promise", {"k": 3, "t-1": "0.2"})
        assert "points likelier in a class" in client.get("/promise").text


@pytest.mark.slow
def test_a_run_keeps_joints_matrices_rows_left_out_and_queries(client: Client) -> None:
    """What the forms settle is what the library promises, and the files taken away are verified by it."""
    client.form("/columns/roles", {"column": 0, "role": "identifier"})
    client.form("/columns/5", {"role": "sensitive", "distance": "matrix"})
    client.form("/promise", {"k": 4, "t-4": "0.5", "t-5": "0.5"})
    client.form("/promise/joint", [("column", 4), ("column", 5), ("name", "both"), ("t", "0.6")])
    client.form("/promise/objective", {"suppress_rows": "5"})
    client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
    run = project_of(client).runs[1]
    assert run.state == "done", run.problem
    page = client.get("/look/1").text
    assert "t of &#39;both&#39;" in page
    assert "both" in client.get("/look/1/class/0").text
    client.form("/promise/objective", {"objective": "queries", "workload": "age,ill\n20..45,flu"})
    client.follow(client.form("/run", {"method": "tight", "effort": "fast", "seed": "1"}))
    assert project_of(client).runs[2].state == "done", project_of(client).runs[2].problem
    taken = client.follow(client.form("/take/2", {"format": "parquet"})).text
    assert "tclose verify release.parquet -s schema.toml" in taken
    out = project_of(client).folder.run_folder(2) / "out"
    assert tclose.verify(out / "release.parquet", out / "schema.toml").holds
    assert tclose.Schema.load(out / "schema.toml").workload == str(out / "workload.csv")
    assert "workload.csv" not in taken.split("For you only")[0]


def test_a_schema_is_taken_by_path_and_as_text(client: Client) -> None:
    tables = client.server.bench.allowed.folder
    (tables / "sex.csv").write_text("f;*\nm;*\n")
    (tables / "own.toml").write_text(
        'k = 3\nroles = { "*" = "identifier" }\nsuppress_rows = 0.01\n[quasi.age]\nkind = "numeric"\nstep = 10\n'
        '[quasi.sex]\nkind = "categorical"\nhierarchy = "sex.csv"\n[sensitive.ill]\ndistance = "equal"\nt = 0.3\n'
    )
    assert client.form("/columns/schema", {"path": "own.toml"}).status == 303
    found = schema_of(client)
    assert (found.k, found.quasi[0].step) == (3, 10)
    assert found.sensitive[0].t == Fraction(3, 10)
    assert settings_of(client).columns["sex"].quasi["hierarchy"] == {"f": [], "m": []}  # inline, no file is named
    assert settings_of(client).columns["ward"].role == "identifier"
    saved = client.get("/columns/schema/file").text
    client.form("/undo")
    assert settings_of(client).keys["k"] == 5
    assert client.form("/columns/schema", {"text": saved}).status == 303
    assert schema_of(client) == found


def test_a_schema_that_does_not_fit_changes_nothing(client: Client) -> None:
    (client.server.bench.allowed.folder.parent / "outside.csv").write_text("f;*\nm;*\n")
    (client.server.bench.allowed.folder / "out.toml").write_text(
        'k = 3\n[quasi.sex]\nkind = "categorical"\nhierarchy = "../outside.csv"\n'
    )
    before = settings_of(client)
    for fields, words in (
        ({}, "path of a schema"),
        ({"text": "k = ["}, "not valid TOML"),
        ({"text": 'k = 2\n[quasi.nothing]\nkind = "numeric"'}, "does not have: 'nothing'"),
        ({"text": 'k = 2\n[quasi.sex]\nkind = "numeric"'}, "sex"),
        ({"text": 'k = 2\n[quasi.sex]\nkind = "categorical"\nhierarchy = "/etc/passwd"'}, "by its path"),
        ({"text": 'k = 2\nobjective = "queries"\nworkload = "/etc/passwd"\n[quasi.age]\nkind = "numeric"'}, "its path"),
        ({"path": "out.toml"}, "below the folder"),
        ({"path": "../own.toml"}, "below the folder"),
    ):
        reply = client.form("/columns/schema", fields)
        assert reply.status == 422, fields
        assert words in problem(reply).replace("&#39;", "'"), problem(reply)
        assert settings_of(client) == before


def test_what_a_schema_leaves_undecided_is_open(client: Client) -> None:
    text = 'k = 2\nidentifiers = ["id"]\n[quasi.age]\nkind = "numeric"\n[undecided.sex]\nkind = "categorical"\n'
    assert client.form("/columns/schema", {"text": text}).status == 303
    roles = {name: column.role for name, column in settings_of(client).columns.items()}
    assert roles == {
        "id": "identifier", "day": "identifier", "age": "quasi", "sex": "open", "ward": "open", "ill": "open",
    }  # fmt: skip


@pytest.mark.slow
def test_ranges_are_kept_and_columns_have_two_bounds(client: Client) -> None:
    keys = {"role": "quasi", "kind": "numeric", "range": "0; 120", "publish": "bounds", "step": "5"}
    assert client.form("/columns/2", keys).status == 303
    assert schema_of(client).quasi[0].range == (0, 120)
    client.form("/columns/roles", {"column": 0, "role": "identifier"})
    client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
    number = max(project_of(client).runs)
    both = client.form(f"/look/{number}/rows/1").text
    assert both.count("before ") >= 60  # two bounds of age, and sex, in every one of 20 rows
    assert isinstance(project_of(client).releases[number].table, pl.DataFrame)


def test_what_becomes_of_a_persons_rows_is_asked_before_a_run(client: Client) -> None:
    project = project_of(client)
    client.form("/columns/table", {"unit_rows": ""})
    assert project.n_open == 1
    page = client.get("/columns").text
    assert 'href="#unit_rows">Answer' in page
    assert '<i class="badge">1</i>' in page
    assert "120 persons have 240 rows" in client.get("/run").text
    for path, fields in (("/run", {"method": "mondrian"}), ("/promise/curve", {})):
        reply = client.form(path, fields)
        assert reply.status == 422
        assert "120 persons have 240 rows" in problem(reply)
    client.form("/columns/table", {"unit_rows": "one"})
    assert project.n_open == 0
    assert "Answer" not in client.get("/columns").text


def test_missing_values_that_nobody_spoke_of_are_asked_about(client: Client) -> None:
    client.form("/columns/table", {"unit_rows": "one", "missing": "error", "missing_values": "none"})
    client.wait()
    assert [field for field, _ in project_of(client).questions] == ["missing"]
    assert "There are missing values in" in client.get("/promise").text
    client.form("/columns/table", {"unit_rows": "one", "missing": "drop", "missing_values": "none"})
    assert project_of(client).questions == []
    client.form("/columns/table", {"unit_rows": "one"})
    client.wait()
    assert 'id="doubtful"' in client.get("/columns").text
    client.follow(client.form("/columns/table", {"unit_rows": "one", "doubtful": "yes"}))  # one click reads them so
    assert settings_of(client).keys["missing_values"] == ["none"]
    assert settings_of(client).keys["missing"] == "category"
    client.form("/columns/table", {"unit_rows": "one"})
    client.wait()


def test_a_curve_is_of_all_rows_also_where_one_of_each_person_is_kept(client: Client) -> None:
    client.form("/columns/table", {"unit_rows": "one"})
    page = client.follow(client.form("/promise/curve")).text
    assert "On all 120 rows." in page
    client.form("/promise", {"k": 9})
    assert "data-curve" not in client.get("/promise").text  # it was drawn for another k


def test_numbers_are_not_asked_for_a_format_of_dates(client: Client) -> None:
    client.form("/columns/roles", {"column": 2, "role": "sensitive"})
    assert 'name="bins"' in client.get("/columns/2").text
    assert 'name="format"' not in client.get("/columns/2").text
    client.form("/columns/roles", {"column": 1, "role": "sensitive"})
    assert 'name="format"' in client.get("/columns/1").text
