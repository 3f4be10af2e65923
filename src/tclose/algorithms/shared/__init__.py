"""Forming classes out of rows: along a curve, from the nearest, by merging."""
