"""SABRE (paper 004) piece by piece: buckets, class sizes, taking rows out, merging."""
