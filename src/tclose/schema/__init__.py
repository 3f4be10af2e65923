"""What each column is, and what is promised."""
