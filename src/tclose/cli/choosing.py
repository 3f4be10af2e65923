"""The commands that help to choose a method and a t."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli.options import (
    Data,
    Json,
    MethodOptions,
    SchemaOption,
    check_page,
    find_method,
    page_bytes,
    progress,
    say,
    stopped_by_interrupt,
)
from tclose.cli.reading_options import load_schema, takes_reading
from tclose.errors import InfeasibleError, SchemaError

if TYPE_CHECKING:
    from fractions import Fraction

COMPARE = (
    "[bold]Examples:[/bold]\n\n"
    "tclose compare patients.csv -s schema.toml -o comparison.html\n\n"
    "tclose compare patients.csv -s schema.toml --methods tight,mondrian --t 0.1,0.2,0.35 --k 5,10 --json"
)
SUGGEST = (
    "[bold]Examples:[/bold]\n\n"
    "tclose suggest patients.csv -s schema.toml -o suggestion.html\n\n"
    "tclose suggest patients.csv -s schema.toml --max-rise 0.1 --max-risk 0.2\n\n"
    "tclose suggest patients.csv -s schema.toml --column diagnosis --from 0.05 --to 0.4 --max-loss 0.3 --json"
)
UTILITY = (
    "[bold]Examples:[/bold]\n\n"
    "tclose utility patients.csv release.csv -s schema.toml\n\n"
    "tclose utility patients.csv other-tool.csv -s schema.toml --queries 10000 --cubes 1,2 --json\n\n"
    "tclose utility patients.csv release.csv -s schema.toml --aligned --label diagnosis --classifier"
)
PageOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write a page with charts: .html or .pdf.")
]
QuerySeedOption = Annotated[int, typer.Option(min=0, help="Seed of methods and queries.")]
QueriesOption = Annotated[int, typer.Option(min=0, help="How many COUNT queries to ask each release; 0 for none.")]


@takes_reading
def compare(
    data: Data,
    schema: SchemaOption,
    methods: Annotated[str, typer.Option(help="Names, separated by commas: see `tclose methods`.")] = (
        "tight,mondrian,sabre-knn,sabre-ak"
    ),
    t: Annotated[
        str | None, typer.Option(help="Several t, separated by commas, for every attribute that has one.")
    ] = None,
    k: Annotated[str | None, typer.Option(help="Several k, separated by commas, instead of the schema's.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at once; as many as processors if not given. Use 1 to compare times."),
    ] = None,
    time: Annotated[float | None, typer.Option(min=0, help="Seconds for each run.")] = None,
    seed: QuerySeedOption = 0,
    queries: QueriesOption = 1000,
    output: PageOption = None,
    json: Json = False,
) -> None:
    """Run several methods at several t and k, and show what each costs analysts and gives attackers.

    Nothing is released. The page holds charts and measures, and no value of the table.
    """
    from tclose.evaluation.choosing.compare import compare
    from tclose.release.atomic import locked, write_whole

    chosen = [find_method(name, []) for name in _parts(methods)]
    thresholds, sizes = [_threshold(each) for each in _parts(t)], [_size(each) for each in _parts(k)]
    pages = check_page([*data.files, schema], output)
    promised = load_schema(schema)
    with (
        locked(pages),
        progress() as tell,
        stopped_by_interrupt("runs under way come back with what they have") as control,
    ):
        found = compare(
            data, promised, methods=chosen, t=thresholds, k=sizes, seed=seed, time=time, queries=queries, jobs=jobs,
            progress=tell, control=control,
        )  # fmt: skip
        if output is not None:
            write_whole(output, page_bytes(found.html(), output), alone=True)
    if json:
        print(jsonlib.dumps(found.as_dict(), indent=2))
    else:
        from tclose.cli.show_choosing import show_comparison

        show_comparison(found)
        _tell_page(output)
    if not found.done:
        raise InfeasibleError("None of the runs led to a release.")


@takes_reading
def suggest(
    data: Data,
    schema: SchemaOption,
    method: Annotated[
        str | None, typer.Option(help="The method to try each t with; `tight` with effort fast if not given.")
    ] = None,
    option: MethodOptions = None,
    column: Annotated[
        str | None,
        typer.Option(help="Vary the t of this attribute or joint alone; of all that have one if not given."),
    ] = None,
    least: Annotated[str, typer.Option("--from", help="The strictest t.")] = "0.02",
    most: Annotated[str, typer.Option("--to", help="The loosest t.")] = "0.5",
    by: Annotated[str, typer.Option(help="The curve on which the knee is marked: loss or queries.")] = "loss",
    max_rise: Annotated[
        str | None,
        typer.Option(help="Choose the loosest t at which no share rises by more; 0.1 is 10 points.", metavar="SHARE"),
    ] = None,
    max_risk: Annotated[
        str | None,
        typer.Option(help="Choose the least k at which nobody is re-identified with a larger chance.", metavar="SHARE"),
    ] = None,
    max_loss: Annotated[
        str | None,
        typer.Option(
            help="Choose no t that loses more; without --max-rise, the strictest that does not.", metavar="SHARE"
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Instead of the schema's k.")] = None,
    time: Annotated[float | None, typer.Option(min=0, help="Seconds for each t.")] = None,
    seed: QuerySeedOption = 0,
    queries: QueriesOption = 1000,
    output: PageOption = None,
    json: Json = False,
) -> None:
    """Try several t, show what analysts lose and attackers gain, and choose the t and k that keep your bounds.

    Without --max-rise or --max-loss nothing is chosen: both curves are shown, with marks. It is advice, not a proof.
    """
    from dataclasses import replace

    from tclose.evaluation.choosing.risk_bounds import Bounds
    from tclose.evaluation.choosing.suggest import METHOD, grid, suggest
    from tclose.release.atomic import locked, write_whole

    chosen = METHOD if method is None and not option else find_method(method, option or [])
    low, high = _threshold(least), _threshold(most)
    if not low < high:
        raise typer.BadParameter("--from must be below --to.")
    if by not in ("loss", "queries") or (by == "queries" and not queries):
        raise typer.BadParameter("--by is loss or queries; for queries, some must be asked.")
    if k is not None and max_risk is not None:
        raise typer.BadParameter("--k and --max-risk both say what k is. Give one of them.")
    try:
        Bounds.of(max_rise, max_risk, max_loss)
    except SchemaError as error:
        raise typer.BadParameter(str(error).replace("max_", "--max-")) from None
    pages = check_page([*data.files, schema], output)
    promised = load_schema(schema)
    with locked(pages), progress() as tell, stopped_by_interrupt("what was swept so far is shown") as control:
        found = suggest(
            data, promised if k is None else replace(promised, k=k), method=chosen, column=column, t=grid(low, high),
            by="loss" if by == "loss" else "queries", max_rise=max_rise, max_risk=max_risk, max_loss=max_loss,
            seed=seed, time=time, queries=queries, progress=tell, control=control,
        )  # fmt: skip
        if output is not None:
            write_whole(output, page_bytes(found.html(), output), alone=True)
    if json:
        print(jsonlib.dumps(found.as_dict(), indent=2))
    else:
        from tclose.cli.show_choosing import show_suggestion

        show_suggestion(found)
        _tell_page(output)
    if found.bounds.choose_t and found.t is None:
        raise InfeasibleError("No t tried keeps what is allowed.")


@takes_reading
def utility(
    data: Data,
    released: Annotated[Path, typer.Argument(help="A release of that table, made by any tool.", show_default=False)],
    schema: SchemaOption,
    label: Annotated[
        str | None,
        typer.Option(help="A column that is released as it is, for the classification metric.", show_default=False),
    ] = None,
    queries: QueriesOption = 1000,
    attributes: Annotated[
        int | None, typer.Option(min=1, help="Quasi-identifiers that a query asks about; 3 if not given.")
    ] = None,
    selectivity: Annotated[float, typer.Option(help="Share of the space that a query covers.")] = 0.1,
    cubes: Annotated[str | None, typer.Option(help="Levels of data cubes to compare, separated by commas.")] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(help="Weight of a column in the loss, as column=2; may be repeated, others weigh 0."),
    ] = None,
    classifier: Annotated[
        bool,
        typer.Option(
            "--classifier", help="Train a classifier for the label; needs the extra `utility`, and --aligned."
        ),
    ] = False,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="The rows of the release are in the order of the table.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of queries and classifier.")] = 0,
    json: Json = False,
) -> None:
    """Measure what a release is still good for, compared with the table it was made from.

    Rows may be in any order, and some may be left out. The measures need the original, so think
    before you publish them.
    """
    from tclose.evaluation.utility.utility import utility

    levels = tuple(_size(each) for each in _parts(cubes))
    if classifier and not (label and aligned):
        raise typer.BadParameter("--classifier needs a --label, and rows that are --aligned with those of the table.")
    weights = _weights(weight or [])
    found = utility(
        data, released, load_schema(schema), label=label, weights=weights, queries=queries, attributes=attributes,
        selectivity=selectivity, cubes=levels, classifier=classifier, aligned=aligned, seed=seed,
    )  # fmt: skip
    if json:
        print(jsonlib.dumps(found.as_dict(), indent=2))
        return
    from tclose.cli.show_choosing import show_utility

    show_utility(found)


def _weights(settings: list[str]) -> dict[str, float] | None:
    """By column, as given on the command line."""
    try:
        weights = {setting.rpartition("=")[0]: float(setting.rpartition("=")[2]) for setting in settings}
    except ValueError:
        raise typer.BadParameter("--weight: give it as column=2.") from None
    return weights or None


def _tell_page(output: Path | None) -> None:
    if output is not None:
        say(f"Page: {output}")


def _parts(given: str | None) -> list[str]:
    return [part.strip() for part in (given or "").split(",") if part.strip()]


def _threshold(given: str) -> Fraction:
    from tclose.schema.toml import exact

    try:
        t = exact(given, "--t", "t")
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None
    if not 0 <= t <= 1:
        raise typer.BadParameter(f"t must be from 0 to 1, and {given} is not.")
    return t


def _size(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not int(given):
        raise typer.BadParameter("give whole numbers from 1 up, separated by commas.")
    return int(given)
