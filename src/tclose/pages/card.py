"""A release in a notebook: what was asked and what was reached, from its certificate alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tclose.pages.page import Page

UNSHOWN = "not shown by the release"
ASKED = ("", "asked", "reached")


def release_card(certificate: Mapping[str, Any]) -> Page:
    """A short page of a certificate; nothing else of the release is in it."""
    title = f"Release of {certificate['rows']:,} rows in {certificate['classes']:,} classes"
    unchecked = str(certificate.get("keep", "")).startswith("not checked")
    page = Page(f"Kept columns not checked: {title[0].lower()}{title[1:]}" if unchecked else title)
    if unchecked:
        page.text(f"Kept columns {certificate['keep']}.")
    loss = certificate["loss"]["value"]
    page.tiles(
        [
            (f"{certificate['rows']:,}", "rows"),
            (f"{certificate['classes']:,}", "classes"),
            ("none" if loss is None else f"{loss:.4f}", "loss by released values"),
            (str(certificate["method"]["name"]), "method"),
        ]
    )
    page.table(ASKED, promise_rows(certificate), words=True)
    page.text("Verified. Rows: release.table. To publish: release.write(path), with its certificate.", "soft")
    return page


def promise_rows(
    certificate: Mapping[str, Any], persons: Mapping[str, Any] | None = None
) -> list[tuple[str, str, str]]:
    """What was asked of every class beside what was reached: k, each t, each l, each cap on belief.

    Parameters
    ----------
    persons
        What the record says was reached in persons, for whoever may see it; a release does not show it.

    Examples
    --------
    >>> exact = {"exact": "1/5", "value": 0.2}
    >>> reached = {"k": 6, "t": {"ill": {"exact": "3/16", "value": 0.1875}}, "l": {}}
    >>> promise_rows({"required": {"k": 5, "t": {"ill": exact}, "l": {}}, "reached": reached})
    [('k, rows of the smallest class', 'at least 5', '6'), ("t of 'ill'", 'at most 0.2 (1/5)', '0.187500 (3/16)')]
    """
    asked, reached = certificate["required"], certificate["reached"]
    rows = [("k, rows of the smallest class", f"at least {asked['k']}", str(reached["k"]))]
    if "counted" in asked:
        fewest = str(persons["k"]) if persons else UNSHOWN
        rows.append(("k, persons of the class with fewest", f"at least {asked['k']}", fewest))
        reached = {**reached, **({key: persons[key] for key in ("rise", "beta")} if persons else {})}
    for name, found in reached["t"].items():
        wanted = asked["t"].get(name)
        words = "nothing" if wanted is None else f"at most {wanted['value']:g} ({wanted['exact']})"
        exact = f" ({found['exact']})"
        rows.append((f"t of '{name}'", words, f"{found['value']:.6f}{exact}"))
    for name, wanted in asked["l"].items():
        found = reached["l"][name]
        for kind, parameter in wanted.items():
            if kind == "recursive":
                above = found["recursive"]["c_above"]
                words = f"c = {parameter['c']}, l = {parameter['l']}"
                rows.append(
                    (f"l of '{name}', recursive", words, "no c" if above is None else f"every c above {above:.4f}")
                )
            else:
                rows.append((f"l of '{name}', {kind}", f"at least {parameter}", f"{found[kind]:.4g}"))
    binned = {name for name, column in certificate.get("columns", {}).items() if "guarantee" in column}
    return [*rows, *_cap_rows(asked, reached, binned)]


def _cap_rows(
    asked: Mapping[str, Any], reached: Mapping[str, Any], binned: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Each cap in percentage points, or in times."""
    of = "the share of persons with" if "counted" in asked else "the share of"
    for name, wanted in asked.get("rise", {}).items():
        found = reached.get("rise", {}).get(name)
        yield (
            f"rise of '{name}': how much higher {of} {_counted(name, binned)} is in a class than in the table",
            f"at most {100 * wanted['value']:g} points ({wanted['exact']})",
            UNSHOWN if found is None else f"{100 * found['value']:.2f} points ({found['exact']})",
        )
    for name, wanted in asked.get("beta", {}).items():
        found = reached.get("beta", {}).get(name)
        enhanced = ", and at most 1 - ln p times for a share of p in the table" if "enhanced" in wanted else ""
        yield (
            f"beta of '{name}': how many times {of} {_counted(name, binned)} in the table that in a class is",
            f"at most {1 + wanted['value']:g} times (beta = {wanted['exact']}){enhanced}",
            UNSHOWN if found is None else f"{1 + found['value']:.4g} times (beta = {found['exact']})",
        )


def _counted(name: str, binned: Collection[str]) -> str:
    return "a bin of values" if name in binned else "a value"
