"""A lower bound of the loss of any release, for tables of any size: learnt prices, and a check that trusts none."""
