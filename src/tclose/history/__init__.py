"""Republication: what earlier releases of a table have told, and the next one that tells no more than is allowed."""
