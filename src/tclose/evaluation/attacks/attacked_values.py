"""What attackers look for: values.

Where an attribute is binned the promise is on its bins, but released are its values. So attacks are on these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.encode import EncodedTable, encode_sensitive
from tclose.table.reading import Reader
from tclose.table.source import Source


def by_value(table: EncodedTable, source: Source, columns: Mapping[str, CodedColumn], schema: Schema) -> EncodedTable:
    """The table with each sensitive attribute as it is released; without joints, which are attacked by their columns.

    Parameters
    ----------
    table
        Encoded by the schema.
    source, columns
        What it was made of.
    schema
        Its schema.
    """
    unbinned = tuple(replace(each, bins=None, edges=None) for each in schema.sensitive)
    if unbinned == schema.sensitive and not schema.joint:
        return table
    reader = Reader.of(source, table.rows, schema)
    found = list(encode_sensitive(reader, columns, replace(schema, sensitive=unbinned, joint=())))
    domains, codes = tuple(domain for domain, _ in found), tuple(column for _, column in found)
    return replace(table, domains=domains, codes=codes)
