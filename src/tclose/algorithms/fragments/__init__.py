"""Fragmentation (paper 000) piece by piece: cells, fragments, bounds, class sizes."""
