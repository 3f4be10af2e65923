"""What someone who holds a release can find out: one attack a file.

All but two count: they take classes and sensitive codes as arrays, of a table as it stands or of
its release. `definetti` learns from the release, and `minimality` runs the method again.
"""
