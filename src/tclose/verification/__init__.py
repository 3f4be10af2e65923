"""The independent judge: it reads released values by itself and measures k, t, l and truth from their definitions."""
