"""What the methods that prove their optimum are made of."""
