"""The judge of releases."""
