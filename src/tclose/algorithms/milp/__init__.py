"""What `milp` is made of: the program, cuts, the search for whole points, and branch and bound with proved bounds."""
