"""A report to give along with a release."""
