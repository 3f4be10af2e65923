"""Groups of names: a pattern stands for columns that are alike, and never speaks of another silently."""

from __future__ import annotations

import random

from tclose.schema.name_patterns import is_pattern, matches
from tclose.table.proposing.name_groups import group_names


def test_every_column_is_in_one_group_and_the_most_exact_label_is_its_own() -> None:
    rng = random.Random(7)
    for _ in range(300):
        every = sorted(
            {f"{rng.choice('ab')}_{rng.choice('cd')}{rng.randrange(100)}" for _ in range(rng.randrange(1, 150))}
        )
        odd = rng.choice("cd") + rng.choice("123")  # where most are something else
        settings = {name: rng.choice("yyyx" if odd in name else "xxxxy") for name in every if rng.random() < 0.9}
        groups = group_names(settings, every)
        assert list(settings) == sorted([name for _, names in groups for name in names], key=every.index)
        labels = {name: label for label, names in groups for name in names}
        for name, label in labels.items():
            fitting = [
                each for each in {*labels.values()} if each == name or (is_pattern(each) and matches(each, name))
            ]
            assert label == max(fitting, key=lambda each: (each == name, len(each))), (name, label, fitting)
            assert len({settings[other] for other, others in labels.items() if others == label}) == 1


def test_few_columns_keep_their_names() -> None:
    names = ["lab_1", "lab_2", "lab_3", "age"]
    assert group_names(dict.fromkeys(names, ""), names) == [(name, [name]) for name in names]


def test_a_star_in_a_name_forbids_patterns() -> None:
    names = [f"lab_{number}" for number in range(9)] + ["a*b"]
    assert group_names(dict.fromkeys(names, ""), names) == [(name, [name]) for name in names]
