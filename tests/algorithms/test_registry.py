"""Methods by name, and their options as text."""

from __future__ import annotations

from typing import Any

import pytest

from tclose.algorithms import REGISTRY, find, methods
from tclose.algorithms.sabre.sabre import SabreAK
from tclose.errors import SchemaError


def test_options_are_read_by_the_type_of_their_default() -> None:
    found = find("sabre-ak", {"bound": "largest", "first": "salary", "search_budget": "true", "try_first": "false"})
    assert found == SabreAK(bound="largest", first="salary", search_budget=True, try_first=False)


def test_an_option_left_empty_is_as_if_not_given() -> None:
    assert find("sabre-ak", {"first": ""}) == SabreAK()


def test_a_method_itself_comes_back() -> None:
    own = SabreAK(search_budget=True)
    assert find(own) is own


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("nothing", {}, "no method 'nothing'. Known: tight, mondrian"),
        ("mondrian", {"bound": "largest"}, "no option 'bound'. Allowed: textbook"),
        ("pca", {"bound": "largest"}, "no option 'bound'. It has none"),
        ("sabre-ak", {"budget": "1"}, "no option 'budget'. Allowed: bound, first, try_first, search_budget"),
        ("sabre-ak", {"search_budget": "yes"}, "'search_budget' must be true or false"),
        ("sabre-knn", {"bound": "tight"}, "'bound' must be"),
    ],
)
def test_what_is_refused(method: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        find(method, options)


def test_the_registry_tells_options_and_defaults() -> None:
    told = {method["name"]: method for method in methods()}
    assert list(told) == list(REGISTRY)
    printed = "bound=printed, first=, try_first=false, search_budget=false, slack=false"
    assert told["sabre-ak"]["options"] == printed
    assert told["sabre-knn"]["options"] == f"{printed}, metric=euclidean"
    assert told["mondrian"]["options"] == "textbook=false"
    assert told["pca"]["options"] == ""
