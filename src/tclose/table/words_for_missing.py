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
# Numbers that surveys write for no answer: only where they lie far from all others do they seem to be none.
NUMBERS = ("-1", "-7", "-8", "-9", "-88", "-99", "-999", "-9999", "99", "999", "9999", "99999")
KNOWN = {*PLAIN, *AMONG_NUMBERS}
