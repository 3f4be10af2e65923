"""Groups of rows that are alike in all sensitive attributes, of which every class takes its share (003)."""
