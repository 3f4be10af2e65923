"""Values of every type, with those that sit at its ends; a column draws from few of them, so that rows agree."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from tests.fuzz.meaning import Cell

Pool = list[Cell]

WORDS = ["flu", "asthma", "burn", "rash", "a,b", 'say "x"', "née", " padded", "no", "true", "*", "[1, 2]", "<3", "NaN"]
LIKE_NUMBERS = ["1", "01", "1.0", "1e0", "+1", "10", "1e1", "-0", "0", ".5", "0.50", "2."]


def integers(draw: random.Random) -> Pool:
    """Small ones, ages, or those around a limit of doubles or of 64 bits."""
    limit = draw.choice([0, 0, 0, 0, 10**6, 2**31, 2**50, 2**53, 2**63 - 4, -(2**63) + 3])
    return [limit + each for each in draw.sample(range(-3, 4) if limit else range(-5, 60), 5)]


def small_integers(draw: random.Random) -> Pool:
    """From 0 to 99."""
    return list(draw.sample(range(100), 8))


def doubles(draw: random.Random) -> Pool:
    """Sums that are not what they seem, the smallest, the largest, whole ones, and both zeros."""
    pools: list[Pool] = [
        [0.1, 0.2, 0.1 + 0.2, 0.3, 0.7],
        [1.5, 2.25, -3.0, 0.5, 100.0],
        [0.0, -0.0, 1.0, -1.0],
        [5e-324, 1e-323, 2.2250738585072014e-308, 0.0],
        [1e300, 1.7976931348623157e308, -1e300, 1.0],
        [2.0**53, 2.0**53 + 2, 2.0**53 - 1, 2.0**63],
        [1e15, 1e16, 1e22, 1e23],
    ]
    return draw.choice([*pools[:2], *pools[:2], *pools])


def decimals(draw: random.Random) -> Pool:
    """Money, digits that no double keeps, and 38 digits."""
    pools: list[list[str]] = [
        ["1.10", "2.25", "0.50", "-3.00", "7.10"],
        ["0.100000000000000000", "0.100000000000000001", "0.100000000000000002", "1.000000000000000000"],
        ["12345678901234567890.123456789012345678", "12345678901234567890.123456789012345677", "-1.000000000000000000"],
        ["99999999999999999999999999999999999999", "99999999999999999999999999999999999998", "1"],
    ]
    return [Decimal(each) for each in draw.choice([pools[0], pools[0], *pools])]


def dates(draw: random.Random) -> Pool:
    """Days close together, years apart, and the first and last there are."""
    near: Pool = [date(2020, 2, 27) + timedelta(days=each) for each in draw.sample(range(400), 6)]
    far: Pool = [
        date(1, 1, 1),
        date(9999, 12, 31),
        date(1677, 9, 20),
        date(2262, 4, 12),
        date(2020, 1, 1),
        date(1970, 1, 1),
    ]
    return near if draw.random() < 0.6 else draw.sample(far, 5)


def timestamps(draw: random.Random) -> Pool:
    """Seconds and microseconds apart, and the first and last there are."""
    start = datetime(2021, 3, 28, 0, 30)
    near: Pool = [start + timedelta(seconds=each) for each in draw.sample(range(0, 90000, 1800), 5)]
    fine: Pool = [start + timedelta(microseconds=each) for each in draw.sample(range(5), 4)]
    far: Pool = [
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        start,
        datetime(1969, 12, 31, 23, 59, 59),
    ]
    return draw.choice([near, near, fine, far])


def zoned(draw: random.Random) -> Pool:
    """Timestamps of one zone, a change of clocks among them."""
    zone = draw.choice([UTC, ZoneInfo("Europe/Berlin")])
    start = datetime(2021, 10, 30, 22, 30, tzinfo=UTC)
    steps = draw.sample(range(0, 18000, 1800), 5)
    return [(start + timedelta(seconds=each)).astimezone(zone) for each in steps]


def lengths(draw: random.Random) -> Pool:
    """Durations: of hours, microseconds apart, negative, and as long as they may be."""
    hours: Pool = [timedelta(minutes=each) for each in draw.sample(range(0, 6000, 15), 5)]
    fine: Pool = [timedelta(microseconds=each) for each in draw.sample(range(-3, 3), 4)]
    last = timedelta(hours=10**6, microseconds=-1)
    return draw.choice([hours, hours, fine, [-last, last, timedelta(0), timedelta(days=1)]])


def written_lengths(draw: random.Random) -> Pool:
    """Durations as text: of hours and minutes."""
    return [f"{each // 60}:{each % 60:02}" for each in draw.sample(range(0, 9000, 15), 5)]


def booleans(_draw: random.Random) -> Pool:
    """Both."""
    return [True, False]


def words(draw: random.Random) -> Pool:
    """Labels, some of which look like something else."""
    return list(draw.sample(WORDS, draw.randint(2, 6)))


def written_numbers(draw: random.Random) -> Pool:
    """Numbers as text, in several spellings."""
    pools: list[Pool] = [
        list(draw.sample(LIKE_NUMBERS, 6)),
        [str(each) for each in integers(draw)],
        [repr(each) for each in doubles(draw)],
        [str(each) for each in decimals(draw)],
        [str(each) for each in small_integers(draw)],
    ]
    return draw.choice(pools)


def written_dates(draw: random.Random) -> Pool:
    """ISO dates as text."""
    return [each.isoformat() for each in dates(draw) if isinstance(each, date)]


def written_timestamps(draw: random.Random) -> Pool:
    """ISO timestamps as text, all with a zone or all without."""
    pool = draw.choice([timestamps, zoned])(draw)
    return [each.isoformat() for each in pool if isinstance(each, datetime)]


def codes(draw: random.Random) -> Pool:
    """Texts of one length, as zip codes are."""
    length = draw.randint(2, 5)
    return ["".join(draw.choice("0123*"[: 4 + (draw.random() < 0.1)]) for _ in range(length)) for _ in range(6)]


# The name of a type, and what it holds; `text` columns come in several kinds.
POOLS: dict[str, tuple[str, Callable[[random.Random], Pool]]] = {
    "int": ("int", integers),
    "small": ("int", small_integers),
    "float": ("float", doubles),
    "decimal": ("decimal", decimals),
    "date": ("date", dates),
    "timestamp": ("timestamp", timestamps),
    "zoned": ("zoned", zoned),
    "bool": ("bool", booleans),
    "words": ("text", words),
    "text number": ("text", written_numbers),
    "text date": ("text", written_dates),
    "text timestamp": ("text", written_timestamps),
    "codes": ("text", codes),
    "length": ("length", lengths),
    "text length": ("text", written_lengths),
}
NUMBERS = ("int", "small", "float", "decimal", "text number")
LENGTHS = ("length", "text length")
TIMES = ("date", "timestamp", "zoned", "text date", "text timestamp")
