"""Privacy and utility, measured: one metric a file."""
