"""m-approximate k-anonymity (002)."""
