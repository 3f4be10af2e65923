"""Random tables with random schemas, each from one integer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tests.fuzz.limit_choice import draw_limits
from tests.fuzz.meaning import Cell, NoMeaning, Rows, day, label, number
from tests.fuzz.method_choice import choose_method
from tests.fuzz.pools import LENGTHS, NUMBERS, POOLS, TIMES, Pool

# Mistakes of the package that are known and open; cases that would only meet them again are not made.
# Each has a fixed case in `found.py`. Empty this when they are repaired.
KNOWN: frozenset[str] = frozenset()  # names of what is not drawn, as long as it is known to fail


@dataclass(frozen=True)
class Column:
    """A column of one type, by which it is laid out in typed forms."""

    name: str
    type: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Case:
    """A table, its schema, and how it is to be anonymized."""

    seed: int
    columns: tuple[Column, ...]
    schema: dict[str, Any]
    method: str = "mondrian"
    options: dict[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> Rows:
        """The table as the judge reads it."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, cells, strict=True)) for cells in zip(*(c.cells for c in self.columns), strict=True)]

    def take(self, places: Sequence[int]) -> Case:
        """Some of its rows."""
        cut = [replace(column, cells=tuple(column.cells[each] for each in places)) for column in self.columns]
        return replace(self, columns=tuple(cut))


def make_case(seed: int, avoid: frozenset[str] = KNOWN) -> Case:
    """The case of this seed; `avoid` names what is not to be in it."""
    return _Maker(seed, avoid).make()


class _Maker:
    def __init__(self, seed: int, avoid: frozenset[str]) -> None:
        self.draw, self.seed, self.avoid = random.Random(seed), seed, avoid
        self.n = self.draw.choice([self.draw.randint(5, 14), self.draw.randint(5, 40)])
        self.suppress = self.draw.random() < 0.25
        self.missing = self.draw.choice([None, None, None, "category", "category", "drop", "error"])
        self.spellings = self.draw.choice([[], [], ["?"], ["999", "NA"], ["*"]]) if self.missing else []
        if "starred missing" in avoid and "*" in self.spellings:
            self.spellings = ["?", "NA"]
        self.comma = self.draw.random() < 0.08 and "written commas" not in avoid
        self.columns: list[Column] = []

    def make(self) -> Case:
        draw = self.draw
        schema: dict[str, Any] = {"k": draw.choice([1, 2, 2, 2, 3, 3, 4, 5])}
        if self.suppress:
            schema["recode"] = "suppress"
        if self.missing:
            schema["missing"] = self.missing
        if self.spellings:
            schema["missing_values"] = self.spellings
        schema["quasi"] = {f"q{place}": self._quasi(f"q{place}") for place in range(draw.choice([1, 2, 2, 3, 4]))}
        sensitive = {f"s{place}": self._sensitive(f"s{place}") for place in range(draw.choice([0, 1, 1, 1, 2, 2, 3]))}
        if sensitive:
            schema["sensitive"] = sensitive
        joinable = [
            name for name, keys in sensitive.items() if keys["distance"] != "matrix" or "matrix" not in self.avoid
        ]
        if len(joinable) > 1 and draw.random() < 0.35:
            schema["joint"] = {"both": {"columns": joinable, "t": self._threshold()}}
            for name in joinable:
                if draw.random() < 0.3 and not sensitive[name].get("l"):
                    sensitive[name].pop("t", None)
        self._others(schema)
        self._persons(schema)
        self._left_out(schema)
        self._objective(schema)
        if self.comma:
            schema |= {"decimal": ",", "delimiter": ";"}
        method, options = choose_method(schema, self.n, draw)
        return Case(self.seed, tuple(self.columns), schema, method, options)

    def _others(self, schema: dict[str, Any]) -> None:
        draw = self.draw
        if draw.random() < 0.15:
            schema["identifiers"] = ["name"]
            self.columns.append(Column("name", "text", tuple(f"person {row}" for row in range(self.n))))
        if draw.random() < 0.1:
            schema["unit"] = "unit"
            twice = draw.random() < 0.2
            self.columns.append(Column("unit", "int", tuple(row // (1 + twice) for row in range(self.n))))
        if draw.random() < 0.12:
            kind, pool = POOLS[draw.choice(["words", "small", "float", "date", "bool", "zoned", "length"])]
            values = pool(draw)[:2]
            schema["keep"] = ["kept"]
            if draw.random() < 0.7:
                schema["keep_unchecked"] = True
            self.columns.append(Column("kept", kind, tuple(draw.choice(values) for _ in range(self.n))))

    def _persons(self, schema: dict[str, Any]) -> None:
        """Persons with several rows, drawn apart: one row of each is kept, or all are."""
        draw = random.Random(f"{self.seed} persons")
        if draw.random() > 0.15:
            return
        self.columns = [column for column in self.columns if column.name != "unit"]
        most = draw.choice([self.n // 3, self.n // 2, self.n, 2 * self.n])
        self.columns.append(Column("unit", "int", tuple(draw.randint(0, most) for _ in range(self.n))))
        schema |= {"unit": "unit", "unit_rows": draw.choice(["one", "all", "all"])}
        if schema["unit_rows"] == "one":
            self.columns.append(Column("when", "int", tuple(draw.randint(0, 5) for _ in range(self.n))))
            schema |= {"unit_pick": draw.choice(["first", "last"]), "unit_order": "when"}

    def _left_out(self, schema: dict[str, Any]) -> None:
        """Rows that may be left out, drawn apart; not beside persons or bins, with which that is refused."""
        draw = random.Random(f"{self.seed} left out")
        binned = any("bins" in keys for keys in schema.get("sensitive", {}).values())
        if draw.random() < 0.12 and "unit_rows" not in schema and not binned:
            schema["suppress_rows"] = draw.choice([0.1, 0.2, "1/3", 0.5])

    def _objective(self, schema: dict[str, Any]) -> None:
        """What is optimized, drawn apart; now and then a target that is refused."""
        draw = random.Random(f"{self.seed} objective")
        if draw.random() > 0.12:
            return
        targets = [*schema.get("sensitive", {}), *schema.get("keep", ())]
        if draw.random() < 0.05:
            targets = [*schema["quasi"]]
        if targets and draw.random() < 0.5:
            schema |= {"objective": "classify", "target": draw.choice(targets)}
        else:
            schema["objective"] = "queries"

    # -- columns

    def _fill(self, name: str, kinds: Sequence[str], missing: bool = True) -> tuple[str, Pool]:
        """Add a column; give the kind of its values and the values it draws from."""
        kind = self.draw.choice(kinds)
        type_, pool = POOLS[kind]
        values = pool(self.draw)
        large = any(isinstance(value, int) and abs(value) >= 2**53 for value in values)
        if "nullable integers" in self.avoid and large:
            missing = False
        if self.missing and missing and self.draw.random() < 0.4:
            gone: list[Cell] = [None]
            if type_ == "text":
                gone += ["", *self.spellings]
            elif type_ == "int" and "999" in self.spellings:
                gone += [999]
            elif type_ == "float":
                gone += [float("nan")]
            share = self.draw.choice([0.1, 0.3])
        else:
            gone, share = [None], 0.0
        cells = [self.draw.choice(gone if self.draw.random() < share else values) for _ in range(self.n)]
        self.columns.append(Column(name, type_, tuple(cells)))
        return kind, values

    def _numbers(self, name: str, most: Fraction, digits: int) -> tuple[str, Pool]:
        """A column of numbers, none of them known to be misread."""
        while True:
            kind, values = self._fill(name, NUMBERS)
            read = [number(value) for value in values]
            if all(abs(each) < most and _digits(value) <= digits for each, value in zip(read, values, strict=True)):
                if self.comma and kind == "text number":
                    last = self.columns.pop()
                    cells = [cell.replace(".", ",") if isinstance(cell, str) else cell for cell in last.cells]
                    self.columns.append(replace(last, cells=tuple(cells)))
                return kind, values
            self.columns.pop()

    def _limits(self) -> tuple[Fraction, int]:
        most = Fraction(10) ** 400 if "huge doubles" not in self.avoid else Fraction(2**53)
        return most, 99 if "many digits" not in self.avoid else 15

    def _quasi(self, name: str) -> dict[str, Any]:
        kind = self.draw.choice(["numeric", "numeric", "categorical", "categorical", "date", "text", "digits"])
        keys: dict[str, Any] = {"kind": kind}
        keys |= getattr(self, f"_quasi_{kind}")(name)
        return keys | draw_limits(keys, self.columns[-1].cells, self.suppress, random.Random(f"{self.seed} {name}"))

    def _quasi_numeric(self, name: str) -> dict[str, Any]:
        draw = self.draw
        most, digits = self._limits()
        _, values = self._numbers(name, Fraction(2**50) if "large quasi" in self.avoid else most, digits)
        ordered = sorted({number(value) for value in values})
        keys: dict[str, Any] = {}
        small = all(each.denominator <= 100 and abs(each) < 10**6 for each in ordered)
        if self.suppress:
            return {"range": [-1000, 10**7]} if small and draw.random() < 0.2 else {}
        if draw.random() < 0.3:
            keys["publish"] = draw.choice(["bounds", "mean"])
            if keys["publish"] == "bounds" and self.missing == "category" and "missing bounds" in self.avoid:
                keys["publish"] = "interval"
        if small and draw.random() < 0.3 and keys.get("publish") != "mean":
            keys["step"] = draw.choice([1, 5, 10, 0.5, 2.5])
        if small and draw.random() < 0.3:
            low, high = ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]
            if draw.random() < 0.6:
                keys["bottom"] = float(low)
            if draw.random() < 0.6 and (low < high or "bottom" not in keys):
                keys["top"] = float(high)
        if small and draw.random() < 0.2:
            keys["range"] = [-1000, 10**7]
        if small and draw.random() < 0.2:
            keys["hierarchy"] = {"build": "intervals", "widths": [5, 10, 20], "origin": draw.choice([0, 3])}
        return keys

    def _quasi_categorical(self, name: str) -> dict[str, Any]:
        draw = self.draw
        made = draw.choice(["flat", "tree", "tree", "intervals", "prefixes", "dates"])
        if made == "flat":
            self._fill(name, [kind for kind in POOLS if "many digits" not in self.avoid or kind != "decimal"])
            return {}
        if made == "tree":
            _, values = self._fill(name, ["words", "small", "bool", "text number"])
            return {"hierarchy": self._tree(values)}
        if made == "intervals":
            self._numbers(name, Fraction(10**6), 8)
            return {"hierarchy": {"build": "intervals", "widths": draw.choice([[10, 50], [0.5, 10]]), "origin": 0.25}}
        if made == "prefixes":
            self._fill(name, ["codes"])
            return {"hierarchy": {"build": "prefixes", "lengths": [2, 1]}}
        self._fill(name, ["date", "text date"])
        return {"hierarchy": {"build": "dates", "levels": draw.choice([["month", "quarter", "year"], ["year"]])}}

    def _quasi_date(self, name: str) -> dict[str, Any]:
        draw = self.draw
        keys: dict[str, Any] = {}
        _, values = self._fill(name, ["date", "text date"] if "fine text dates" in self.avoid else TIMES)
        days = sorted({day(value) for value in values})
        if isinstance(self.columns[-1].cells[0], date) and not isinstance(values[0], datetime) and draw.random() < 0.3:
            keys["format"] = draw.choice(["%d.%m.%Y", "%Y%m%d", "%m/%d/%Y", "%d-%m-%Y"])
            cells = [_formatted(cell, keys["format"]) for cell in self.columns[-1].cells]
            self.columns[-1] = Column(name, "text", tuple(cells))
        if self.suppress:
            return keys
        if draw.random() < 0.4:
            keys["step"] = draw.choice([1, 7, 30, "day", "month", "quarter", "year"])
            if "calendar ends" in self.avoid and (days[0] < 30 or days[-1] > date.max.toordinal() - 31):
                keys["step"] = "year"
        if draw.random() < 0.2 and not (self.missing == "category" and "missing bounds" in self.avoid):
            keys["publish"] = "bounds"
        if draw.random() < 0.25 and len(days) > 2:
            keys["bottom"] = date.fromordinal(days[1] + 1)
            if draw.random() < 0.5:
                keys["top"] = date.fromordinal(days[-1] + 1)
        if draw.random() < 0.2:
            keys["hierarchy"] = {"build": "dates", "levels": ["month", "year"]}
        if draw.random() < 0.15:
            keys["range"] = [date(1, 1, 1), date(9999, 12, 31)]
        return keys

    def _quasi_text(self, name: str) -> dict[str, Any]:
        self._fill(name, ["codes", "words", "small", "text number"])
        return {}

    def _quasi_digits(self, name: str) -> dict[str, Any]:
        self._fill(name, ["codes"])
        return {}

    def _sensitive(self, name: str) -> dict[str, Any]:
        draw = self.draw
        distances = ["equal", "ordered", "ordered", "numeric", "hierarchical", "hierarchical", "matrix"]
        distance = draw.choice([each for each in distances if each not in self.avoid])
        keys: dict[str, Any] = {"distance": distance}
        keys |= getattr(self, f"_{distance}")(name)
        if draw.random() < 0.85:
            keys["t"] = self._threshold()
        if "t" not in keys or draw.random() < 0.3:
            keys["l"] = self._diversity()
        return keys | self._caps(name, keys)

    def _caps(self, name: str, keys: dict[str, Any]) -> dict[str, Any]:
        """Caps on belief, drawn apart: now and then in the place of t and l."""
        draw, caps = random.Random(f"{self.seed} {name}"), dict[str, Any]()
        if draw.random() < 0.65:
            return caps
        if draw.random() < 0.6:
            caps["rise"] = draw.choice([0, 0.05, 0.1, 0.25, "1/3", 0.5, 0.9, 1])
        if "rise" not in caps or draw.random() < 0.4:
            caps["beta"] = draw.choice([0.1, 0.5, 1, 1, "4/3", 2, 3, 20])
            caps |= {"enhanced": True} if draw.random() < 0.5 else {}
        if keys["distance"] == "hierarchical" and draw.random() < 0.5:
            caps["levels"] = True
        if draw.random() < 0.4:
            keys.pop("t", None)
            keys.pop("l", None)
        return caps

    def _equal(self, name: str) -> dict[str, Any]:
        self._fill(name, [kind for kind in POOLS if "many digits" not in self.avoid or kind != "decimal"])
        return {}

    def _ordered(self, name: str) -> dict[str, Any]:
        draw = self.draw
        if draw.random() < 0.25:
            _, values = self._fill(name, ["words", "small", "bool", "text number"])
            order = [str(value).lower() if isinstance(value, bool) else value for value in values]
            draw.shuffle(order)
            return {"order": [*order, "never"] if draw.random() < 0.3 else order}
        if draw.random() < 0.5:
            _, values = self._numbers(name, *self._limits())
            if draw.random() < 0.3:
                return {"edges": sorted({_number(number(draw.choice(values))), Decimal(-7), Decimal(10**6)})}
        else:
            while True:
                _, values = self._fill(name, (*TIMES, *LENGTHS))
                if "far text dates" not in self.avoid or all(1700 < int(label(value)[:4]) < 2200 for value in values):
                    break
                self.columns.pop()
        return {"bins": draw.randint(1, 8)} if draw.random() < 0.3 else {}

    def _numeric(self, name: str) -> dict[str, Any]:
        _, values = self._numbers(name, *self._limits())
        read = [number(value) for value in values]
        if self.draw.random() < 0.3 and all(abs(each) < 10**6 for each in read):
            return {"range": [-(10**6), 10**6]}
        return {}

    def _hierarchical(self, name: str) -> dict[str, Any]:
        _, values = self._fill(name, ["words", "small", "bool"])
        return {"hierarchy": self._tree(values)}

    def _matrix(self, name: str) -> dict[str, Any]:
        _, values = self._fill(name, ["words"])
        places = [self.draw.randint(0, 20) for _ in values]
        width = max(places) - min(places)
        costs = [[Fraction(abs(a - b), width) if width else Fraction(i != j) for j, b in enumerate(places)]
                 for i, a in enumerate(places)]  # fmt: skip
        return {"matrix": {"values": values, "costs": [[_plain(cost) for cost in row] for row in costs]}}

    def _tree(self, values: Sequence[Cell]) -> dict[str, Any]:
        """A nested hierarchy over the labels, sometimes with unused leaves and of unequal depth."""
        draw = self.draw
        leaves = [label(value) for value in dict.fromkeys(values)]
        leaves += ["unused"] if draw.random() < 0.3 else []
        draw.shuffle(leaves)
        cut = draw.randint(1, len(leaves))
        tree: dict[str, Any] = {"left side": leaves[:cut]}
        if leaves[cut:]:
            deep = draw.random() < 0.4
            inner = draw.choice(["lower", "right side", "*"])  # labels may repeat at other depths
            tree["right side"] = {inner: leaves[cut:]} if deep else leaves[cut:]
        if len(leaves) > 2 and draw.random() < 0.3:
            lone = tree["left side"].pop()
            tree[lone] = []
            if not tree["left side"]:
                del tree["left side"]
        return tree

    def _threshold(self) -> Any:
        return self.draw.choice([0, 0.1, 0.2, 0.25, 0.3, "1/3", 0.4, 0.5, 0.5, "2/3", 0.75, 0.9, 1])

    def _diversity(self) -> Any:
        draw = self.draw
        forms: list[Any] = [
            2,
            {"distinct": draw.randint(1, 3)},
            {"entropy": draw.choice([1, 1.5, 2, "7/4"])},
            {"frequency": draw.choice([1, 1.5, 2, 2, "4/3"])},
            {"recursive": {"c": draw.choice([1, 2, 3, "5/2"]), "l": draw.randint(1, 2)}},
            {"distinct": 2, "entropy": 1.5, "frequency": 1.25},
        ]
        return draw.choice(forms)


def _digits(value: Cell) -> int:
    """The digits of a number as it is written."""
    text = label(value).lower().split("e")[0]
    return len(text.replace(".", "").lstrip("+-0"))


def _plain(value: Fraction) -> int | float | str:
    """As a schema has it: a decimal if it is one, else a fraction as text."""
    if value.denominator == 1:
        return int(value)
    return float(value) if Fraction(repr(float(value))) == value else str(value)


def _number(value: Fraction) -> Decimal:
    """A decimal, exactly."""
    with localcontext() as context:
        context.prec = 2000
        return Decimal(value.numerator) / Decimal(value.denominator)


def _formatted(cell: Cell, written: str) -> Cell:
    if not isinstance(cell, date):
        return cell
    parts = {"%d": f"{cell.day:02}", "%m": f"{cell.month:02}", "%Y": f"{cell.year:04}"}
    for code, text in parts.items():
        written = written.replace(code, text)
    return written


__all__ = ["KNOWN", "Case", "Column", "NoMeaning", "make_case"]
