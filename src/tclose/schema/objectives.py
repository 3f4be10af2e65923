"""What a release is to be good for: the key `objective`, and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

OBJECTIVES = ("loss", "queries", "classify")


def wrong_objective(
    objective: str, workload: str | None, target: str | None, roles: Mapping[str, str] | None
) -> Iterator[str]:
    """What is wrong with the keys of an objective; `roles` are those of the columns, None where they are not yet known.

    Examples
    --------
    >>> list(wrong_objective("classify", None, "zip", {"zip": "quasi"}))
    ["The target 'zip' is a quasi-identifier, which is generalized. Take a sensitive attribute, or a column of `keep`."]
    """
    if objective not in OBJECTIVES:
        yield f"objective must be one of {', '.join(OBJECTIVES)}."
    if workload is not None and objective != "queries":
        yield 'workload names a file of COUNT queries, and only objective = "queries" asks any.'
    if workload == "":
        yield "workload must be the name of a file."
    if target is not None and objective != "classify":
        yield 'target names the column to be predicted, and only objective = "classify" predicts one.'
    if objective == "classify" and target is None:
        yield 'objective = "classify" needs a column to be predicted: target = "COLUMN".'
    elif target is not None and roles is not None and (problem := _wrong_target(target, roles.get(target))):
        yield problem


def _wrong_target(target: str, role: str | None) -> str | None:
    """Why a column of this role cannot be predicted; None if it can."""
    if role in ("sensitive", "keep"):
        return None
    fix = "Take a sensitive attribute, or a column of `keep`."
    if role is None:
        return f"The target '{target}' is no column of the schema. {fix}"
    if role == "quasi":
        return f"The target '{target}' is a quasi-identifier, which is generalized. {fix}"
    return f"The target '{target}' is not released. {fix}"
