"""The experiments of paper 004 anew: figures 10 to 14 and 17 to 19 (15 and 16 are about streams)."""
