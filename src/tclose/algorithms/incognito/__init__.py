"""t-Incognito."""
