"""t-Mondrian."""
