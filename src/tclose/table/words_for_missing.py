"""Words and signs that programs and people write where a value is missing."""

from __future__ import annotations

# In no language a value of its own.
PLAIN = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "<NA>", "NaN", "nan", "-", "--", ".", "..")
# A value of its own in some columns: only where all others are numbers or dates is it surely none.
AMONG_NUMBERS = (
    *("N", "U", "X", "na", "nd", "n.d.", "n.a.", "k.A.", "k. A.", "s/d", "None", "none", "NIL", "nil", "#NULL!"),
    *("unknown", "Unknown", "UNKNOWN", "missing", "Missing", "MISSING", "not available", "Not available"),
    *("unbekannt", "Unbekannt", "inconnu", "desconocido"),
)
KNOWN = {*PLAIN, *AMONG_NUMBERS}
