"""Compiled loops over contiguous arrays; nothing else is here, and nothing else is compiled."""
