"""Keys of columns and rows that a stream cannot keep are refused before any row is read."""

from __future__ import annotations

from typing import Any

import pytest

from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.stream.limits import check_schema


def schema_of(job: dict[str, Any], **keys: Any) -> Schema:
    return Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "text", **job}}, **keys})


@pytest.mark.parametrize("key", ["coarsest", "finest"])
def test_limits_of_columns_are_refused(key: str) -> None:
    with pytest.raises(SchemaError, match=rf"\[quasi.job\]: `{key}` is not for streams"):
        check_schema(schema_of({key: 2}))


def test_rows_are_not_left_out() -> None:
    with pytest.raises(SchemaError, match="`suppress_rows` is not for streams"):
        check_schema(schema_of({}, suppress_rows=0.1))


def test_weights_are_for_methods_that_count_them() -> None:
    check_schema(schema_of({"weight": 2}))
