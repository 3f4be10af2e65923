"""What `exact` is made of."""
