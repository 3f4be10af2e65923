"""A first schema for a table: what each column seems to be, why, and the text of a schema that says so."""
