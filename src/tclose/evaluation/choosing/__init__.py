"""Choosing a method and a t: comparisons, suggestions, and how far from the optimum."""
