"""Tables of what methods lose, each made from the result of a benchmark; none of their figures depends on a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from docs.generate import results
from docs.generate.marked import table

SENSITIVE = {  # what the pages call the Adult tables
    "adult-occupation": "occupation, equal",
    "adult-education": "education, ordered",
    "adult-salary": "salary-class, equal",
}
TABLES_OF_METHODS = {
    "census": "synthetic census, salary ordered, 100,000 rows",
    "adult-tree": "Adult, occupation by hierarchy, 30,162 rows",
    "adult-education": "Adult, education ordered, 30,162 rows",
    "nist": "NIST ACS 2019, income in 45 bins, 44,163 rows",
}
TABLES_OF_FRAGMENTS = {
    "hcv": "hcv, 613 rows, six t from 0.15 to 0.4",
    "ilpd": "ilpd, 583 rows, three t from 0.15 to 0.25",
    "support2": "support2, 5,682 rows, five t from 0.15 to 0.35",
    "hospital": "hospital, 100,000 rows, five t from 0.15 to 0.3",
    "hospital, ordered": "hospital without the diagnosis",
    "census": "census, 100,000 rows, salary 0.2",
}
SETS_OF_GAP = {
    "Adult, generalize": "Adult",
    "Adult, suppress": "Adult, stars",
    "hcv, generalize": "hcv",
    "hcv, suppress": "hcv, stars",
    "heart disease, generalize": "heart",
    "heart disease, suppress": "heart, stars",
    "Adult, k = 3 alone, suppress": "Adult, k alone, stars",
    "Adult, 2-diverse": "Adult, 2-diverse",
    "hard: bisection": "bisection",
    "hard: half clique": "half clique",
    "hard: matching": "matching",
}
RIVALS_OF_SABRE = {
    "textbook mondrian": "the textbook's Mondrian",
    "mondrian": "our `mondrian`",
    "incognito": "`incognito`",
}
METHODS_OF_STREAM = {
    "sabre-ak": "`sabre-ak`",
    "mondrian": "`mondrian`",
    "mondrian, against the window": "`mondrian`, `budget=window`",
    "incognito": "`incognito`, 100,000 rows",
    "tight, fast": "`tight`, fast, 50,000 rows",
}


def mondrian() -> str:
    """What `mondrian` loses on Adult, beside another t-Mondrian."""
    found = results.result("mondrian")
    rows = [
        [
            SENSITIVE[case["table"]],
            case["t"],
            _loss(case),
            f"{case['reference_loss']:.3f}",
            f"{case['classes']:,}",
            f"{case['largest']:.6f}",
        ]
        for case in found["cases"]
    ]
    header = ["sensitive", "t", "loss", "other", "classes", "largest distance"]
    better = f"It loses no more than the other in {found['no_worse']} of {len(found['cases'])} cases."
    return f"{table(header, _once(rows))}\n\n{better} {_day(found)}"


def methods() -> str:
    """Loss, classes and largest distance of the methods of paper 004."""
    found = results.result("methods")
    names = list(found["cases"][0]["runs"])
    rows = [
        [TABLES_OF_METHODS[case["table"]], case["t"], *(_cell(case["runs"][name]) for name in names)]
        for case in found["cases"]
    ]
    return f"{table(['table', 't', *_coded(names)], _once(rows))}\n\n{_methods_counted(found)} {_day(found)}"


def _methods_counted(found: dict[str, Any]) -> str:
    """How often `mondrian` loses least, and how far the two SABREs are apart."""
    runs = [case["runs"] for case in found["cases"]]
    more = [100 * (each["sabre-ak"]["loss"] / each["sabre-knn"]["loss"] - 1) for each in runs]
    least = sum(each["mondrian"]["loss"] == min(one["loss"] for one in each.values()) for each in runs)
    return (
        f"`sabre-ak` loses {min(more):.0f} to {max(more):.0f} % more than `sabre-knn`; "
        f"`mondrian` loses least in {least} of {len(runs)} cases."
    )


def tight_adult() -> str:
    """What `tight` loses on Adult, beside local recoding by ARX, which was measured elsewhere."""
    found, arx = results.result("tight"), results.result("arx")
    rows, over = [], []
    for name, title in SENSITIVE.items():
        for cell in (each for each in reversed(found["cells"]) if each["table"] == name):
            losses = [cell["runs"][run]["loss"] for run in ("tight fast", "tight balanced", "mondrian", "sabre-knn")]
            local = arx[name][cell["t"]]
            over.append((losses[1] / local, losses[1] / min(losses[2:]), losses[0] / min(losses[2:])))
            rows.append([title, cell["t"], *(f"{loss:.3f}" for loss in (*losses, local)), f"{losses[1] / local:.2f}"])
    header = ["sensitive", "t", "fast", "balanced", "`mondrian`", "`sabre-knn`", "ARX", "balanced over ARX"]
    beside_arx, balanced, fast = (f"{min(each):.2f} to {max(each):.2f}" for each in zip(*over, strict=True))
    return (
        f"{table(header, _once(rows))}\n\n"
        f"`balanced` loses {beside_arx} times what ARX's local recoding does, and {balanced} times what the better of\n"
        f"`mondrian` and `sabre-knn` does; `fast` {fast} times. {_day(found)}\n"
        f"The figures of ARX were {arx['origin']} (entered {arx['entered']})."
    )


def fragment_counts() -> str:
    """How many fragments Adult's education and hours have, by t."""
    found = results.result("fragments")
    rows = [
        [case["t"], *(f"{case[name]['fragments']:,}" for name in ("strict", "over the domain"))]
        for case in found["fragments"]
    ]
    classes = {case[name]["classes"] for case in found["fragments"] for name in ("strict", "over the domain")}
    told = ", ".join(map(str, sorted(classes)))
    return (
        f"{table(['t', 'strict: fragments with rows', 'over the domain'], rows)}\n\n"
        "The greatest common divisor of the fragments' rows, which is the number of classes of `fragments-strict`: "
        f"{told}."
    )


def fragments() -> str:
    """What is lost with several sensitive attributes."""
    found = results.result("fragments")
    names = list(dict.fromkeys(run["method"] for run in found["runs"]))
    runs = {(run["table"], run["method"]): run for run in found["runs"]}
    rows = [
        [
            title,
            *(
                f"{_loss(runs[key, name])}; {runs[key, name]['classes']:,}"
                if (key, name) in runs
                else "refuses a hierarchy"
                for name in names
            ),
        ]
        for key, title in TABLES_OF_FRAGMENTS.items()
    ]
    return f"{table(['table', *_coded(names)], rows)}\n\n{_day(found)}"


def joint() -> str:
    """What is lost without and with a joint."""
    found = results.result("joint")
    names = list(dict.fromkeys(run["method"] for run in found["anonymize"]))
    asked = list(dict.fromkeys(run["t"] for run in found["anonymize"]))
    losses = {(run["method"], run["t"]): f"{run['loss']:.4f}" for run in found["anonymize"]}
    header = ["loss", *("no joint" if t is None else f"joint t = {t}" for t in asked)]
    rows = [[f"`{name}`" + (", fast" if name == "tight" else ""), *(losses[name, t] for t in asked)] for name in names]
    return f"{table(header, rows)}\n\n{_day(found)}"


def gap() -> str:
    """How much more than the optimum every method loses."""
    sets = results.result("gap")["sets"]
    names = list(dict.fromkeys(name for each in sets.values() for name in each["above"]))
    rows = [["mean loss of the optimum", *(f"{sets[key]['mean_optimum']:.3f}" for key in SETS_OF_GAP)]]
    rows += [
        [
            f"`{name}`",
            *(f"{100 * sets[key]['above'][name]:.1f} %" if name in sets[key]["above"] else "" for key in SETS_OF_GAP),
        ]
        for name in names
    ]
    tables, proven = (sum(each[key] for each in sets.values()) for key in ("tables", "optima_proven"))
    far = 100 * max(each["above"]["tight"] for each in sets.values())
    return (
        f"{table(['', *SETS_OF_GAP.values()], rows)}\n\n"
        f"{proven} of {tables} optima were proven. `tight` is within {far:.1f} % of the optimum everywhere. "
        f"{_day(results.result('gap'))}"
    )


def hard() -> str:
    """Suppressed cells on planted instances."""
    found = {
        name: each for name, each in results.result("hard").items() if isinstance(each, dict) and "optimum" in each
    }
    names = [name for name in next(iter(found.values())) if name not in ("rows", "columns", "optimum")]
    rows = [
        [
            title,
            str(each["rows"]),
            str(each["columns"]),
            f"{each['rows'] * each['columns']:,}",
            f"{each['optimum']:,}",
            *(f"{each[name]['cells']:,}" for name in names),
        ]
        for title, each in found.items()
    ]
    reached = " and ".join(
        f"{sum(each[name]['cells'] == each['optimum'] for each in found.values())} by `{name}`" for name in names[1:]
    )
    header = ["instance", "rows", "columns", "one class", "optimum", *_coded(names)]
    return f"{table(header, rows)}\n\nOf {len(found)} optima, {reached} were found. {_day(results.result('hard'))}"


def diversity() -> str:
    """The least loss of 1,000 rows, and that of a heuristic."""
    found = results.result("diversity")
    most = max(each["rows"] for each in found["two_diversity"])
    rows = [
        [f"{each['asked']}, {each['recode']}", f"{each['loss']:.4f}", f"{each['mondrian']:.4f}"]
        for each in found["two_diversity"]
        if each["rows"] == most
    ]
    return f"{table(['loss', 'the best', '`mondrian`'], rows)}\n\n{_day(found)}"


def k_approx() -> str:
    """What `k-approx` loses on a million rows."""
    found = results.result("diversity")
    rows = [
        [str(each["k"]), *(f"{each[name]:.3f}" for name in ("loss", "loss_at_least", "loss_cut"))]
        for each in found["k_approx"]
    ]
    return f"{table(['k', 'loss', 'at least', 'with `cut`'], rows)}\n\n{_day(found)}"


def queries() -> str:
    """What random COUNT queries and cubes say of some methods."""
    found = results.result("queries")
    rows = [
        [
            f"`{name}`",
            f"{each['loss']:.4f}",
            f"{each['classes']:,}",
            f"{100 * each['median_error']:.1f} %",
            f"{each['divergence']:.3f}",
        ]
        for name, each in found["methods"].items()
    ]
    return f"{table(['', 'loss', 'classes', 'median error', 'KL, level 2'], rows)}\n\n{_day(found)}"


def stream() -> str:
    """What a stream loses, by window and step."""
    found = results.result("stream")
    losses = {(run["window"], run["step"], run["method"]): run["loss"] for run in found["sweep"]}
    rows = [
        [f"{window:,} / {step:,}", *(f"{losses[window, step, name]:.4f}" for name in METHODS_OF_STREAM)]
        for window, step in dict.fromkeys((window, step) for window, step, _ in losses)
    ]
    return f"{table(['loss by window / step', *METHODS_OF_STREAM.values()], rows)}\n\n{_day(found)}"


def stream_long() -> str:
    """What came of two million rows, each of them checked."""
    long = results.result("stream")["long"]
    counts, memory = long["counts"], long["memory"]
    megabytes, checkpoints = ([each[name] for each in memory] for name in ("mb", "checkpoint_mb"))
    return (
        f"{counts['released']:,} of {counts['rows']:,} rows were released in {counts['classes']:,} classes, every one\n"
        f"of them checked against its window. Case 1 was met {counts['case_1']} times, "
        f"case 2 {counts['case_2']} times\nand case 3 {counts['case_3']} times. "
        f"Resident memory was {min(megabytes):.0f} to {max(megabytes):.0f} MB, a checkpoint {min(checkpoints):.2f} to "
        f"{max(checkpoints):.2f} MB."
    )


def figure10() -> str:
    """Loss at t = 0.35 in figure 10 of paper 004."""
    points = [each for each in results.result("figure10")["points"] if each["panel"] == "10a" and each["t"] == "0.35"]
    losses = {(each["table"], each["method"]): _loss(each) for each in points}
    names = {"sabre-knn": "`sabre-knn`", "sabre-ak": "`sabre-ak`", "incognito": "`incognito`"}
    names |= {"textbook mondrian": "`mondrian`, textbook", "mondrian": "`mondrian`", "tight fast": "`tight`, fast"}
    rows = [[name, *(losses[name, each] for each in names)] for name in ("census", "nist")]
    return table(["", *names.values()], rows)


def figure10_claims() -> str:
    """In how many of its settings figure 10 shows what paper 004 says of SABRE."""
    losses: dict[tuple[str, str], dict[str, float]] = {}
    for each in results.result("figure10")["points"]:
        if each["panel"] == "10a":
            losses.setdefault((each["table"], each["method"]), {})[each["t"]] = each["loss"]
    rows = []
    for name, title in (("census", "synthetic census"), ("nist", "NIST excerpts, real")):
        of = {method: losses[name, method] for table_name, method in losses if table_name == name}
        n = len(of["sabre-knn"])
        less = [f"{_below(of['sabre-knn'], of[rival])} of {n}" for rival in RIVALS_OF_SABRE]
        more = [100 * (of["sabre-ak"][t] / loss - 1) for t, loss in of["sabre-knn"].items()]
        tight = f"{_below(of['tight fast'], of['mondrian'])} of {n}"
        rows.append([title, *less, f"{min(more):.0f} to {max(more):.0f} %", tight])
    header = [f"`sabre-knn` loses less than {words}" for words in RIVALS_OF_SABRE.values()]
    header += ["`sabre-ak` loses more than `sabre-knn`, by", "`tight`, fast, loses less than our `mondrian`"]
    return table(["", *header], rows)


def _below(one: dict[str, float], other: dict[str, float]) -> int:
    return sum(one[t] < other[t] for t in one)


def _loss(run: dict[str, Any]) -> str:
    return f"{run['loss']:.3f}"


def _cell(run: dict[str, Any]) -> str:
    return f"{_loss(run)}; {run['classes']:,}; {run['largest']:.3f}"


def _coded(names: Iterable[str]) -> list[str]:
    """Names as code, an option behind a comma as words."""
    return [f"`{name.partition(',')[0]}`{''.join(name.partition(',')[1:])}" for name in names]


def _once(rows: list[list[str]]) -> list[list[str]]:
    """The first cell only where it differs from the one above."""
    above = ["", *(row[0] for row in rows)]
    return [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, above, strict=False)]


def _day(found: dict[str, Any]) -> str:
    return f"Measured {found['date']}."


LOSS_TABLES: dict[str, Callable[[], str]] = {
    "mondrian": mondrian,
    "methods": methods,
    "tight/adult": tight_adult,
    "fragments/counts": fragment_counts,
    "fragments": fragments,
    "joint": joint,
    "gap": gap,
    "hard": hard,
    "diversity": diversity,
    "diversity/k-approx": k_approx,
    "queries": queries,
    "stream": stream,
    "stream/long": stream_long,
    "papers/figure10": figure10,
    "papers/figure10-claims": figure10_claims,
}
