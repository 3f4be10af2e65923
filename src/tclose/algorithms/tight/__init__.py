"""The method `tight` piece by piece: what is asked as kernels take it, and pieces of a table that are worked on."""
