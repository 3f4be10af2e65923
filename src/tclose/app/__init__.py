"""The local web app: from a table to a verified release, in a browser on the same machine. No rule is its own."""
