"""SABRE (paper 004) piece by piece: buckets, class sizes, and what to try."""
