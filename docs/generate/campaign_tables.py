"""Tables of what campaigns counted, from `benchmarks/campaigns/counts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from docs.generate import results
from docs.generate.marked import table

READERS = {  # what the pages call the readers of a campaign
    "csv": "CSV",
    "gzip": "gzipped CSV",
    "parquet": "Parquet",
    "table of lines": "JSON lines, as a table",
    "array": "JSON",
    "arrow": "Arrow",
    "excel": "Excel",
    "spss": "SPSS",
    "stata": "Stata",
    "sas": "SAS",
    "sqlite": "SQLite",
    "toml": "schema",
    "lines": "JSON lines of a stream",
}
KINDS = ("numeric", "date", "categorical", "text", "digits")


def readers() -> str:
    """What became of the inputs that a fuzzer made."""
    found = results.result("readers")
    rows = [
        [READERS.get(name, name), f"{each['inputs']:,}", f"{each['read']:,}", _refused(name, each)]
        for name, each in found["readers"].items()
    ]
    deaths, ended = (
        sum(each.get(name, 0) for each in found["readers"].values())
        for name in ("deaths", "deaths_that_end_with_a_sentence")
    )
    told = (
        f"In all {found['inputs']:,} inputs in {found['seconds']:,.0f} s, beside other work on the machine.\n"
        f"{deaths} files killed the fuzzer's own process; read as users read them, in a process of its own first,\n"
        f"{ended} of them ended with a sentence."
    )
    return table(["reader", "inputs", "read", "refused with a sentence"], rows) + f"\n\n{told}"


def writers() -> str:
    """What became of rounds in which several processes wrote the same files."""
    found = results.result("writers")
    counts = found["counts"]
    writes = [counts[f"writes {what}"] for what in ("written", "refused", "killed")]
    killed, ended = counts["rounds with SIGKILL"], counts["rounds with SIGTERM"]
    rows = [
        ["rounds", f"{found['rounds']:,}, of which {killed} with a SIGKILL and {ended} with a SIGTERM"],
        [
            "writes",
            f'{sum(writes):,}: {writes[0]:,} done, {writes[1]:,} refused with "is being written by another process", '
            f"{writes[2]:,} killed",
        ],
        ["findings", f"{len(found['findings'])}"],
        ["rounds that end with a release and its own certificate, verified", f"{counts['matching pairs']:,}"],
        ["rounds that end with a whole release without certificate", f"{counts['releases without certificate']}"],
        [
            "certificates seen beside a file that is not their own",
            f"{counts['foreign certificates seen']} of {counts['pairs read']:,} pairs read",
        ],
        ["files left behind by SIGKILL, all removed by the next writer", f"{counts['files left by a killed process']}"],
    ]
    return table(["", ""], rows)


def fuzz() -> str:
    """What became of random tables."""
    found = results.result("fuzz")
    counts = found["counts"]
    refused = sum(count for name, count in counts.items() if name.startswith("refused: "))
    released = f"{counts['releases']:,} were released and {refused:,} refused with a sentence"
    rows = [
        ["tables", f"{counts['cases']:,}, of which {released}"],
        ["forms of the same table that must give the same", f"{counts['forms']:,}"],
        ["releases written to files and read again", f"{counts['written']:,}"],
        ["changed releases", f"{counts['mutants']:,}"],
        ["verdicts compared", f"{counts['verdicts']:,}"],
        ["differences", f"{len(found['findings'])}"],
    ]
    return table([f"in {found['seconds']:,.0f} s, beside other work on the machine", ""], rows)


def mutants() -> str:
    """What became of code that was made wrong on purpose."""
    found = results.result("mutants")
    counts = Counter[str](found["counts"])
    ended = sum(counts[f"caught: {how}"] for how in ("crashed", "hung", "refused"))
    rows = {
        "caught by the verifier, by truth or by the comparison of both": counts["caught: verified"],
        "ended with an error or did not end": ended,
        "made other releases, which keep their promise and are true": counts["another release, and true"],
        "changed nothing": counts["changes nothing"],
        "in lines that no table of the corpus reaches": counts["not reached"],
        "gave a wrong loss to whoever releases": counts["wrong in the record alone"],
        "wrote a release or a certificate that is wrong": len(found["findings"]),
    }
    shown = sum(rows.values())
    if shown != found["mutants"]:
        raise results.NoSourceError(f"Of {found['mutants']} mutants the table shows {shown}.")
    drawn = f"of {found['mutants']} mutants, drawn from {found['of_places']:,} places, on {found['cases']} tables"
    return table([drawn, ""], [[words, str(count)] for words, count in rows.items()])


def pairs() -> str:
    """How many originals that differ in hidden values alone were compared, and of what sorts."""
    found = results.result("pairs")
    counts = found["counts"]
    of_kinds = [f"{kind} {counts[f'kind {kind}']:,}" for kind in KINDS]
    published = [f"{how} {counts[f'publish {how}']:,}" for how in ("interval", "bounds", "mean")]
    rows = [
        ["pairs", f"{counts['pairs']:,}, of {found['tables']:,} random tables"],
        ["in which the original has another type", f"{counts['other types']:,}"],
        ["in which the exact loss is another", f"{counts['other losses']:,}"],
        ["by recoding", f"generalize {counts['recode generalize']:,}, suppress {counts['recode suppress']:,}"],
        ["columns by kind", ", ".join(of_kinds)],
        ["columns as they are published", ", ".join(published)],
        ["whose certificates were compared", f"{counts['certificates']:,}"],
        ["whose files, with reports, were compared", f"{counts['files']:,}"],
        ["pairs that published different bytes", f"{len(found['findings'])}"],
    ]
    return table(["", ""], rows)


def shards() -> str:
    """What became of engines that were disturbed."""
    found = results.result("shards")

    def outcome(engine: str, what: str) -> str:
        complete, none = (found.get(f"{engine}{what}: {each}", 0) for each in ("complete", "none"))
        return f"{complete} complete, {none} without a release"

    rows = [
        ["Python workers killed", *(str(found.get(f"{engine}workers killed", 0)) for engine in ("", "Spark, "))],
        ["runs with killed workers", *(outcome(engine, "workers") for engine in ("", "Spark, "))],
        ["runs whose driver was killed", *(outcome(engine, "driver") for engine in ("", "Spark, "))],
        ["runs whose files may not grow", *(outcome(engine, "full disk") for engine in ("", "Spark, "))],
        ["the same rows in 8 and in 200 tasks, byte for byte", "", "yes" if not found["findings"] else "no"],
        ["findings", str(len(found["findings"])), ""],
    ]
    return table(["", "`local`", "`spark`, with speculative execution"], rows)


def histories() -> str:
    """What happened to persons in random histories."""
    found = results.result("histories")
    happened = found["events"]
    return (
        f"In {found['histories']} histories {happened['added']:,} persons were added, {happened['changed']:,} entered\n"
        f"with changed values, {happened['deleted']:,} left, {happened['returned']:,} returned and "
        f"{happened['withdrawn']:,} were withdrawn; {happened['new_waiting']:,} new\n"
        f"persons waited, and {happened['changes_held']:,} changes and {happened['deletions_held']:,} deletions "
        "were held."
    )


def any_histories() -> str:
    """What happened to persons in random histories with any key."""
    found = results.result("any_histories")
    happened = found["events"]
    return (
        f"In {found['histories']} histories {happened['added']:,} persons were added, {happened['changed']:,} entered "
        f"with changed values,\n{happened['deleted']:,} left, {happened['returned']:,} returned and "
        f"{happened['withdrawn']:,} were withdrawn. Promises that were broken: {len(found['findings'])}."
    )


def bounds_of_loss() -> str:
    """How lower bounds of the loss stand beside the optimum, and which mistakes tables show."""
    found = results.result("bounds_of_loss")
    rows = [
        ["tables", f"{found['tables']:,}, of which {found['tables_with_a_loss']:,} cannot be released without loss"],
        ["bounds", f"{found['bounds']:,}"],
        ["bounds above the optimum", f"{len(found['findings'])}"],
        ["mean share of the optimum that a bound reaches", f"{found['mean_share_of_the_optimum']:.2f}"],
    ]
    tried = found["mistakes_tried_on"]
    mistakes: dict[str, int] = found["mistakes_shown_by_tables"]
    rows += [[f"mistake: {what}", f"shown by {n} of {tried} tables"] for what, n in mistakes.items()]
    return table(["", ""], rows)


def history_attackers() -> str:
    """How often attackers of random histories believe more than is allowed, and by how much."""
    found = results.result("histories")
    ways = ("ours", "first_release_alone", "naive")

    def beyond(way: str, who: str) -> str:
        counts, worst = found[way]["counts"], found[way]["worst_excess"][who]
        n = counts[f"{who}: beyond what is allowed"]
        if who == "believes releases and promise" and counts["no world"]:
            return f"no world fits in {counts['no world']} of {counts['attacked']}, {n} in the others"
        return f"{n} of {counts[f'{who}: tried']}" + (f", by {worst:.2g}" if n else "")

    named = {
        "believes the releases and the promise": "believes releases and promise",
        "believes the releases alone": "believes releases alone",
        "knows the program, and all values of those who wait": "knows the program",
        "has the record as well, with its counts of who waits": "knows the program and the record",
    }
    header = ["who", "histories", "the first release alone", "every table released anew"]
    return table(header, [[shown, *(beyond(way, who) for way in ways)] for shown, who in named.items()])


def _refused(name: str, each: dict[str, Any]) -> str:
    if "refused" in each:
        return f"{each['refused']:,}"
    return "0: `verify` says what is wrong" if name == "certificate" else "0: single lines are rejected"


CAMPAIGN_TABLES: dict[str, Callable[[], str]] = {
    "readers": readers,
    "writers": writers,
    "fuzz": fuzz,
    "mutants": mutants,
    "pairs": pairs,
    "shards": shards,
    "histories": histories,
    "any_histories": any_histories,
    "bounds_of_loss": bounds_of_loss,
    "histories/attackers": history_attackers,
}
