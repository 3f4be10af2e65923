"""Partitions that are proven to be the best: groups of two or three rows, by linear programming."""
